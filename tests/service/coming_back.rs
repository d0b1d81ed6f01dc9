//! Leaving for a while, and what was typed by then.

use serde_json::json;

use crate::world::{World, assert_holds};

#[tokio::test]
async fn work_that_has_no_result_counts_after_the_grace_too() {
    let w = World::start().await;
    w.stop_the_clock().await;
    let id = w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    w.leave(&held, json!({ "grace_ms": 15_000 })).await;
    w.pass(15_000);
    w.sweep().await;
    assert_holds(&w.complete(&held).await.is(200), json!({ "late": true, "duplicate": false }));
    assert_eq!(w.state(&id).await, "completed");
    w.check().await;
}

#[tokio::test]
async fn work_that_has_no_result_is_lost_when_the_grace_is_over_and_another_has_the_job() {
    let w = World::start().await;
    w.stop_the_clock().await;
    let id = w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    w.leave(&held, json!({ "grace_ms": 15_000 })).await;
    w.pass(15_000);
    assert_eq!(w.reserve_as("bob").await.id, id);
    w.complete(&held).await.lost("abandoned", "reserved");
    w.check().await;
}
