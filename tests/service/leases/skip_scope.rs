//! Which worker a skip affects, and for how long.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::world::{Took, World, waiters::PROMPT_LIMIT};

#[tokio::test]
async fn repeated_skip_keeps_other_workers_skips() {
    let w = World::start().await;
    let id = w.enqueue(1).await;
    w.skip(&w.reserve_as("ann").await).await;
    for _ in 0..16 {
        w.skip(&w.reserve_with(json!({ "worker": "bob", "id": id })).await).await;
    }
    assert_eq!(w.empty_reason(json!({ "worker": "ann" })).await, "skipped");
    assert_eq!(w.empty_reason(json!({ "worker": "bob" })).await, "skipped");
    w.check().await;
}

#[tokio::test]
async fn skip_is_kept_by_later_abandons_during_grace() {
    let w = World::start().await;
    w.stop_clock();
    for last in [json!({ "grace_ms": 60_000, "resumes": 0 }), json!({})] {
        w.enqueue(last.clone()).await;
        let held = w.reserve_as("ann").await;
        w.leave(&held, json!({ "grace_ms": 5_000, "skip": true })).await;
        w.leave(&held, last).await;
        w.advance_clock(5_000);
        assert_eq!(w.empty_reason(json!({ "worker": "ann" })).await, "skipped");
    }
    w.check().await;
}

#[tokio::test]
async fn resume_cancels_a_pending_skip() {
    let w = World::start().await;
    w.stop_clock();
    let id = w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    w.leave(&held, json!({ "grace_ms": 5_000, "skip": true })).await;
    let again = w.reserve_as("ann").await;
    w.leave(&again, json!({ "grace_ms": 5_000 })).await;
    w.advance_clock(5_000);
    assert_eq!(w.reserve_as("ann").await.id, id);
    w.check().await;
}

#[tokio::test]
async fn skipped_job_hides_no_job_of_the_same_lock() {
    let w = World::start().await;
    let first = w.enqueue_locked(1, &["l"]).await;
    w.skip(&w.reserve_as("ann").await).await;
    w.enqueue_with(json!({ "payload": "urgent", "locks": ["l"], "priority": 0 })).await;
    let last = w.enqueue_locked(2, &["l"]).await;
    let urgent = w.reserve_as("bob").await;
    assert_eq!(w.empty_reason(json!({ "worker": "cyd" })).await, "blocked", "both are parked");
    w.complete(&urgent).await.is(200);
    assert_eq!(w.state(&first).await, "waiting", "it has the turn");
    let ann = w.reserve_as("ann").await;
    assert_eq!(ann.id, last);
    w.complete(&ann).await.is(200);
    assert_eq!(w.reserve_as("cyd").await.id, first);
    w.check().await;
}

#[tokio::test]
async fn skipped_job_hides_no_job_of_a_limited_batch() {
    let w = World::start().await;
    let jobs: Vec<_> = (0..4).map(|n| json!({ "payload": n })).collect();
    w.create_batch(json!({ "concurrency": 1, "jobs": jobs })).await;
    w.skip(&w.reserve_as("ann").await).await;
    for _ in 0..3 {
        let ann = w.reserve_as("ann").await;
        assert_eq!(w.empty_reason(json!({ "worker": "bob" })).await, "blocked");
        w.complete(&ann).await.is(200);
    }
    assert_eq!(w.empty_reason(json!({ "worker": "ann" })).await, "skipped");
    w.complete(&w.reserve_as("bob").await).await.is(200);
    w.check().await;
}

#[tokio::test]
async fn worker_who_skipped_a_full_scan_gets_reason_skipped() {
    let w = World::start().await;
    w.update_settings(json!({ "worker_limit": 0 })).await;
    w.enqueue_many((0..200).map(|n| json!({ "payload": n }))).await;
    for _ in 0..2 {
        for held in w.reserve_all(json!({ "worker": "ann", "limit": 100 })).await {
            w.skip(&held).await;
        }
    }
    assert_eq!(w.empty_reason(json!({ "worker": "ann" })).await, "skipped");
    w.check().await;
}

#[tokio::test]
async fn waiter_passes_on_a_wake_up_for_a_skipped_job() {
    let w = World::start_process().await;
    w.enqueue_with(json!({ "queue": "paused", "payload": 1 })).await;
    w.configure("paused", json!({ "paused": true })).await;
    for queues in [json!(["default"]), json!(["default", "paused"]), json!(["paused", "default"])] {
        let id = w.enqueue(queues.clone()).await;
        w.skip(&w.reserve_as("ann").await).await;
        assert_eq!(w.reserve_as("cyd").await.id, id);
        let ann = w.start_reserve(json!({ "worker": "ann", "queues": queues }));
        sleep(Duration::from_millis(100)).await;
        let bob = w.start_wait(json!({ "worker": "bob" })).await;
        let since = Instant::now();
        w.release(&id).await;
        let (held, at) = bob.job_at().await;
        assert_eq!(held.id, id);
        Took::between(since, at).assert_within(PROMPT_LIMIT, queues);
        assert!(!ann.is_answered());
        w.complete(&held).await.is(200);
    }
    w.check().await;
}
