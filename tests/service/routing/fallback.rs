//! A job falls back to everybody when its time is over, never early.

use serde_json::json;

use crate::world::{World, assert_contains, assert_events};

const TEN_MINUTES: u64 = 600_000;

#[tokio::test]
async fn fallback_is_at_its_millisecond_and_not_before() {
    let w = World::start().await;
    w.stop_clock();
    let job = json!({ "payload": 1, "assignees": ["bob"], "skill": "de", "fallback_ms": TEN_MINUTES });
    let id = w.enqueue_with(job).await;
    assert_contains(&w.job(&id).await, json!({ "assignees": ["bob"], "skill": "de", "fallback_ms": TEN_MINUTES }));
    w.advance_clock(TEN_MINUTES - 1);
    w.sweep().await;
    assert_eq!(w.empty_reason(json!({ "worker": "ann" })).await, "ineligible");
    w.advance_clock(1);
    w.sweep().await;
    assert_contains(&w.job(&id).await, json!({ "assignees": null, "skill": null, "fallback_at": null }));
    assert_eq!(w.reserve_as("ann").await.id, id);
    assert_events(&w.events_of(&id).await, &["enqueued", "fallback", "reserved"]);
    w.check().await;
}

#[tokio::test]
async fn excluded_workers_stay_excluded_after_the_fallback() {
    let w = World::start().await;
    let job = json!({ "payload": 1, "assignees": ["bob"], "excluded": ["ann"], "fallback_ms": 1_000 });
    let id = w.enqueue_with(job).await;
    w.advance_clock(1_000);
    w.sweep().await;
    assert_eq!(w.empty_reason(json!({ "worker": "ann" })).await, "ineligible");
    assert_eq!(w.reserve_as("cleo").await.id, id);
    w.check().await;
}

#[tokio::test]
async fn fallback_counts_from_the_end_of_the_first_delay() {
    let w = World::start().await;
    w.stop_clock();
    let id =
        w.enqueue_with(json!({ "payload": 1, "assignees": ["bob"], "fallback_ms": 5_000, "delay_ms": 20_000 })).await;
    assert_eq!(w.job(&id).await["fallback_at"], json!(null));
    w.advance_clock(20_000);
    w.sweep().await;
    let held = w.reserve_as("bob").await;
    w.abandon_with_delay(&held, 3_000).await.is(200);
    w.advance_clock(4_999);
    w.sweep().await;
    assert_eq!(w.empty_reason(json!({ "worker": "ann" })).await, "ineligible");
    w.advance_clock(1);
    w.sweep().await;
    assert_eq!(w.reserve_as("ann").await.id, id);
    w.check().await;
}

#[tokio::test]
async fn fallback_of_a_patch_counts_from_the_end_of_a_later_delay() {
    let w = World::start().await;
    w.stop_clock();
    let id = w.enqueue_with(json!({ "payload": 1 })).await;
    let held = w.reserve_as("ann").await;
    w.abandon_with_delay(&held, 3_000).await.is(200);
    w.patch(&format!("/jobs/{id}"), json!({ "assignees": ["bob"], "fallback_ms": 5_000 })).await.is(200);
    assert_eq!(w.job(&id).await["fallback_at"], json!(null));
    w.advance_clock(7_999);
    w.sweep().await;
    assert_eq!(w.empty_reason(json!({ "worker": "cleo" })).await, "ineligible");
    w.advance_clock(1);
    w.sweep().await;
    assert_eq!(w.reserve_as("cleo").await.id, id);
    w.check().await;
}

