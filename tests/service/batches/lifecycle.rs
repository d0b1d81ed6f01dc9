//! Batches: one request of many jobs, so many of them out at once, one end, results in order.

use serde_json::{Value, json};

use crate::world::{
    World, assert_contains,
    batch_verbs::{created, items, member_id, with_summed_counts},
    id_of,
};

#[tokio::test]
async fn batch_concurrency_limits_reservations_until_it_completes() {
    let w = World::start().await;
    let request = json!({ "concurrency": 2, "priority": 30, "client": "acme ü", "jobs": items(0..5) });
    let batch = created(with_summed_counts(w.post("/batches", request).await.is(201)));
    let id = id_of(&batch);
    assert!(id.starts_with("default-") && id.ends_with("0000") && id.len() == "default-".len() + 26, "{id}");
    assert_contains(
        &batch,
        json!({
            "queue": "default", "state": "sealed", "concurrency": 2, "priority": 30, "client": "acme ü", "ended_at": null,
            "counts": { "delayed": 0, "reserved": 0, "completed": 0, "dead": 0, "cancelled": 0, "total": 5 },
        }),
    );
    assert!(batch["created_at"].is_string() && batch["sealed_at"].is_string());
    assert_eq!(w.recounted_batch(&id).await, batch);
    let other = w.enqueue_with(json!({ "payload": "other", "priority": 60 })).await;

    let mut held = w.reserve_all(json!({ "limit": 100 })).await;
    let ids: Vec<_> = held.iter().map(|held| held.id.clone()).collect();
    assert_eq!(
        ids,
        [member_id(&id, 0), member_id(&id, 1), other],
        "two of the batch, and other work goes on meanwhile"
    );
    assert_contains(
        &held[0].body,
        json!({ "batch": id, "locks": [], "priority": 30, "client": "acme ü", "payload": 0 }),
    );
    assert_eq!(held[2].body["batch"], Value::Null);
    assert_contains(&w.job(&ids[1]).await, json!({ "batch": id, "state": "reserved", "client": "acme ü" }));
    assert_contains(&w.recounted_batch(&id).await["counts"], json!({ "blocked": 3, "reserved": 2, "waiting": 0 }));
    w.send_reserve(json!({ "id": member_id(&id, 4) })).await.wrong_state("blocked");
    w.check().await;

    w.complete(&held.remove(2)).await.is(200);
    for n in 2..5 {
        let done = held.pop().expect("held");
        w.complete_with(&done, json!({ "of": done.id })).await.is(200);
        let next = w.reserve_with(json!({ "limit": 100 })).await;
        assert_eq!(next.id, member_id(&id, n), "a place that is free has the next");
        held.insert(0, next);
        assert_eq!(w.empty_reason(json!({})).await, if n < 4 { "blocked" } else { "reserved" });
        assert_contains(
            &w.recounted_batch(&id).await,
            json!({ "state": "sealed", "counts": { "reserved": 2, "completed": n - 1 } }),
        );
    }
    for done in held {
        assert_eq!(w.event_count("batch-completed").await, 0);
        w.complete_with(&done, json!({ "of": done.id })).await.is(200);
    }
    let ended = w.recounted_batch(&id).await;
    assert_contains(&ended, json!({ "state": "completed", "counts": { "completed": 5, "total": 5 } }));
    assert!(ended["ended_at"].is_string());
    assert_eq!(w.event_count("batch-completed").await, 1);
    for (index, result) in w.results(&id, 2).await.into_iter().enumerate() {
        let of = member_id(&id, index);
        let completed = json!({ "worker": null, "late": false });
        let (state, of_it) = ("completed", json!({ "of": of }));
        assert_contains(
            &result,
            json!({ "id": of, "index": index, "state": state, "result": of_it, "completed": completed }),
        );
    }
    w.cancel_batch(&id).await.refused("wrong-state");
    w.append(&id, &items(9..10)).await.refused("wrong-state");
    w.sweep().await;
    assert_eq!(w.batch(&id).await, ended, "it never changes after");
    w.check().await;
}

