//! Cancelled batches, at any stage: reserved jobs may finish.

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::world::{
    RETENTION_MS, ReservedJob, World, assert_contains, assert_events,
    batch_verbs::{items, member_id, with_summed_counts},
    number,
};

#[tokio::test]
async fn cancelled_batch_lets_reserved_jobs_finish() {
    let w = World::start().await;
    let jobs = json!([
        { "payload": 0 }, { "payload": 1 }, { "payload": 2 }, { "payload": 3 }, { "payload": 4, "delay_ms": 60_000 },
        { "payload": { "large": "x".repeat(2_000) } },
    ]);
    let id = w.create_batch(json!({ "concurrency": 2, "jobs": jobs })).await;
    let other = w.enqueue_with(json!({ "payload": "other", "priority": 60 })).await;
    w.complete_with(&w.reserve().await, "done").await.is(200);
    let held = w.reserve_all(json!({ "limit": 2 })).await;
    assert_eq!(w.reserve().await.id, other);
    let cancelled = with_summed_counts(w.cancel_batch(&id).await.is(200));
    let counts = json!({ "completed": 1, "reserved": 2, "cancelled": 3, "waiting": 0, "blocked": 0, "delayed": 0 });
    assert_contains(&cancelled, json!({ "id": id, "state": "sealed", "ended_at": null, "counts": counts }));
    assert_eq!(w.recounted_batch(&id).await, cancelled);
    assert_contains(
        &w.job(&member_id(&id, 5)).await,
        json!({ "state": "cancelled", "payload": { "large": "x".repeat(2_000) } }),
    );
    assert_events(&w.events_of(&member_id(&id, 4)).await, &["enqueued", "cancelled"]);
    w.append(&id, &items(0..1)).await.refused("wrong-state");
    assert_eq!(w.cancel_batch(&id).await.is(200), cancelled, "again, the same");
    assert_eq!(w.event_count("batch-completed").await, 0);
    w.check().await;

    w.extend(&held[0]).await.is(200);
    assert_eq!(w.complete_with(&held[0], "finished").await.is(200)["state"], "completed");
    assert_eq!(w.empty_reason(json!({})).await, "reserved", "nothing more of it is handed out");
    assert_eq!(w.batch(&id).await["state"], "sealed");
    w.complete(&held[1]).await.is(200);
    let ended = w.recounted_batch(&id).await;
    assert_contains(&ended, json!({ "state": "cancelled", "counts": { "completed": 3, "cancelled": 3, "total": 6 } }));
    assert!(ended["ended_at"].is_string());
    assert_eq!(w.event_count("batch-completed").await, 1);
    assert_eq!(w.cancel_batch(&id).await.is(200), ended);
    let results = w.results(&id, 100).await;
    assert_eq!((&results[1]["result"], &results[5]["state"]), (&json!("finished"), &json!("cancelled")));
    w.advance_clock(RETENTION_MS);
    w.sweep().await;
    w.sweep_until("it is forgotten", async || w.get(&format!("/batches/{id}")).await.status == 404).await;
    w.sweep_until("all its jobs too", async || w.record_count().await == 1).await;
    w.check().await;
}

/// Ways to return a job that would make it wait again if the batch were not cancelled.
const RETURNS: [&str; 7] = ["fail", "abandon", "rest", "release", "expire", "expire unseen", "cancel"];

async fn comes_back(w: &World, how: &str, held: &ReservedJob) {
    match how {
        "fail" => assert_eq!(w.fail(held).await.is(200)["state"], "cancelled"),
        "abandon" => assert_eq!(w.abandon(held).await.is(200)["state"], "cancelled"),
        "rest" => assert_eq!(w.abandon_with_delay(held, 1_000).await.is(200)["state"], "cancelled"),
        "release" => assert_eq!(w.release(&held.id).await, 1),
        "cancel" => drop(w.force_cancel(&held.id).await.is(200)),
        _ => {
            w.advance_clock(300_000);
            if how == "expire" {
                w.sweep().await;
            } else {
                assert_eq!(w.empty_reason(json!({})).await, "empty");
            }
        }
    }
}

