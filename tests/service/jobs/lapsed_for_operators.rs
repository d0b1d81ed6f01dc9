//! Calls about one job see the state that time has brought it to: requeue, PATCH, links. And what a PATCH of the expiry does to a
//! reservation.

use serde_json::{Value, json};

use crate::world::{
    ReservedJob, World,
    access::{SECRET, key},
    assert_contains,
};

/// A queue whose clock stands still.
async fn still() -> World {
    let w = World::start().await;
    w.stop_clock();
    w
}

/// A job whose last attempt is over.
async fn exhausted(w: &World) -> String {
    let id = w.enqueue_with(json!({ "payload": 1, "max_attempts": 1, "lease_ms": 1_000 })).await;
    w.reserve_as("ann").await;
    w.advance_clock(1_000);
    id
}

/// A job whose completion is final.
async fn closed(w: &World) -> String {
    let id = w.enqueue(2).await;
    w.close(&w.reserve_with(json!({ "worker": "bob", "id": id })).await, "done", 1_000).await.is(200);
    w.advance_clock(1_000);
    id
}

/// A job that has expired in its worker's hands.
async fn expired(w: &World) -> String {
    let id = w.enqueue_with(json!({ "payload": 3, "expires_ms": 1_000 })).await;
    w.reserve_with(json!({ "worker": "cleo", "id": id })).await;
    w.advance_clock(1_000);
    id
}

async fn patch(w: &World, id: &str, change: Value) -> crate::world::Answer {
    w.patch(&format!("/jobs/{id}"), change).await
}

#[tokio::test]
async fn requeue_sees_what_time_has_done() {
    let w = still().await;
    let id = exhausted(&w).await;
    assert_eq!(w.requeue(&id).await, 1, "it was dead");
    assert_contains(&w.job(&id).await, json!({ "state": "waiting", "counts": { "expired": 1 } }));
    assert_contains(&w.queue().await["totals"], json!({ "dead": 1, "requeued": 1 }));
    for (id, state) in [(closed(&w).await, "completed"), (expired(&w).await, "cancelled")] {
        w.post("/jobs/requeue", json!({ "id": id })).await.wrong_state(state);
        assert_eq!(w.state(&id).await, state);
    }
    w.check().await;
}

#[tokio::test]
async fn patch_sees_what_time_has_done() {
    let w = still().await;
    for (id, state) in
        [(closed(&w).await, "completed"), (expired(&w).await, "cancelled"), (exhausted(&w).await, "dead")]
    {
        patch(&w, &id, json!({ "priority": 3 })).await.wrong_state(state);
        assert_eq!(w.state(&id).await, state);
    }
    // An overdue reservation does not live again.
    let id = w.enqueue_with(json!({ "payload": 4, "lease_ms": 1_000, "expires_ms": 60_000 })).await;
    let held = w.reserve_as("dan").await;
    w.advance_clock(1_000);
    assert_eq!(patch(&w, &id, json!({ "expires_ms": 900_000 })).await.is(200)["state"], "waiting");
    w.extend(&held).await.lost("expired", "waiting");
    w.check().await;
}

#[tokio::test]
async fn bulk_priority_changes_only_what_is_in_that_state_by_now() {
    let w = still().await;
    let ids = [closed(&w).await, expired(&w).await, exhausted(&w).await];
    w.enqueue_with(json!({ "payload": 5, "expires_ms": 1_000 })).await;
    w.advance_clock(1_000);
    for state in ["reserved", "waiting"] {
        let all = w.post("/jobs/reprioritize", json!({ "queue": "default", "state": state, "priority": 3 })).await;
        assert_eq!(all.is(200)["changed"], 0, "{state}");
    }
    w.sweep().await;
    for id in ids {
        assert_eq!(w.job(&id).await["priority"], 50);
    }
    w.check().await;
}

#[tokio::test]
async fn link_is_made_for_no_job_that_is_over() {
    let keys = [("web", "producer", "*"), ("boss", "operator", "*")];
    let w = World::plan().own_process().with_keys(&keys).flag("--token-secret", SECRET).start().await;
    w.stop_clock();
    for state in ["completed", "cancelled", "dead"] {
        // Each reserve has the queue swept, so one after the other.
        let id = match state {
            "completed" => closed(&w).await,
            "cancelled" => expired(&w).await,
            _ => exhausted(&w).await,
        };
        let asked = json!({ "worker": "eve", "job": id });
        w.with_credential(&key("web")).post("/tokens", asked).await.wrong_state(state);
        assert_eq!(w.state(&id).await, "reserved", "a link changes nothing");
    }
    w.check().await;
}

/// In how many ms the only reservation ends.
async fn ends_in(w: &World) -> u64 {
    w.queue().await["reservations"]["soonest_expires_in_ms"].as_u64().expect("a number")
}

/// A job that expires in ten seconds, and who holds it for a minute.
async fn cut_off(w: &World) -> ReservedJob {
    w.enqueue_with(json!({ "payload": 1, "lease_ms": 60_000, "expires_ms": 10_000, "max_attempts": 1 })).await;
    let held = w.reserve_as("ann").await;
    assert_eq!(held.number("expires_in_ms"), 10_000);
    held
}

#[tokio::test]
async fn later_expiry_gives_a_holder_what_the_earlier_one_cut_off() {
    for (later, ends) in
        [(json!(30_000), 30_000), (json!(60_000), 60_000), (json!(900_000), 60_000), (json!(null), 60_000)]
    {
        let w = still().await;
        let held = cut_off(&w).await;
        patch(&w, &held.id, json!({ "expires_ms": 5_000 })).await.is(200);
        assert_eq!(ends_in(&w).await, 5_000);
        patch(&w, &held.id, json!({ "expires_ms": later })).await.is(200);
        assert_eq!(ends_in(&w).await, ends, "{later}");
        w.advance_clock(ends - 1);
        w.sweep().await;
        w.complete_with(&held, "yes").await.is(200);
        w.check().await;
    }
}

#[tokio::test]
async fn later_expiry_counts_what_the_holder_was_given_since() {
    let w = still().await;
    let held = cut_off(&w).await;
    let extended = w.post("/jobs/extend", json!({ "reservation": held.reservation, "lease_ms": 600_000 })).await;
    assert_eq!(extended.is(200)["expires_in_ms"], 10_000);
    w.reserve_as("ann").await;
    patch(&w, &held.id, json!({ "expires_ms": 900_000 })).await.is(200);
    assert_eq!(ends_in(&w).await, 600_000, "a reload takes nothing from an extension");
    let leaves = json!({ "reservation": held.reservation, "grace_ms": 20_000 });
    patch(&w, &held.id, json!({ "expires_ms": 5_000 })).await.is(200);
    w.post("/jobs/abandon", leaves).await.is(200);
    assert_eq!(ends_in(&w).await, 5_000);
    patch(&w, &held.id, json!({ "expires_ms": 900_000 })).await.is(200);
    assert_eq!(ends_in(&w).await, 20_000, "a grace is not longer than was asked");
    w.check().await;
}

#[tokio::test]
async fn later_expiry_gives_an_undo_its_whole_time() {
    let w = still().await;
    let held = cut_off(&w).await;
    w.advance_clock(5_000);
    assert_eq!(w.close(&held, "no", 30_000).await.is(200)["final_in_ms"], 5_000);
    patch(&w, &held.id, json!({ "expires_ms": 900_000 })).await.is(200);
    w.advance_clock(29_999);
    w.sweep().await;
    assert_eq!(w.undo(&held).await.is(200)["expires_in_ms"], 60_000);
    w.check().await;
}
