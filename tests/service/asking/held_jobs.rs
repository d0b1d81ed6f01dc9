//! Jobs that expire while they are held, dead, locked or in a batch.

use serde_json::json;

use crate::world::{World, assert_contains, assert_events, batch_verbs::member_id};

#[tokio::test]
async fn lease_of_300_seconds_lasts_the_40_that_are_left() {
    let w = World::start().await;
    w.stop_clock();
    let id = w.enqueue_with(json!({ "payload": 1, "expires_ms": 60_000 })).await;
    w.advance_clock(20_000);
    let held = w.reserve_as("ann").await;
    assert_contains(&held.body, json!({ "id": id, "expires_in_ms": 40_000, "warn_in_ms": 0 }));
    let job = w.job(&id).await;
    assert_eq!(job["reserved"]["expires_at"], job["expires_at"]);
    w.advance_clock(30_000);
    assert_eq!(w.extend(&held).await.is(200)["expires_in_ms"], 10_000);
    w.check().await;
}

#[tokio::test]
async fn last_attempt_that_expires_with_its_job_is_cancelled() {
    let w = World::start().await;
    let id = w.enqueue_with(json!({ "payload": 1, "expires_ms": 60_000, "max_attempts": 1 })).await;
    w.reserve_as("ann").await;
    w.advance_clock(60_000);
    assert_contains(&w.sweep().await, json!({ "expired": 1, "dead": 0 }));
    assert_contains(&w.job(&id).await, json!({ "state": "cancelled", "cancelled": { "reason": "expired" } }));
    w.check().await;
}

#[tokio::test]
async fn grace_that_lasts_until_the_expiry_ends_as_expired() {
    let w = World::start().await;
    let id = w.enqueue_with(json!({ "payload": 1, "expires_ms": 60_000 })).await;
    let held = w.reserve_as("ann").await;
    w.post("/jobs/abandon", json!({ "reservation": held.reservation, "grace_ms": 90_000 })).await.is(200);
    w.advance_clock(60_000);
    w.complete_with(&held, "yes").await.lost("expired", "cancelled");
    assert_events(&w.events_of(&id).await, &["enqueued", "reserved", "expired", "cancelled"]);
    w.check().await;
}

#[tokio::test]
async fn dead_job_does_not_expire_and_is_requeued_after_a_patch() {
    let w = World::start().await;
    w.stop_clock();
    let id = w.enqueue_with(json!({ "payload": 1, "expires_ms": 60_000, "max_attempts": 1 })).await;
    let held = w.reserve_as("ann").await;
    w.fail(&held).await.is(200);
    w.advance_clock(60_000);
    w.sweep().await;
    assert_eq!(w.state(&id).await, "dead");
    w.post("/jobs/requeue", json!({ "id": id })).await.wrong_state("dead");
    assert_eq!(w.requeue_all().await, 0);
    w.patch(&format!("/jobs/{id}"), json!({ "priority": 1 })).await.wrong_state("dead");
    w.patch(&format!("/jobs/{id}"), json!({ "priority": 1, "expires_ms": 60_000 })).await.wrong_state("dead");
    let patched = w.patch(&format!("/jobs/{id}"), json!({ "expires_ms": 60_000 })).await.is(200);
    assert_eq!(patched["state"], "dead");
    assert_eq!(w.requeue(&id).await, 1);
    w.advance_clock(60_000);
    w.sweep().await;
    assert_eq!(w.job(&id).await["cancelled"]["reason"], "expired", "it counts from the change");
    w.check().await;
}

#[tokio::test]
async fn dead_job_is_not_completed_late_after_its_expiry() {
    let w = World::start().await;
    let job = json!({ "payload": 1, "expires_ms": 60_000, "max_attempts": 1, "lease_ms": 1_000 });
    let id = w.enqueue_with(job).await;
    let held = w.reserve_as("ann").await;
    w.advance_clock(1_000);
    assert_eq!(w.sweep().await["dead"], 1);
    w.advance_clock(60_000);
    w.complete_with(&held, "yes").await.lost("expired", "dead");
    assert_eq!(w.job(&id).await["late_results"][0]["result"], "yes");
    w.check().await;
}