#[tokio::test]
async fn jobs_returned_to_a_cancelled_batch_are_cancelled() {
    let w = World::start().await;
    for (round, how) in RETURNS.into_iter().enumerate() {
        let jobs = json!([{ "payload": 0, "locks": ["site"] }, { "payload": 1, "locks": ["site"] }]);
        let id = w.create_batch(json!({ "jobs": jobs })).await;
        let held = w.reserve_as("ann").await;
        w.cancel_batch(&id).await.is(200);
        comes_back(&w, how, &held).await;
        let ended = w.recounted_batch(&id).await;
        assert_contains(&ended, json!({ "state": "cancelled", "counts": { "cancelled": 2, "total": 2 } }));
        assert_eq!(w.event_count("batch-completed").await, round + 1, "{how}");
        assert_eq!(w.empty_reason(json!({})).await, "empty", "{how}");
        let late = w.complete_with(&held, "late").await;
        assert_eq!((late.status, late.json()["job_state"].clone()), (409, json!("cancelled")), "{how}");
        assert_eq!(w.recounted_batch(&id).await, ended, "{how}");
        assert_eq!(w.locks().await, Vec::<Value>::new(), "{how}");
        w.check().await;
    }
}

#[tokio::test]
async fn batch_without_reservations_is_cancelled_at_once() {
    let w = World::start().await;
    for batch in [
        json!({ "jobs": items(0..5) }),
        json!({ "concurrency": 1, "jobs": items(0..5) }),
        json!({ "sealed": false, "jobs": items(0..5) }),
        json!({ "sealed": false }),
    ] {
        let before = w.event_count("batch-completed").await;
        let id = w.create_batch(batch).await;
        let ended = with_summed_counts(w.cancel_batch(&id).await.is(200));
        assert_eq!(ended["state"], "cancelled");
        assert!(ended["sealed_at"].is_string() && ended["ended_at"].is_string(), "{ended}");
        assert_eq!(ended["counts"]["cancelled"], ended["counts"]["total"]);
        assert_eq!(w.recounted_batch(&id).await, ended);
        assert_eq!(w.seal(&id).await.is(200), ended);
        assert_eq!(w.event_count("batch-completed").await, before + 1);
        assert_eq!(w.empty_reason(json!({})).await, "empty");
    }
    w.check().await;
}

#[tokio::test]
async fn cancelled_large_batch_hands_out_no_more_jobs() {
    let w = World::start().await;
    let (_second, other) = w.start_instance().await;
    let id = w.create_batch(json!({ "concurrency": 20, "jobs": items(0..3_000) })).await;
    let held = w.reserve_all(json!({ "limit": 100 })).await;
    assert_eq!(held.len(), 20);
    // Other workers reserve and finish jobs meanwhile.
    let mut crowd = JoinSet::new();
    for (n, held) in held.into_iter().enumerate() {
        let client = if n % 2 == 0 { (*w).clone() } else { other.clone() };
        crowd.spawn(
            async move { if n % 3 == 0 { client.complete(&held).await } else { client.fail(&held).await }.is(200) },
        );
    }
    let cancelled = with_summed_counts(w.cancel_batch(&id).await.is(200));
    let out = number(&cancelled["counts"], "reserved");
    assert!(w.reserve_all(json!({ "limit": 100 })).await.is_empty(), "nothing after the answer");
    crowd.join_all().await;
    assert!(w.reserve_all(json!({ "limit": 100 })).await.is_empty(), "nor after that");
    assert!(out <= 20);
    w.sweep_until("it is over", async || w.batch(&id).await["state"] == "cancelled").await;
    let ended = w.recounted_batch(&id).await;
    assert_eq!(number(&ended["counts"], "completed") + number(&ended["counts"], "cancelled"), 3_000);
    assert_eq!(w.event_count("batch-completed").await, 1);
    w.check().await;
}