#[tokio::test]
async fn batch_without_concurrency_is_reserved_in_full() {
    let w = World::start().await;
    let id = w.create_batch(json!({ "jobs": items(0..250) })).await;
    assert_eq!(w.batch(&id).await["concurrency"], Value::Null);
    let mut held = Vec::new();
    for _ in 0..3 {
        held.extend(w.reserve_all(json!({ "limit": 100 })).await);
    }
    assert!(held.iter().map(|held| held.id.clone()).eq((0..250).map(|n| member_id(&id, n))));
    assert_contains(&w.recounted_batch(&id).await["counts"], json!({ "reserved": 250 }));
    for held in &held {
        w.abandon(held).await.is(200);
    }
    assert_eq!(w.complete_all().await.len(), 250);
    assert_eq!(w.batch(&id).await["state"], "completed");
    w.check().await;
}

#[tokio::test]
async fn empty_batch_completes_when_sealed() {
    let w = World::start().await;
    let batch = created(w.post("/batches", json!({ "jobs": [] })).await.is(201));
    assert_contains(&batch, json!({ "state": "completed", "counts": { "total": 0 } }));
    let id = id_of(&batch);
    assert_eq!(w.recounted_batch(&id).await, batch);
    assert_eq!(w.get(&format!("/batches/{id}/results")).await.is(200), json!({ "results": [], "next": null }));
    let open = w.create_batch(json!({ "sealed": false })).await;
    assert_contains(&w.batch(&open).await, json!({ "state": "open", "sealed_at": null, "counts": { "total": 0 } }));
    assert_eq!(w.event_count("batch-completed").await, 1);
    assert_contains(&w.seal(&open).await.is(200), json!({ "state": "completed" }));
    assert_eq!(w.event_count("batch-completed").await, 2);
    assert_eq!(w.empty_reason(json!({})).await, "empty");
    w.check().await;
}

#[tokio::test]
async fn failed_batch_cannot_requeue_its_dead_jobs() {
    let w = World::start().await;
    let jobs = json!([{ "payload": 0 }, { "payload": 1, "max_attempts": 1 }, { "payload": 2, "max_attempts": 1 }]);
    let id = w.create_batch(json!({ "jobs": jobs })).await;
    let held = w.reserve_all(json!({ "limit": 3 })).await;
    assert_eq!(w.fail(&held[1]).await.is(200)["state"], "dead");
    assert_contains(
        &w.recounted_batch(&id).await,
        json!({ "state": "sealed", "counts": { "dead": 1, "reserved": 2 } }),
    );
    assert_eq!(w.requeue(&held[1].id).await, 1, "as long as the batch has not ended");
    w.fail(&w.reserve().await).await.is(200);
    w.complete(&held[0]).await.is(200);
    assert_eq!(w.event_count("batch-completed").await, 0);
    w.advance_clock(300_000);
    assert_eq!(w.sweep().await["dead"], 1);
    let ended = w.recounted_batch(&id).await;
    assert_contains(&ended, json!({ "state": "failed", "counts": { "completed": 1, "dead": 2, "total": 3 } }));
    assert_eq!(w.event_count("batch-completed").await, 1);
    let states: Vec<_> = w.results(&id, 100).await.iter().map(|result| result["state"].clone()).collect();
    assert_eq!(states, ["completed", "dead", "dead"]);

    w.post("/jobs/requeue", json!({ "id": held[1].id })).await.wrong_state("dead");
    assert_eq!(w.requeue_all().await, 0);
    w.complete_with(&held[2], "late").await.lost("expired", "dead");
    assert_eq!(w.job(&held[2].id).await["late_results"][0]["result"], "late", "late results are kept");
    assert_eq!(w.cancel_batch(&id).await.refused("wrong-state")["batch_state"], "failed");
    assert_eq!(w.batch(&id).await, ended);
    w.check().await;
}