#[tokio::test]
async fn fallback_counts_from_the_end_of_the_delay_after_an_outage_too() {
    let job = json!({ "payload": 1, "assignees": ["bob"], "fallback_ms": 60_000, "delay_ms": 1_000 });
    for (away, falls_back) in [(60_999, false), (61_000, true), (3_600_000, true)] {
        let w = World::start().await;
        w.stop_clock();
        let id = w.enqueue_with(job.clone()).await;
        w.advance_clock(away);
        w.sweep().await;
        let shown = w.job(&id).await;
        assert_eq!(shown["fallback_at"].is_null(), falls_back, "{away}: {shown}");
        let given = w.send_reserve(json!({ "worker": "ann" })).await.is(200);
        assert_eq!(given["jobs"] != json!([]), falls_back, "{away}: {given}");
        w.check().await;
    }
    // A reserve that finds the delay over does the same as a sweep.
    let w = World::start().await;
    w.stop_clock();
    w.enqueue_with(job).await;
    w.advance_clock(61_000);
    w.reserve_as("ann").await;
    w.check().await;
}

#[tokio::test]
async fn job_that_is_held_falls_back_for_its_return() {
    let w = World::start().await;
    let id = w.enqueue_with(json!({ "payload": 1, "assignees": ["bob"], "fallback_ms": 1_000 })).await;
    let held = w.reserve_as("bob").await;
    w.advance_clock(1_000);
    w.sweep().await;
    assert_eq!(w.state(&id).await, "reserved");
    w.abandon(&held).await.is(200);
    assert_eq!(w.reserve_as("ann").await.id, id);
    w.check().await;
}

#[tokio::test]
async fn patch_of_the_rule_restarts_the_fallback() {
    let w = World::start().await;
    w.stop_clock();
    let id = w.enqueue_with(json!({ "payload": 1, "assignees": ["bob"], "fallback_ms": 10_000 })).await;
    w.advance_clock(9_999);
    w.patch(&format!("/jobs/{id}"), json!({ "assignees": ["cleo"] })).await.is(200);
    w.advance_clock(9_999);
    w.sweep().await;
    assert_eq!(w.empty_reason(json!({ "worker": "bob" })).await, "ineligible");
    w.advance_clock(1);
    w.sweep().await;
    assert_eq!(w.reserve_as("bob").await.id, id);
    w.check().await;
}

#[tokio::test]
async fn requeued_job_is_for_its_assignees_again() {
    let w = World::start().await;
    w.stop_clock();
    let job = json!({ "payload": 1, "assignees": ["bob"], "fallback_ms": 1_000, "max_attempts": 1 });
    let id = w.enqueue_with(job).await;
    w.advance_clock(1_000);
    w.sweep().await;
    let held = w.reserve_as("ann").await;
    w.fail(&held).await.is(200);
    assert_eq!(w.requeue(&id).await, 1);
    assert_eq!(w.empty_reason(json!({ "worker": "ann" })).await, "ineligible");
    w.advance_clock(1_000);
    w.sweep().await;
    assert_eq!(w.reserve_as("ann").await.id, id);
    w.check().await;
}

#[tokio::test]
async fn job_that_falls_back_to_a_held_lock_is_parked() {
    let w = World::start().await;
    w.enqueue_with(json!({ "payload": 1, "locks": ["desk"] })).await;
    let held = w.reserve_as("ann").await;
    let job = json!({ "payload": 2, "locks": ["desk"], "assignees": ["bob"], "fallback_ms": 1_000 });
    let id = w.enqueue_with(job).await;
    w.advance_clock(1_000);
    w.sweep().await;
    assert_eq!(w.state(&id).await, "blocked");
    w.complete(&held).await.is(200);
    assert_eq!(w.reserve_as("cleo").await.id, id);
    w.check().await;
}

#[tokio::test]
async fn queue_without_restricted_jobs_is_not_marked_after_a_sweep() {
    let w = World::start().await;
    w.enqueue_with(json!({ "payload": 1, "assignees": ["bob"] })).await;
    let held = w.reserve_as("bob").await;
    w.complete(&held).await.is(200);
    let marked = async || w.engine.run::<Option<String>>("HGET intray:{default}:2:settings routed").await;
    assert_eq!(marked().await.as_deref(), Some("1"));
    w.sweep().await;
    assert_eq!(marked().await, None);
    w.check().await;
}