#[tokio::test]
async fn cancelled_and_purged_jobs_stay_in_batch_results() {
    let w = World::start().await;
    let id = w.create_batch(json!({ "concurrency": 1, "jobs": items(0..6) })).await;
    let held = w.reserve().await;
    assert_eq!(w.empty_reason(json!({})).await, "blocked");
    w.cancel(&member_id(&id, 1)).await.is(200);
    w.cancel(&member_id(&id, 0)).await.wrong_state("reserved");
    w.force_cancel(&held.id).await.is(200);
    assert_contains(&w.recounted_batch(&id).await["counts"], json!({ "cancelled": 2, "reserved": 0, "total": 6 }));
    let held = w.reserve().await;
    assert_eq!(held.id, member_id(&id, 2), "its place in the batch is free");
    let purged = w.delete("/queues/default?state=blocked").await.is(200);
    assert_eq!(purged["more"], false, "{purged}");
    assert_contains(&w.recounted_batch(&id).await["counts"], json!({ "blocked": 0, "reserved": 1, "total": 6 }));
    w.check().await;
    w.delete("/queues/default?state=all&force=true").await.is(200);
    let ended = w.recounted_batch(&id).await;
    assert_contains(&ended, json!({ "state": "completed", "counts": { "cancelled": 6, "total": 6 } }));
    w.extend(&held).await.lost("cancelled", "cancelled");
    assert_eq!(w.event_count("batch-completed").await, 1);
    assert_eq!(w.results(&id, 4).await.len(), 6);
    w.check().await;
}

#[tokio::test]
async fn dead_jobs_of_a_cancelled_batch_cannot_be_requeued() {
    let w = World::start().await;
    let jobs = json!([{ "payload": 0, "max_attempts": 1 }, { "payload": 1 }, { "payload": 2 }]);
    let id = w.create_batch(json!({ "jobs": jobs })).await;
    let held = w.reserve_all(json!({ "limit": 2 })).await;
    w.fail(&held[0]).await.is(200);
    w.cancel_batch(&id).await.is(200);
    w.post("/jobs/requeue", json!({ "id": held[0].id })).await.wrong_state("dead");
    assert_eq!(w.requeue_all().await, 0);
    assert_eq!(w.empty_reason(json!({})).await, "reserved", "nothing of it is handed out");
    w.recounted_batch(&id).await;
    w.check().await;
    w.complete(&held[1]).await.is(200);
    let ended = w.recounted_batch(&id).await;
    assert_contains(
        &ended,
        json!({ "state": "cancelled", "counts": { "completed": 1, "waiting": 0, "blocked": 0, "total": 3 } }),
    );
    assert_eq!(w.event_count("batch-completed").await, 1);
    w.check().await;
}

#[tokio::test]
async fn job_changes_do_not_alter_an_ended_batch() {
    let w = World::start().await;
    let jobs = json!([{ "payload": 0, "max_attempts": 1 }, { "payload": 1, "max_attempts": 1 }, { "payload": 2 }]);
    let id = w.create_batch(json!({ "jobs": jobs })).await;
    let held = w.reserve_all(json!({ "limit": 3 })).await;
    w.fail(&held[0]).await.is(200);
    w.complete(&held[2]).await.is(200);
    w.advance_clock(300_000);
    w.sweep().await;
    let ended = w.recounted_batch(&id).await;
    assert_contains(&ended, json!({ "state": "failed", "counts": { "completed": 1, "dead": 2 } }));
    w.cancel(&held[0].id).await;
    w.set_priority(&held[0].id, 1).await;
    w.requeue_all().await;
    w.complete(&held[1]).await;
    w.cancel_batch(&id).await;
    w.cancel(&held[2].id).await;
    for state in ["dead", "completed", "all"] {
        w.delete(&format!("/queues/default?state={state}&force=true")).await.is(200);
    }
    w.sweep().await;
    assert_eq!(w.recounted_batch(&id).await, ended);
    assert_eq!(w.event_count("batch-completed").await, 1);
    w.check().await;
    w.advance_clock(RETENTION_MS);
    w.sweep_until("nothing is left", async || w.leftover_keys().await.is_empty()).await;
    w.check().await;
}