#[tokio::test]
async fn late_completion_of_a_dead_job_saves_its_open_batch() {
    let w = World::start().await;
    let id = w.create_batch(json!({ "jobs": [{ "payload": 0, "max_attempts": 1 }, { "payload": 1 }] })).await;
    let held = w.reserve_all(json!({ "limit": 2 })).await;
    w.post("/jobs/extend", json!({ "reservation": held[1].reservation, "lease_ms": 900_000 })).await.is(200);
    w.advance_clock(300_000);
    assert_eq!(w.sweep().await["dead"], 1);
    assert_eq!(w.complete_with(&held[0], "late").await.is(200)["late"], true);
    assert_contains(
        &w.recounted_batch(&id).await,
        json!({ "state": "sealed", "counts": { "completed": 1, "reserved": 1 } }),
    );
    w.complete(&held[1]).await.is(200);
    assert_eq!(w.recounted_batch(&id).await["state"], "completed");
    assert_eq!(w.event_count("batch-completed").await, 1);
    w.check().await;
}

#[tokio::test]
async fn retention_removes_a_batch_with_all_its_jobs() {
    let w = World::start().await;
    w.stop_clock();
    w.update_settings(json!({ "retention_ms": 20_000 })).await;
    let id = w.create_batch(json!({ "concurrency": 7, "jobs": items(0..450) })).await;
    let first = w.reserve_all(json!({ "limit": 100 })).await;
    assert_eq!(first.len(), 7);
    for held in &first[1..] {
        w.complete_with(held, "x".repeat(2_000)).await.is(200);
    }
    w.advance_clock(100_000);
    w.sweep().await;
    assert_eq!(w.recounted_batch(&id).await["counts"]["completed"], 6, "its jobs are kept as long as it");
    w.complete(&first[0]).await.is(200);
    assert_eq!(w.complete_all().await.len(), 443);
    assert_eq!(w.batch(&id).await["state"], "completed");
    w.advance_clock(19_000);
    w.sweep().await;
    assert_eq!(w.results(&id, 1_000).await.len(), 450);
    assert_eq!(w.results(&id, 1_000).await[3]["result"], "x".repeat(2_000));
    w.check().await;
    w.advance_clock(1_000);
    w.sweep_until("nothing is left", async || w.leftover_keys().await.is_empty()).await;
    w.get(&format!("/batches/{id}")).await.refused("unknown-batch");
    w.get(&format!("/batches/{id}/results")).await.refused("unknown-batch");
    w.seal(&id).await.refused("unknown-batch");
    w.cancel_batch(&id).await.refused("unknown-batch");
    w.append(&id, &items(0..1)).await.refused("unknown-batch");
    w.get(&format!("/jobs/{}", member_id(&id, 3))).await.refused("unknown-job");
    w.complete(&first[0]).await.unknown_reservation();
    assert_contains(&w.queue().await, json!({ "counts": { "completed": 0 }, "totals": { "completed": 450 } }));
    w.check().await;
}

#[tokio::test]
async fn poison_jobs_of_a_batch_die_after_max_attempts() {
    let w = World::start().await;
    w.update_settings(json!({ "max_attempts": 4 })).await;
    let id = w.create_batch(json!({ "concurrency": 2, "jobs": vec![json!({ "payload": "poison" }); 3] })).await;
    let mut hand_outs = 0;
    loop {
        let held = w.reserve_all(json!({ "limit": 100 })).await;
        if held.is_empty() {
            break;
        }
        assert!(held.len() <= 2);
        hand_outs += held.len();
        w.fail(&held[0]).await.is(200);
        w.advance_clock(300_000);
        w.sweep().await;
        w.check().await;
    }
    assert_eq!(hand_outs, 12, "four attempts each, failed or expired");
    assert_contains(&w.recounted_batch(&id).await, json!({ "state": "failed", "counts": { "dead": 3 } }));
    w.check().await;
}
