//! Completions after a grace period, and several abandons or drafts in one call.

use serde_json::{Value, json};

use crate::world::{ReservedJob, World, assert_contains};

/// A job that ann has left for fifteen seconds, which are over.
async fn left_for_too_long(w: &World) -> (String, ReservedJob) {
    w.stop_clock();
    let id = w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    w.leave(&held, json!({ "grace_ms": 15_000 })).await;
    w.advance_clock(15_000);
    (id, held)
}

#[tokio::test]
async fn completion_without_result_counts_after_grace() {
    let w = World::start().await;
    let (id, held) = left_for_too_long(&w).await;
    w.sweep().await;
    assert_contains(&w.complete(&held).await.is(200), json!({ "late": true, "duplicate": false }));
    assert_eq!(w.state(&id).await, "completed");
    w.check().await;
}

#[tokio::test]
async fn completion_after_grace_is_lost_to_a_new_holder() {
    let w = World::start().await;
    let (id, held) = left_for_too_long(&w).await;
    assert_eq!(w.reserve_as("bob").await.id, id);
    w.complete(&held).await.lost("abandoned", "reserved");
    w.check().await;
}

/// Several of them in one call, which are one script.
async fn say(w: &World, path: &str, held: &ReservedJob, items: &[Value]) {
    let item = |item: &Value| {
        let mut item = item.clone();
        item["reservation"] = json!(held.reservation);
        item
    };
    w.post(path, Value::Array(items.iter().map(item).collect())).await.is(200);
}

#[tokio::test]
async fn abandon_after_grace_abandon_releases_at_once() {
    let w = World::start().await;
    let id = w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    say(&w, "/jobs/abandon", &held, &[json!({ "grace_ms": 15_000 }), json!({})]).await;
    assert_eq!(w.state(&id).await, "waiting");
    assert_contains(&w.queue().await, json!({ "counts": { "waiting": 1, "reserved": 0 } }));
    w.check().await;
}

#[tokio::test]
async fn lease_of_a_worker_who_was_back_in_the_grace_expires_as_others_do() {
    for by_reserving in [false, true] {
        let w = World::start().await;
        w.stop_clock();
        let id = w.enqueue(1).await;
        let held = w.reserve_as("ann").await;
        w.leave(&held, json!({ "grace_ms": 15_000, "skip": true })).await;
        if by_reserving {
            assert_eq!(w.reserve_as("ann").await.body["resumed"], true);
        } else {
            w.extend(&held).await.is(200);
        }
        w.advance_clock(300_000);
        w.sweep().await;
        assert_contains(
            &w.job(&id).await,
            json!({ "state": "waiting", "attempts": 1, "counts": { "abandoned": 0, "expired": 1 } }),
        );
        assert_eq!(w.reserve_as("ann").await.id, id, "the skip ended with the grace");
        w.check().await;
    }
}

#[tokio::test]
async fn last_draft_of_one_call_is_kept() {
    let w = World::start().await;
    w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    say(&w, "/jobs/extend", &held, &[json!({ "draft": null }), json!({ "draft": "again" })]).await;
    assert_eq!(w.reserve_as("ann").await.body["draft"], "again");
    say(&w, "/jobs/extend", &held, &[json!({ "draft": "more" }), json!({ "draft": null })]).await;
    assert_eq!(w.reserve_as("ann").await.body["draft"], Value::Null);
    w.check().await;
}

#[tokio::test]
async fn draft_is_removed_with_a_cancelled_batch_job() {
    let w = World::start().await;
    let batch = w.create_batch(json!({ "jobs": [{ "payload": 1 }] })).await;
    let held = w.reserve_as("ann").await;
    w.cancel_batch(&batch).await.is(200);
    assert_eq!(w.leave(&held, json!({ "draft": "typed" })).await["state"], "cancelled");
    let drafts: u64 = w.engine.run("HLEN intray:{default}:2:drafts").await;
    assert_eq!(drafts, 0);
    w.check().await;
}
