//! Calls that decide by more jobs than they name see what time has done to them, swept or not: the cancellation of a batch, bulk requeue,
//! purge, reassign. And the cancellation of one.

use serde_json::json;

use crate::world::{World, assert_contains, assert_events};

async fn still() -> World {
    let w = World::start().await;
    w.stop_clock();
    w
}

/// A batch whose only job has just had its last attempt. Its id, and the job's.
async fn exhausted_batch(w: &World) -> (String, String) {
    let job = json!({ "payload": "last", "max_attempts": 1, "lease_ms": 1_000 });
    let batch = w.create_batch(json!({ "jobs": [job] })).await;
    let held = w.reserve_as("ann").await;
    w.advance_clock(1_000);
    (batch, held.id)
}

#[tokio::test]
async fn batch_that_time_has_ended_is_not_cancelled() {
    let w = still().await;
    let (batch, job) = exhausted_batch(&w).await;
    w.cancel_batch(&batch).await.is(409);
    assert_eq!(w.get(&format!("/batches/{batch}")).await.is(200)["state"], "failed");
    assert_eq!(w.state(&job).await, "dead");
    let expiring = json!({ "payload": "short", "expires_ms": 1_000 });
    let batch = w.create_batch(json!({ "jobs": [expiring] })).await;
    w.advance_clock(1_000);
    let answer = w.cancel_batch(&batch).await;
    let shown = w.get(&format!("/batches/{batch}")).await.is(200);
    let job = w.results(&batch, 10).await.remove(0);
    assert_eq!(job["state"], "cancelled");
    let job = w.job(job["id"].as_str().expect("an id")).await;
    assert_eq!(job["cancelled"]["reason"], "expired");
    assert_eq!(answer.status == 409, shown["state"] != "cancelled", "{shown}");
    w.check().await;
}

#[tokio::test]
async fn cancel_sees_what_time_has_done() {
    let w = still().await;
    let (_, job) = exhausted_batch(&w).await;
    w.delete(&format!("/jobs/{job}")).await.wrong_state("dead");
    // Alone, a dead job may be cancelled.
    let id = w.enqueue_with(json!({ "payload": 1, "max_attempts": 1, "lease_ms": 1_000 })).await;
    w.reserve_as("ann").await;
    w.advance_clock(1_000);
    w.delete(&format!("/jobs/{id}")).await.is(200);
    assert_contains(&w.queue().await["totals"], json!({ "dead": 2, "cancelled": 1 }));
    let id = w.enqueue_with(json!({ "payload": 2, "expires_ms": 1_000 })).await;
    w.advance_clock(1_000);
    w.delete(&format!("/jobs/{id}")).await.is(200);
    assert_contains(&w.job(&id).await, json!({ "state": "cancelled", "cancelled": { "reason": "expired" } }));
    let id = w.enqueue_with(json!({ "payload": 3, "lease_ms": 1_000 })).await;
    w.reserve_as("ann").await;
    w.advance_clock(1_000);
    w.delete(&format!("/jobs/{id}")).await.is(200);
    assert_contains(&w.job(&id).await, json!({ "state": "cancelled", "counts": { "expired": 1 } }));
    w.check().await;
}

#[tokio::test]
async fn bulk_requeue_and_purge_see_what_time_has_done() {
    let w = still().await;
    let doomed = |n: usize| json!({ "payload": n, "max_attempts": 1, "lease_ms": 1_000 });
    w.enqueue_many((0..3).map(doomed)).await;
    w.reserve_all(json!({ "limit": 3 })).await;
    w.advance_clock(1_000);
    assert_eq!(w.requeue_all().await, 3, "they are dead");
    w.reserve_all(json!({ "limit": 3 })).await;
    w.advance_clock(1_000);
    let removed = w.delete("/queues/default?state=waiting").await.is(200);
    assert_eq!(removed["removed"], 0, "they are dead, and not in anybody's hands");
    assert_eq!(w.delete("/queues/default?state=dead").await.is(200)["removed"], 3);
    let id = w.enqueue_with(json!({ "payload": "short", "expires_ms": 1_000 })).await;
    w.advance_clock(1_000);
    assert_eq!(w.delete("/queues/default?state=waiting").await.is(200)["removed"], 0, "it has expired");
    assert_contains(&w.job(&id).await, json!({ "state": "cancelled", "cancelled": { "reason": "expired" } }));
    w.check().await;
}

#[tokio::test]
async fn reassign_leaves_expired_jobs_alone() {
    let w = still().await;
    let job = |n: usize, ms: u64| json!({ "payload": n, "assignees": ["ann"], "expires_ms": ms });
    w.enqueue_many([job(1, 1_000), job(2, 60_000)]).await;
    w.advance_clock(1_000);
    let answer = w.post("/jobs/reassign", json!({ "queue": "default", "from": "ann", "to": ["bob"] })).await.is(200);
    assert_eq!(answer["changed"], 1, "{answer}");
    w.check().await;
}

#[tokio::test]
async fn patch_of_an_sla_tells_first_that_it_was_breached() {
    let w = still().await;
    let id = w.enqueue_with(json!({ "payload": 1, "sla_ms": 1_000 })).await;
    w.advance_clock(1_000);
    w.patch(&format!("/jobs/{id}"), json!({ "sla_ms": 60_000 })).await.is(200);
    assert_events(&w.events_of(&id).await, &["enqueued", "sla-breached", "changed"]);
    w.check().await;
}
