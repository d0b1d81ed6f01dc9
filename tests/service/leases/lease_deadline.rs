//! The 300 seconds: live before the deadline, over at it, swept or not.

use serde_json::json;

use crate::world::{World, assert_contains, assert_events, number};

#[tokio::test]
async fn lease_expires_after_300_seconds_to_the_same_place() {
    let w = World::start().await;
    w.stop_clock();
    let (first, second) = (w.enqueue(1).await, w.enqueue(2).await);
    let place = w.score_of(&first).await;
    let held = w.reserve_as("ann").await;
    assert_contains(&held.body, json!({ "expires_in_ms": 300_000, "warn_in_ms": 240_000 }));

    w.advance_clock(299_000);
    assert_eq!(w.sweep().await["expired"], 0);
    assert_contains(&w.job(&first).await, json!({ "state": "reserved", "reserved": { "worker": "ann" } }));
    w.advance_clock(1_000);
    assert_eq!(w.sweep().await, json!({ "expired": 1, "due": 0, "dead": 0, "forgotten": 0 }));
    assert_contains(
        &w.job(&first).await,
        json!({ "state": "waiting", "reserved": null, "attempts": 1, "counts": { "handed_out": 1, "expired": 1 } }),
    );
    assert_eq!(w.score_of(&first).await, place);
    assert!(w.has_dedupe_key(&first).await);
    assert_events(&w.events_of(&first).await, &["enqueued", "reserved", "expired"]);
    w.extend(&held).await.lost("expired", "waiting");
    w.abandon(&held).await.lost("expired", "waiting");
    w.fail(&held).await.lost("expired", "waiting");
    let again = w.reserve().await;
    assert_eq!((again.id, again.body["attempt"].clone()), (first, json!(2)));
    assert_eq!(w.reserve().await.id, second);
    w.check().await;
}

#[tokio::test]
async fn lease_ends_exactly_at_its_last_millisecond() {
    let w = World::start().await;
    w.stop_clock();
    let delayed = w.enqueue_with(json!({ "payload": 1, "delay_ms": 299_999 })).await;
    w.enqueue_many((2..6).map(|n| json!({ "payload": n, "priority": n }))).await;
    let held = w.reserve_all(json!({ "limit": 4 })).await;
    w.advance_clock(299_998);
    assert_eq!(w.sweep().await["due"], 0);
    w.advance_clock(1);
    assert_eq!(w.sweep().await, json!({ "expired": 0, "due": 1, "dead": 0, "forgotten": 0 }), "due at t is ready at t");
    assert_eq!(w.reserve().await.id, delayed);
    assert_eq!(w.empty_reason(json!({})).await, "reserved");
    assert_contains(&w.queue().await["reservations"], json!({ "live": 5, "overdue": 0, "soonest_expires_in_ms": 1 }));
    assert_eq!(w.complete(&held[0]).await.is(200)["late"], false);
    w.advance_clock(1);
    assert_contains(&w.queue().await["reservations"], json!({ "live": 1, "overdue": 3 }));
    w.extend(&held[1]).await.lost("expired", "waiting");
    assert_eq!(w.complete(&held[2]).await.is(200)["late"], true);
    assert_eq!(w.reserve().await.id, held[1].id);
    w.fail(&held[3]).await.lost("expired", "waiting");
    w.check().await;
}

#[tokio::test]
async fn lease_expires_without_a_sweep() {
    let w = World::start().await;
    w.stop_clock();
    let id = w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    w.advance_clock(299_000);
    assert_eq!(w.empty_reason(json!({ "worker": "bob" })).await, "reserved");
    w.advance_clock(1_000);
    let taken = w.reserve_as("bob").await;
    assert_eq!(taken.id, id, "a reserve takes what is overdue");
    w.extend(&held).await.lost("expired", "reserved");
    w.complete(&held).await.lost("expired", "reserved");
    w.advance_clock(300_000);
    w.extend(&taken).await.lost("expired", "waiting");
    w.check().await;
}

#[tokio::test]
async fn extend_restarts_the_lease() {
    let w = World::start().await;
    w.stop_clock();
    let id = w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    for _ in 0..3 {
        w.advance_clock(200_000);
        let answer = w.extend(&held).await.is(200);
        assert_contains(&answer, json!({ "id": id, "state": "reserved", "expires_in_ms": 300_000 }));
    }
    let longer = w.post("/jobs/extend", json!({ "reservation": held.reservation, "lease_ms": 900_000 })).await.is(200);
    assert_eq!(longer["expires_in_ms"], 900_000);
    w.advance_clock(899_000);
    w.complete(&held).await.is(200);
    assert_events(
        &w.events_of(&id).await,
        &["enqueued", "reserved", "extended", "extended", "extended", "extended", "completed"],
    );
    assert_contains(&w.job(&id).await, json!({ "counts": { "handed_out": 1, "expired": 0 } }));
    w.check().await;
}

