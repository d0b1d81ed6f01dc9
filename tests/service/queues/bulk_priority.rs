//! One call changes the priority of many jobs: which, in which order, and where the next call continues.

use serde_json::{Value, json};

use crate::world::{World, batch_verbs::items};

async fn reprioritize(w: &World, more: Value) -> Value {
    let mut body = json!({ "queue": "default" });
    body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    w.post("/jobs/reprioritize", body).await.is(200)
}

fn changed(n: u64) -> Value {
    json!({ "changed": n, "more": false, "next": null })
}

#[tokio::test]
async fn selected_jobs_move_ahead_in_their_old_order() {
    let w = World::start().await;
    let job = |n: usize| json!({ "payload": n, "client": if n.is_multiple_of(2) { "even" } else { "odd" } });
    let ids = w.enqueue_many((0..6).map(job)).await;
    let later = json!({ "payload": "later", "delay_ms": 60_000 });
    w.enqueue_with(later).await;
    assert_eq!(reprioritize(&w, json!({ "priority": 10, "client": "odd" })).await, changed(3));
    assert_eq!(w.list_ids("waiting").await, [1, 3, 5, 0, 2, 4].map(|n: usize| ids[n].clone()));
    assert_eq!(
        reprioritize(&w, json!({ "priority": 10, "client": "odd" })).await,
        changed(0),
        "unchanged jobs are not counted"
    );
    assert_eq!(reprioritize(&w, json!({ "priority": 90 })).await, changed(6));
    assert_eq!(reprioritize(&w, json!({ "priority": 7, "state": "delayed" })).await, changed(1));
    let batch = w.create_batch(json!({ "jobs": items(0..3) })).await;
    assert_eq!(reprioritize(&w, json!({ "priority": 1, "batch": batch })).await, changed(3));
    let held = w.reserve().await;
    assert_eq!(reprioritize(&w, json!({ "priority": 99, "state": "reserved" })).await, changed(1));
    assert_eq!(w.job(&held.id).await["priority"], 99, "a reserved job gets it for its return");
    w.check().await;
}

#[tokio::test]
async fn reprioritize_reorders_jobs_parked_at_a_lock() {
    let w = World::start().await;
    let job = |n: usize| json!({ "payload": n, "locks": ["one"], "client": if n == 3 { "urgent" } else { "usual" } });
    let ids = w.enqueue_many((0..4).map(job)).await;
    let held = w.reserve().await;
    assert_eq!(w.empty_reason(json!({})).await, "blocked");
    assert_eq!(reprioritize(&w, json!({ "priority": 1, "state": "blocked", "client": "urgent" })).await, changed(1));
    w.check().await;
    w.complete(&held).await.is(200);
    assert_eq!(w.reserve().await.id, ids[3]);
    w.check().await;
}

#[tokio::test]
async fn reprioritize_of_thousands_uses_small_scripts() {
    let w = World::start().await;
    for part in 0..11 {
        w.enqueue_many((0..1_000).map(|n| json!({ "payload": [part, n] }))).await;
    }
    let mut meter = w.meter().await;
    // A larger number moves jobs after the cursor, so each is met again.
    let first = reprioritize(&w, json!({ "priority": 80 })).await;
    assert_eq!((&first["changed"], &first["more"]), (&json!(10_000), &json!(true)));
    let second = reprioritize(&w, json!({ "priority": 80, "after": first["next"] })).await;
    assert_eq!(second, changed(1_000));
    let steps = meter.assert_bounded("another priority for all", &w.engine).await.len();
    assert!(steps <= 120, "200 a script: {steps} scripts for 11,000 jobs that are each met twice");
    w.check().await;
}
