//! Settings never shorten a granted lease, and a resume answers at most a mebibyte of jobs.

use serde_json::{Value, json};

use crate::world::{World, assert_contains, assert_events};

#[tokio::test]
async fn lowered_max_hold_keeps_granted_leases() {
    let w = World::start().await;
    w.stop_clock();
    let id = w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    w.advance_clock(1_500);
    w.update_settings(json!({ "max_hold_ms": 1_000 })).await;
    let twice = json!([{ "reservation": held.reservation }, { "reservation": held.reservation }]);
    let answer = w.post("/jobs/extend", twice).await.is(200);
    for item in 0..2 {
        assert_contains(&answer["jobs"][item], json!({ "id": id, "state": "reserved", "expires_in_ms": 298_500 }));
    }
    w.check().await;
    w.advance_clock(1_500);
    assert_eq!(w.empty_reason(json!({ "worker": "bob" })).await, "reserved");
    assert_eq!(w.sweep().await["expired"], 0);
    w.complete(&held).await.is(200);
    assert_events(&w.events_of(&id).await, &["enqueued", "reserved", "extended", "extended", "completed"]);
    w.check().await;
}

#[tokio::test]
async fn resume_after_lowered_max_hold_keeps_the_deadline() {
    let w = World::start().await;
    w.stop_clock();
    let id = w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    w.advance_clock(1_500);
    w.update_settings(json!({ "max_hold_ms": 1_000 })).await;
    let again = w.reserve_as("ann").await;
    assert_eq!((&again.reservation, again.number("expires_in_ms")), (&held.reservation, 298_500));
    w.check().await;
    w.advance_clock(298_499);
    assert_eq!(w.sweep().await["expired"], 0);
    w.advance_clock(1);
    assert_eq!(w.sweep().await["expired"], 1);
    let next = w.reserve_as("ann").await;
    assert_eq!((&next.id, next.number("expires_in_ms")), (&id, 1_000), "a new lease has the new limit");
    w.check().await;
}

#[tokio::test]
async fn resume_over_a_mebibyte_is_partial_and_loses_nothing() {
    let w = World::start().await;
    w.update_settings(json!({ "worker_limit": 100, "dedupe": false })).await;
    let payload = "x".repeat(100_000);
    for _ in 0..2 {
        w.enqueue_many((0..50).map(|_| json!({ "payload": payload }))).await;
    }
    let asked = || json!({ "worker": "ann", "limit": 100 });
    let mut held = Vec::new();
    while held.len() < 100 {
        held.extend(w.reserve_all(asked()).await);
    }
    let again = w.reserve_all(asked()).await;
    assert!(again.iter().all(|job| job.body["resumed"] == true));
    assert_eq!(again.len(), 10, "ten of 100 kB fit into a mebibyte");
    assert_eq!(w.queue().await["counts"]["reserved"], 100);
    for portion in held.chunks(50) {
        let items = portion.iter().map(|held| json!({ "reservation": held.reservation })).collect();
        let answer = w.post("/jobs/extend", Value::Array(items)).await.is(200);
        assert!(answer["jobs"].as_array().expect("jobs").iter().all(|item| item["state"] == "reserved"), "{answer}");
    }
    w.check().await;
}

#[tokio::test]
async fn worker_limit_is_at_most_one_hundred() {
    let w = World::start().await;
    w.patch("/queues/default", json!({ "worker_limit": 101 })).await.invalid_at(&["/worker_limit"]);
    w.update_settings(json!({ "worker_limit": 100 })).await;
    w.enqueue_many((0..250).map(|n| json!({ "payload": n }))).await;
    let some = w.reserve_all(json!({ "worker": "ann", "limit": 30 })).await;
    let rest = w.reserve_all(json!({ "worker": "ann", "limit": 100 })).await;
    assert_eq!((some.len(), rest.len()), (30, 70));
    for _ in 0..3 {
        let again = w.reserve_all(json!({ "worker": "ann", "limit": 100 })).await;
        assert_eq!(again.len(), 100);
        assert!(again.iter().all(|job| job.body["resumed"] == true));
    }
    assert_contains(&w.queue().await["counts"], json!({ "reserved": 100, "waiting": 150 }));
    w.check().await;
}
