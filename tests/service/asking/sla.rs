//! An SLA that is over is reported once and counted, and nothing moves.

use serde_json::json;

use crate::world::{World, assert_contains, assert_events, id_of};

#[tokio::test]
async fn breached_sla_has_one_event_and_moves_nothing() {
    let w = World::start().await;
    w.stop_clock();
    let id = w.enqueue_with(json!({ "payload": 1, "sla_ms": 30_000, "expires_ms": 60_000 })).await;
    let other = w.enqueue_with(json!({ "payload": 2, "sla_ms": 30_001 })).await;
    w.advance_clock(29_999);
    w.sweep().await;
    assert_contains(&w.job(&id).await, json!({ "breached": false }));
    w.advance_clock(1);
    w.sweep().await;
    w.sweep().await;
    assert_contains(&w.job(&id).await, json!({ "state": "waiting", "breached": true }));
    assert_events(&w.events_of(&id).await, &["enqueued", "sla-breached"]);
    assert_eq!(w.queue().await["totals"]["breached"], 1);
    let listed = w.get("/queues/default/jobs?state=waiting&breached=true").await.is(200);
    let listed: Vec<_> = listed["jobs"].as_array().expect("jobs").iter().map(id_of).collect();
    assert_eq!(listed, std::slice::from_ref(&id));
    assert_eq!(w.list_ids("waiting").await, [id.clone(), other]);
    let held = w.reserve_as("ann").await;
    assert_eq!((held.id.clone(), held.number("expires_in_ms")), (id, 30_000));
    w.complete_with(&held, "yes").await.is(200);
    w.check().await;
}

#[tokio::test]
async fn late_end_breaches_the_sla_before_a_sweep() {
    for (later, breached) in [(29_999, 0), (30_000, 1)] {
        let w = World::start().await;
        w.stop_clock();
        let id = w.enqueue_with(json!({ "payload": 1, "sla_ms": 30_000 })).await;
        let held = w.reserve_as("ann").await;
        w.advance_clock(later);
        w.complete(&held).await.is(200);
        w.sweep().await;
        assert_eq!(w.queue().await["totals"]["breached"], breached, "{later}");
        assert_eq!(w.job(&id).await["breached"], breached == 1);
        w.check().await;
    }
}

#[tokio::test]
async fn new_sla_is_breached_again() {
    let w = World::start().await;
    let id = w.enqueue_with(json!({ "payload": 1, "sla_ms": 30_000 })).await;
    for round in 1..=3 {
        w.advance_clock(30_000);
        w.sweep().await;
        assert_eq!(w.queue().await["totals"]["breached"], round);
        let answer = w.patch(&format!("/jobs/{id}"), json!({ "sla_ms": 30_000 })).await.is(200);
        assert_eq!(answer["breached"], false);
    }
    w.check().await;
}

#[tokio::test]
async fn sla_at_the_expiry_or_later_never_fires() {
    let w = World::start().await;
    for sla_ms in [60_000, 90_000] {
        w.enqueue_with(json!({ "payload": sla_ms, "sla_ms": sla_ms, "expires_ms": 60_000 })).await;
    }
    let early = w.enqueue_with(json!({ "payload": 1, "sla_ms": 59_999, "expires_ms": 60_000 })).await;
    w.advance_clock(90_000);
    w.sweep().await;
    assert_eq!(w.queue().await["totals"]["breached"], 1);
    assert_events(&w.events_of(&early).await, &["enqueued", "sla-breached", "cancelled"]);
    w.check().await;
}

#[tokio::test]
async fn background_sweep_tells_in_time() {
    let w = World::plan().sweep_every(50).start().await;
    let id = w.enqueue_with(json!({ "payload": 1, "sla_ms": 60_000, "expires_ms": 120_000 })).await;
    w.advance_clock(60_000);
    crate::world::eventually("the SLA is breached", async || w.job(&id).await["breached"].as_bool().filter(|is| *is))
        .await;
    w.advance_clock(60_000);
    let gone =
        crate::world::eventually("it expires", async || Some(w.state(&id).await).filter(|state| state == "cancelled"));
    gone.await;
    w.check().await;
}
