//! A job of 900,000 ms can be completed after 899,999 ms and not after 900,000, whichever call looks first.

use serde_json::json;

use crate::world::{ReservedJob, World, assert_contains, assert_events};

const MS: u64 = 900_000;

/// A world whose clock stands still, and a job that expires in fifteen minutes.
async fn question() -> (World, String) {
    let w = World::start().await;
    w.stop_clock();
    w.update_settings(json!({ "lease_ms": 3_600_000 })).await;
    let id = w.enqueue_with(json!({ "payload": 1, "expires_ms": MS })).await;
    (w, id)
}

/// The same, and ann holds it. `before`: so many ms before it expires.
async fn held_question(before: u64) -> (World, ReservedJob) {
    let (w, _) = question().await;
    let held = w.reserve_as("ann").await;
    w.advance_clock(MS - before);
    (w, held)
}

/// It has ended without a decision.
async fn assert_expired(w: &World, id: &str) {
    let cancelled =
        json!({ "state": "cancelled", "payload": 1, "cancelled": { "reason": "expired" }, "reserved": null });
    assert_contains(&w.job(id).await, cancelled);
    let events = w.events().await;
    let end = events.iter().rfind(|event| event.job == id).expect("an event");
    assert_eq!((end.kind.as_str(), end.note.as_str()), ("cancelled", "expired"));
    w.check().await;
}

#[tokio::test]
async fn sweep_cancels_a_waiting_job_at_its_expiry() {
    let (w, id) = question().await;
    w.advance_clock(MS - 1);
    w.sweep().await;
    assert_contains(&w.job(&id).await, json!({ "state": "waiting", "cancelled": null }));
    w.advance_clock(1);
    w.sweep().await;
    assert_events(&w.events_of(&id).await, &["enqueued", "cancelled"]);
    assert_expired(&w, &id).await;
}

#[tokio::test]
async fn sweep_ends_a_reservation_with_its_job() {
    let (w, held) = held_question(1).await;
    assert_eq!(w.sweep().await["expired"], 0);
    assert_eq!(w.state(&held.id).await, "reserved");
    w.advance_clock(1);
    assert_eq!(w.sweep().await["expired"], 1);
    assert_events(&w.events_of(&held.id).await, &["enqueued", "reserved", "expired", "cancelled"]);
    assert_contains(&w.queue().await["totals"], json!({ "expired": 1, "cancelled": 1, "dead": 0 }));
    assert_expired(&w, &held.id).await;
}

#[tokio::test]
async fn reserve_gives_a_job_until_its_expiry() {
    let (w, id) = question().await;
    w.advance_clock(MS - 1);
    let held = w.reserve_as("ann").await;
    assert_eq!((held.id.as_str(), held.number("expires_in_ms")), (id.as_str(), 1));
    w.complete_with(&held, "yes").await.is(200);
    assert_contains(&w.job(&id).await, json!({ "state": "completed", "result": "yes" }));
    w.check().await;

    let (w, id) = question().await;
    let next = w.enqueue(2).await;
    w.advance_clock(MS);
    let refusal = w.send_reserve(json!({ "worker": "ann", "id": id })).await;
    refusal.wrong_state("cancelled");
    assert_eq!(w.reserve_as("ann").await.id, next, "without a sweep, the next one is given");
    assert_eq!(w.empty_reason(json!({ "worker": "bob" })).await, "reserved");
    w.sweep().await;
    assert_expired(&w, &id).await;
}

#[tokio::test]
async fn extension_never_reaches_beyond_the_expiry() {
    let (w, held) = held_question(1).await;
    let extended = w.post("/jobs/extend", json!({ "reservation": held.reservation, "lease_ms": 60_000 })).await.is(200);
    assert_eq!(extended["expires_in_ms"], 1);
    assert_eq!(w.complete_with(&held, "yes").await.is(200)["late"], false);
    w.check().await;

    let (w, held) = held_question(0).await;
    w.extend(&held).await.lost("expired", "cancelled");
    assert_expired(&w, &held.id).await;
}

#[tokio::test]
async fn resumed_reservation_never_reaches_beyond_the_expiry() {
    let (w, held) = held_question(1).await;
    let again = w.reserve_as("ann").await;
    assert_eq!((again.number("expires_in_ms"), again.body["resumed"].clone()), (1, json!(true)));
    assert_eq!(w.complete_with(&held, "yes").await.is(200)["late"], false);
    w.check().await;

    let (w, held) = held_question(0).await;
    assert_eq!(w.empty_reason(json!({ "worker": "ann" })).await, "empty");
    assert_expired(&w, &held.id).await;
}

#[tokio::test]
async fn completion_counts_until_the_expiry() {
    let (w, held) = held_question(1).await;
    assert_eq!(w.complete_with(&held, "yes").await.is(200)["late"], false);
    assert_eq!(w.job(&held.id).await["result"], "yes");
    w.check().await;

    let (w, held) = held_question(0).await;
    w.complete_with(&held, "yes").await.lost("expired", "cancelled");
    let late = w.job(&held.id).await["late_results"].clone();
    assert_contains(&late[0], json!({ "worker": "ann", "result": "yes" }));
    w.complete_with(&held, "yes").await.lost("expired", "cancelled");
    assert_eq!(w.job(&held.id).await["late_results"], late, "the same one is kept once");
    assert_expired(&w, &held.id).await;
}

#[tokio::test]
async fn late_completion_counts_until_the_expiry() {
    for (later, counts) in [(MS - 1, true), (MS, false)] {
        let (w, id) = question().await;
        let held = w.reserve_with(json!({ "worker": "ann", "lease_ms": 1_000 })).await;
        w.advance_clock(1_000);
        assert_eq!(w.sweep().await["expired"], 1);
        w.advance_clock(later - 1_000);
        let answer = w.complete_with(&held, "yes").await;
        if counts {
            assert_eq!(answer.is(200)["late"], true);
            assert_eq!(w.state(&id).await, "completed");
        } else {
            answer.lost("expired", "cancelled");
            assert_eq!(w.job(&id).await["late_results"][0]["result"], "yes");
        }
        w.check().await;
    }
}

#[tokio::test]
async fn other_settle_calls_are_lost_at_the_expiry() {
    for call in ["abandon", "fail"] {
        let (w, held) = held_question(0).await;
        w.post(&format!("/jobs/{call}"), json!({ "reservation": held.reservation })).await.lost("expired", "cancelled");
        assert_eq!(w.release(&held.id).await, 0);
        assert_expired(&w, &held.id).await;
    }
}

#[tokio::test]
async fn job_that_has_expired_is_not_returned_to_the_line() {
    let (w, held) = held_question(1_000).await;
    w.update_settings(json!({ "backoff": { "type": "fixed", "delay_ms": 5_000 } })).await;
    w.fail(&held).await.is(200);
    assert_eq!(w.state(&held.id).await, "delayed");
    w.advance_clock(5_000);
    w.sweep().await;
    assert_events(&w.events_of(&held.id).await, &["enqueued", "reserved", "failed", "cancelled"]);
    assert_expired(&w, &held.id).await;
}
