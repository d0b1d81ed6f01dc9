//! Fields of a batch and of its jobs, and repeated calls, which make one batch.

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::world::{
    Answer, Client, ReservedJob, World, assert_contains, assert_events,
    batch_verbs::{assert_locks_unique, items, member_id},
    id_of,
};

#[tokio::test]
async fn invalid_batch_requests_are_refused_and_store_nothing() {
    let w = World::start().await;
    let cases: Vec<(Value, &[&str])> = vec![
        (json!({}), &["/jobs"]),
        (json!({ "jobs": 1 }), &["/jobs"]),
        (json!({ "jobs": null }), &["/jobs"]),
        (json!({ "jobs": [1] }), &["/jobs/0"]),
        (json!({ "jobs": [{ "payload": 1 }, {}] }), &["/jobs/1/payload"]),
        (json!({ "jobs": [{ "payload": 1 }], "queue": "a b" }), &["/queue"]),
        (json!({ "jobs": [{ "payload": 1 }], "concurrency": 0 }), &["/concurrency"]),
        (json!({ "jobs": [{ "payload": 1 }], "concurrency": "5" }), &["/concurrency"]),
        (json!({ "jobs": [{ "payload": 1 }], "concurrency": 1.5 }), &["/concurrency"]),
        (json!({ "jobs": [{ "payload": 1 }], "priority": 100 }), &["/priority"]),
        (json!({ "jobs": [{ "payload": 1 }], "client": "" }), &["/client"]),
        (json!({ "jobs": [{ "payload": 1 }], "sealed": "no" }), &["/sealed"]),
        (json!({ "jobs": [{ "payload": 1 }], "name": "x" }), &["/name"]),
        (json!({ "jobs": [{ "payload": 1, "dedupe": false }] }), &["/jobs/0/dedupe"]),
        (json!({ "jobs": [{ "payload": 1, "dedupe_key": "k" }] }), &["/jobs/0/dedupe_key"]),
        (json!({ "jobs": [{ "payload": 1, "queue": "default" }] }), &["/jobs/0/queue"]),
        (json!({ "jobs": [{ "payload": 1, "client": "c" }] }), &["/jobs/0/client"]),
        (json!({ "jobs": [{ "payload": 1, "lease_ms": 1 }] }), &["/jobs/0/lease_ms"]),
        (
            json!({ "jobs": [{ "payload": 1, "backoff": { "type": "slow" } }] }),
            &["/jobs/0/backoff/type", "/jobs/0/backoff/delay_ms"],
        ),
        (
            json!({ "jobs": [{ "payload": 1, "priority": -1 }, { "payload": 1, "delay_ms": -1 }] }),
            &["/jobs/0/priority", "/jobs/1/delay_ms"],
        ),
    ];
    for (batch, pointers) in cases {
        let answer = w.post("/batches", batch.clone()).await;
        assert_eq!(answer.status, 422, "{batch}: {}", answer.text());
        answer.invalid_at(pointers);
    }
    let bad_locks =
        w.post("/batches", json!({ "jobs": [{ "payload": 1 }, { "payload": 1, "locks": ["a", "a"] }] })).await;
    let problem = bad_locks.refused("invalid-request");
    assert!(problem["errors"][0]["pointer"].as_str().is_some_and(|at| at.starts_with("/jobs/1/locks")), "{problem}");
    w.post_text("/batches", r#"{"jobs":["#).await.refused("not-json");
    assert_eq!(w.leftover_keys().await, Vec::<String>::new());

    let id = w.create_batch(json!({ "sealed": false })).await;
    let append = async |body: Value| w.post(&format!("/batches/{id}/jobs"), body).await;
    append(json!({})).await.invalid_at(&["/jobs"]);
    append(json!({ "jobs": [] })).await.invalid_at(&["/jobs"]);
    append(json!({ "jobs": items(0..1), "offset": -1 })).await.invalid_at(&["/offset"]);
    append(json!({ "jobs": [{ "payload": 1 }, { "payload": 1, "priority": 100 }] }))
        .await
        .invalid_at(&["/jobs/1/priority"]);
    append(json!({ "jobs": items(0..201) })).await.refused("too-many-items");
    assert_eq!(w.recounted_batch(&id).await["counts"]["total"], 0);
    w.post(&format!("/batches/{id}/seal"), json!({ "now": true })).await.invalid_at(&["/now"]);
    for unknown in ["default-7ZZZZZZZZZZZZZZZZZZZZZ0000", "nowhere-7ZZZZZZZZZZZZZZZZZZZZZ0000", "x", &member_id(&id, 0)]
    {
        w.get(&format!("/batches/{unknown}")).await.refused("unknown-batch");
        w.get(&format!("/batches/{unknown}/results")).await.refused("unknown-batch");
        w.cancel_batch(unknown).await.refused("unknown-batch");
        w.seal(unknown).await.refused("unknown-batch");
        w.append(unknown, &items(0..1)).await.refused("unknown-batch");
    }
    w.get(&format!("/batches/{id}/results?limit=1001")).await.invalid_by("parameter", &["limit"]);
    w.get(&format!("/batches/{id}?wait_ms=30001")).await.invalid_by("parameter", &["wait_ms"]);
    assert_eq!(w.get(&format!("/batches/{id}?wait_ms=0")).await.is(200)["state"], "open");
    w.check().await;
}

#[tokio::test]
async fn batch_jobs_follow_priority_delay_and_locks() {
    let w = World::start().await;
    w.enqueue_with(json!({ "payload": "outside", "priority": 0, "locks": ["site"] })).await;
    let outside = w.reserve().await;
    let jobs = json!([
        { "payload": 0, "priority": 70 }, { "payload": 1 }, { "payload": 2, "priority": 10, "locks": ["site"] },
        { "payload": 3, "delay_ms": 10_000 }, { "payload": 4, "priority": 20, "locks": ["site", "other"] },
        { "payload": 5, "lease_ms": 60_000, "max_attempts": 1, "backoff": { "type": "fixed", "delay_ms": 1_000 } },
    ]);
    let id = w.create_batch(json!({ "concurrency": 3, "priority": 40, "jobs": jobs })).await;
    let of = |n: usize| member_id(&id, n);
    assert_contains(&w.job(&of(5)).await, json!({ "priority": 40, "lease_ms": 60_000, "max_attempts": 1 }));
    assert_eq!(w.recounted_batch(&id).await["counts"]["delayed"], 1);
    let held = w.reserve_all(json!({ "limit": 100 })).await;
    assert_eq!(held.iter().map(|held| held.id.clone()).collect::<Vec<_>>(), [of(1), of(5), of(0)], "by priority");
    assert_eq!(held[1].number("expires_in_ms"), 60_000);
    assert_contains(&w.recounted_batch(&id).await["counts"], json!({ "blocked": 2, "delayed": 1, "reserved": 3 }));
    w.complete(&outside).await.is(200);
    assert_eq!(w.empty_reason(json!({})).await, "blocked", "the lock is free, and the batch has three out");
    w.complete(&held[0]).await.is(200);
    let locked = w.reserve().await;
    assert_eq!((&locked.id, &locked.body["locks"]), (&of(2), &json!(["site"])));
    w.complete(&held[1]).await.is(200);
    assert_eq!(w.empty_reason(json!({})).await, "blocked", "the batch has room, and the lock is busy");
    w.advance_clock(10_000);
    let due = w.reserve().await;
    assert_eq!(due.id, of(3));
    assert_locks_unique(&[locked.clone(), due.clone(), held[2].clone()]);
    w.recounted_batch(&id).await;
    w.check().await;
    w.complete(&locked).await.is(200);
    assert_eq!(w.reserve().await.id, of(4));
    w.complete(&due).await.is(200);
    w.complete(&held[2]).await.is(200);
    assert_eq!(w.release(&of(4)).await, 1);
    assert_events(&w.events_of(&of(3)).await, &["enqueued", "due", "reserved", "completed"]);
    assert_eq!(w.complete_all().await, [of(4)]);
    assert_eq!(w.recounted_batch(&id).await["state"], "completed");
    w.check().await;
}

#[tokio::test]
async fn batch_jobs_are_never_deduplicated() {
    let w = World::start().await;
    let before = w.enqueue("same").await;
    let same = vec![json!({ "payload": "same" }); 3];
    let ids = [w.create_batch(json!({ "jobs": same })).await, w.create_batch(json!({ "jobs": same })).await];
    w.create_batch(json!({ "sealed": false, "jobs": same })).await;
    assert_eq!(w.queue().await["counts"]["waiting"], 10);
    assert_eq!(id_of(&w.send_enqueue(json!({ "payload": "same" })).await.is(200)), before);
    w.cancel(&before).await.is(200);
    let after = w.enqueue("same").await;
    assert_ne!(after, before, "no job of a batch is its twin");
    assert!(!w.has_dedupe_key(&member_id(&ids[0], 0)).await);
    w.check().await;
}

async fn keyed(client: &Client, key: &str, batch: &Value) -> Answer {
    client.request("POST", "/batches").header("idempotency-key", key).json(batch.to_string()).send().await
}

#[tokio::test]
async fn batch_idempotency_key_lasts_as_long_as_the_batch() {
    let w = World::start().await;
    let batch = json!({ "concurrency": 2, "jobs": items(0..300) });
    let first = keyed(&w, "k", &batch).await;
    let id = id_of(&first.is(201));
    let again = keyed(&w, "k", &batch).await;
    let known = |answer: &Answer| answer.json()["known"].clone();
    assert_eq!((known(&first), known(&again)), (json!(false), json!(true)));
    let mut same = first.json();
    same["known"] = json!(true);
    assert_eq!((again.is(201), again.header("location")), (same, first.header("location")), "the same answer");
    for other in
        [json!({ "concurrency": 3, "jobs": items(0..300) }), json!({ "concurrency": 2, "jobs": items(1..301) })]
    {
        let refusal = keyed(&w, "k", &other).await;
        assert_eq!(refusal.status, 422);
        refusal.refused("idempotency-key-reused");
    }
    assert_ne!(id_of(&keyed(&w, "another", &json!({ "jobs": [] })).await.is(201)), id);
    let job = w.request("POST", "/jobs").header("idempotency-key", "k").json(r#"{"payload":"a job"}"#);
    job.send().await.is(201);
    assert_eq!(w.recounted_batch(&id).await["counts"]["total"], 300);
    assert_eq!(w.complete_all().await.len(), 301);
    assert_contains(&keyed(&w, "k", &batch).await.is(201), json!({ "id": id, "state": "completed" }));
    assert_eq!(w.empty_reason(json!({})).await, "empty");
    assert_eq!(w.event_count("batch-completed").await, 2);
    w.update_settings(json!({ "retention_ms": 3_600_000 })).await;
    w.advance_clock(3_600_000);
    w.sweep_until("it is forgotten", async || w.get(&format!("/batches/{id}")).await.status == 404).await;
    w.sweep_until("all of it is forgotten", async || w.leftover_keys().await.is_empty()).await;
    let new = keyed(&w, "k", &batch).await.is(201);
    assert_contains(&new, json!({ "state": "sealed", "counts": { "total": 300 } }));
    w.check().await;
}

#[tokio::test]
async fn concurrent_creations_with_one_key_make_one_batch() {
    let w = World::start().await;
    let (_second, other) = w.start_instance().await;
    let batch = json!({ "concurrency": 5, "jobs": items(0..900) });
    let mut crowd = JoinSet::new();
    for n in 0..8 {
        let (client, batch) = (if n % 2 == 0 { (*w).clone() } else { other.clone() }, batch.clone());
        crowd.spawn(async move { id_of(&keyed(&client, "k", &batch).await.is(201)) });
    }
    let mut ids = crowd.join_all().await;
    ids.dedup();
    assert_eq!(ids.len(), 1, "{ids:?}");
    assert_eq!(w.recounted_batch(&ids[0]).await["counts"]["total"], 900);
    assert_eq!(w.record_count().await, 900);
    let held: Vec<ReservedJob> = w.reserve_all(json!({ "limit": 100 })).await;
    assert_eq!(held.len(), 5);
    w.check().await;
}

/// A `traceparent` that differs for each try.
fn trace(n: usize) -> String {
    format!("00-4bf92f3577b34da6a3ce929d0e0e4736-{:016x}-01", n + 1)
}

#[tokio::test]
async fn repeated_call_with_another_traceparent_has_one_effect() {
    let w = World::start().await;
    let (_second, other) = w.start_instance().await;
    let batch = json!({ "sealed": false, "jobs": items(0..900) }).to_string();
    let mut crowd = JoinSet::new();
    for n in 0..8 {
        let (client, batch) = (if n % 2 == 0 { (*w).clone() } else { other.clone() }, batch.clone());
        crowd.spawn(async move {
            let request = client.request("POST", "/batches").header("idempotency-key", "k");
            id_of(&request.header("traceparent", &trace(n)).json(batch).send().await.is(201))
        });
    }
    let mut ids = crowd.join_all().await;
    ids.dedup();
    assert_eq!(ids.len(), 1, "{ids:?}");
    let path = format!("/batches/{}/jobs", ids[0]);
    for n in 0..3 {
        let jobs = json!({ "jobs": items(900..1_000), "offset": 900 }).to_string();
        let batch = w.request("POST", &path).header("traceparent", &trace(n)).json(jobs).send().await.is(200);
        assert_eq!(batch["counts"]["total"], 1_000, "try {n}");
    }
    assert_eq!(w.job(&member_id(&ids[0], 950)).await["traceparent"], trace(0), "the first that came is kept");
    assert_eq!(w.recounted_batch(&ids[0]).await["counts"]["total"], 1_000);
    w.check().await;
}