#[tokio::test]
async fn batch_ends_when_its_jobs_have_expired() {
    let w = World::start().await;
    w.stop_clock();
    let jobs =
        json!([{ "payload": 1, "expires_ms": 60_000 }, { "payload": 2, "expires_ms": 90_000 }, { "payload": 3 }]);
    let batch = w.create_batch(json!({ "jobs": jobs, "concurrency": 1 })).await;
    let held = w.reserve_as("ann").await;
    w.complete_with(&held, "in time").await.is(200);
    let held = w.reserve_as("ann").await;
    assert_eq!((held.id.clone(), held.number("expires_in_ms")), (member_id(&batch, 1), 90_000));
    w.advance_clock(90_000);
    assert_eq!(w.reserve_as("bob").await.id, member_id(&batch, 2), "the unit of the limit is free");
    let counts = json!({ "completed": 1, "cancelled": 1, "reserved": 1 });
    assert_contains(&w.recounted_batch(&batch).await["counts"], counts);
    w.complete_all().await;
    let batch = w.recounted_batch(&batch).await;
    assert_contains(&batch, json!({ "state": "sealed" }));
    w.check().await;
}

#[tokio::test]
async fn batch_of_expiries_only_ends_at_the_last_one() {
    let w = World::start().await;
    w.stop_clock();
    let jobs: Vec<_> = (1..=150).map(|n| json!({ "payload": n, "expires_ms": 1_000 * n })).collect();
    let batch = w.create_batch(json!({ "jobs": jobs })).await;
    w.advance_clock(149_999);
    w.sweep().await;
    assert_contains(&w.recounted_batch(&batch).await, json!({ "state": "sealed", "counts": { "cancelled": 149 } }));
    w.advance_clock(1);
    w.sweep().await;
    assert_contains(&w.recounted_batch(&batch).await, json!({ "state": "completed", "counts": { "cancelled": 150 } }));
    w.check().await;
}

#[tokio::test]
async fn expired_holder_frees_its_lock_for_the_next_job() {
    let w = World::start().await;
    w.stop_clock();
    let first = w.enqueue_with(json!({ "payload": 1, "locks": ["l"], "expires_ms": 60_000 })).await;
    let second = w.enqueue_with(json!({ "payload": 2, "locks": ["l"], "expires_ms": 60_000 })).await;
    let third = w.enqueue_locked(3, &["l"]).await;
    assert_eq!(w.reserve_as("ann").await.id, first);
    assert_eq!(w.empty_reason(json!({ "worker": "bob" })).await, "blocked");
    w.advance_clock(60_000);
    assert_eq!(w.reserve_as("bob").await.id, third, "the second one has expired too");
    w.sweep().await;
    assert_eq!(w.job(&second).await["cancelled"]["reason"], "expired");
    w.check().await;
}

#[tokio::test]
async fn expired_job_frees_its_dedupe_key() {
    let w = World::start().await;
    let job = |more: serde_json::Value| {
        let mut job = json!({ "payload": 1, "dedupe_key": "k" });
        job.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        job
    };
    let id = w.enqueue_with(job(json!({ "expires_ms": 60_000 }))).await;
    let twin = w.send_enqueue(job(json!({ "expires_ms": 90_000 }))).await.is(200);
    assert_eq!((&twin["id"], &twin["duplicate"]), (&json!(id), &json!(true)), "they are no part of the key");
    w.advance_clock(60_000);
    w.sweep().await;
    assert_eq!(w.job(&id).await["cancelled"]["reason"], "expired", "a twin keeps its own");
    assert_ne!(w.enqueue_with(job(json!({}))).await, id);
    w.check().await;
}