#[tokio::test]
async fn extend_stops_at_max_hold() {
    let w = World::start().await;
    w.update_settings(json!({ "max_hold_ms": 400_000 })).await;
    w.enqueue(1).await;
    let held = w.reserve().await;
    w.advance_clock(250_000);
    let left = number(&w.extend(&held).await.is(200), "expires_in_ms");
    assert!((140_000..=150_000).contains(&left), "{left}");
    w.update_settings(json!({ "max_hold_ms": 0 })).await;
    assert_eq!(w.extend(&held).await.is(200)["expires_in_ms"], 300_000, "0 is no limit");
    w.check().await;
}

#[tokio::test]
async fn lease_is_taken_from_call_job_or_queue() {
    let w = World::start().await;
    w.stop_clock();
    w.update_settings(json!({ "lease_ms": 20_000, "warn_ms": 5_000 })).await;
    w.enqueue(1).await;
    w.enqueue_with(json!({ "payload": 2, "lease_ms": 10_000 })).await;
    w.enqueue_with(json!({ "payload": 3, "lease_ms": 10_000 })).await;
    assert_contains(&w.reserve().await.body, json!({ "expires_in_ms": 20_000, "warn_in_ms": 15_000 }));
    assert_contains(&w.reserve().await.body, json!({ "expires_in_ms": 10_000, "warn_in_ms": 5_000 }));
    let held = w.reserve_with(json!({ "lease_ms": 2_000 })).await;
    assert_contains(&held.body, json!({ "expires_in_ms": 2_000, "warn_in_ms": 0 }));
    w.advance_clock(1_000);
    assert_eq!(w.extend(&held).await.is(200)["expires_in_ms"], 2_000, "an extension is as long as the hand-out was");
    w.check().await;
}

#[tokio::test]
async fn changed_lease_setting_applies_to_jobs_without_their_own() {
    let w = World::start().await;
    w.enqueue(1).await;
    w.enqueue(2).await;
    assert_eq!(w.reserve().await.number("expires_in_ms"), 300_000);
    w.update_settings(json!({ "lease_ms": 60_000 })).await;
    assert_eq!(w.reserve().await.number("expires_in_ms"), 60_000);
    w.check().await;
}

#[tokio::test]
async fn expiry_of_the_last_attempt_moves_the_job_to_dead() {
    let w = World::start().await;
    let id = w.enqueue_with(json!({ "payload": 1, "max_attempts": 2 })).await;
    let place = w.score_of(&id).await;
    for expired in 1..=2 {
        assert_eq!(w.reserve().await.number("attempt"), expired);
        w.advance_clock(300_000);
        let swept = w.sweep().await;
        assert_eq!((&swept["expired"], &swept["dead"]), (&json!(1), &json!(expired - 1)));
    }
    let job = w.job(&id).await;
    assert_contains(
        &job,
        json!({ "state": "dead", "attempts": 2, "counts": { "handed_out": 2, "expired": 2 }, "payload": 1 }),
    );
    assert!(job["ended_at"].is_string());
    assert!(!w.has_dedupe_key(&id).await, "the dead hold no key");
    assert_eq!(w.score_of(&id).await, place, "kept, to look at");
    assert_events(&w.events_of(&id).await, &["enqueued", "reserved", "expired", "reserved", "expired", "dead"]);
    assert_eq!(w.empty_reason(json!({})).await, "empty");
    w.advance_clock(10 * 86_400_000);
    w.sweep().await;
    assert_eq!(w.state(&id).await, "dead", "a dead job stays");
    w.check().await;
}

#[tokio::test]
async fn queue_max_attempts_applies_to_jobs_without_their_own() {
    let w = World::start().await;
    let (own, queues, without) = (
        w.enqueue_with(json!({ "payload": 1, "max_attempts": 2 })).await,
        w.enqueue(2).await,
        w.enqueue_with(json!({ "payload": 3, "max_attempts": 0 })).await,
    );
    w.update_settings(json!({ "max_attempts": 1 })).await;
    w.reserve_all(json!({ "limit": 3 })).await;
    w.advance_clock(300_000);
    assert_eq!(w.sweep().await["dead"], 1);
    assert_eq!((w.state(&own).await, w.state(&queues).await), ("waiting".into(), "dead".into()));
    assert_eq!(w.state(&without).await, "waiting", "0 is no limit and overrides the queue");
    w.check().await;
}

#[tokio::test]
async fn sweeper_expires_promotes_and_forgets() {
    let w = World::plan().sweep_every(20).start().await;
    w.update_settings(json!({ "retention_ms": 10_000 })).await;
    let held = w.enqueue(1).await;
    let delayed = w.enqueue_with(json!({ "payload": 2, "delay_ms": 200_000 })).await;
    w.reserve().await;
    let done = w.enqueue(3).await;
    w.complete(&w.reserve().await).await.is(200);
    w.advance_clock(300_000);
    crate::world::eventually("the sweep comes by", async || {
        let back = w.state(&held).await == "waiting" && w.state(&delayed).await == "waiting";
        (back && w.get(&format!("/jobs/{done}")).await.status == 404).then_some(())
    })
    .await;
    w.check().await;
}
