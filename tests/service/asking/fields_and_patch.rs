//! The fields: their ranges, their two forms, what a PATCH changes, and what a job shows.

use serde_json::{Value, json};

use crate::world::{Answer, World, assert_contains, assert_events};

const MONTH_MS: u64 = 2_592_000_000;

async fn patch(w: &World, id: &str, body: Value) -> Answer {
    w.patch(&format!("/jobs/{id}"), body).await
}

/// RFC 3339 by Redis's clock.
async fn time(w: &World, later: i64) -> String {
    let ms = i64::try_from(w.engine.now().await).expect("a time") + later;
    jiff::Timestamp::from_millisecond(ms).expect("a time").to_string()
}

#[tokio::test]
async fn times_out_of_range_are_refused_at_their_pointers() {
    let w = World::start().await;
    w.stop_clock();
    let (now, next) = (time(&w, 0).await, time(&w, 60_000).await);
    let (last, beyond) = (time(&w, MONTH_MS as i64).await, time(&w, MONTH_MS as i64 + 1).await);
    let cases = [
        (json!({ "expires_ms": 999 }), "/expires_ms"),
        (json!({ "expires_ms": MONTH_MS + 1 }), "/expires_ms"),
        (json!({ "sla_ms": null }), "/sla_ms"),
        (json!({ "expires_at": "tomorrow" }), "/expires_at"),
        (json!({ "expires_at": now }), "/expires_at"),
        (json!({ "expires_at": beyond }), "/expires_at"),
        (json!({ "sla_at": now }), "/sla_at"),
        (json!({ "sla_at": beyond }), "/sla_at"),
        (json!({ "sla_at": beyond, "breached": true }), "/sla_at"),
        (json!({ "sla_ms": 5_000, "breached": true }), "/breached"),
        (json!({ "breached": false }), "/breached"),
        (json!({ "expires_ms": 5_000, "expires_at": next }), "/expires_at"),
        (json!({ "sla_ms": 5_000, "sla_at": next }), "/sla_at"),
        (json!({ "expires_ms": 5_000, "delay_ms": 5_000 }), "/expires_ms"),
        (json!({ "expires_ms": 60_000, "run_at": next }), "/expires_ms"),
        (json!({ "expires_at": next, "delay_ms": 60_000 }), "/expires_at"),
        (json!({ "expires_at": next, "run_at": next }), "/expires_at"),
    ];
    let batch = w.create_batch(json!({ "jobs": [{ "payload": 0 }], "sealed": false })).await;
    for (fields, pointer) in cases {
        let mut job = fields.clone();
        job["payload"] = json!(1);
        w.send_enqueue(job.clone()).await.invalid_at(&[pointer]);
        let member = format!("/jobs/1{pointer}");
        w.post("/batches", json!({ "jobs": [{ "payload": 0 }, job] })).await.invalid_at(&[&member]);
        w.append(&batch, &[json!({ "payload": 0 }), job]).await.invalid_at(&[&member]);
    }
    assert_eq!(w.queue().await["totals"]["enqueued"], 1);
    let answer = w.post("/jobs", json!([{ "payload": 1, "expires_at": now }, { "payload": 2 }])).await.is(200);
    assert_eq!(answer["jobs"][0]["error"]["errors"][0]["pointer"], "/expires_at", "{answer}");
    w.enqueue_with(json!({ "payload": 3, "expires_at": last, "sla_at": last })).await;
    w.enqueue_with(json!({ "payload": 4, "expires_ms": 5_001, "delay_ms": 5_000 })).await;
    w.check().await;
}

#[tokio::test]
async fn patch_sets_and_removes_expiry_and_sla() {
    let w = World::start().await;
    w.stop_clock();
    let id = w.enqueue(1).await;
    assert_contains(
        &w.job(&id).await,
        json!({ "expires_at": null, "sla_at": null, "breached": false, "cancelled": null }),
    );
    let expires_at = time(&w, 60_000).await;
    let answer = patch(&w, &id, json!({ "expires_ms": 60_000, "sla_ms": 30_000, "priority": 7 })).await.is(200);
    assert_contains(&answer, json!({ "id": id, "state": "waiting", "priority": 7, "breached": false }));
    assert_eq!(answer["expires_at"], w.job(&id).await["expires_at"]);
    w.advance_clock(59_000);
    let named = patch(&w, &id, json!({ "expires_at": expires_at })).await.is(200);
    assert_eq!(named["expires_at"], answer["expires_at"], "the same time in the other form");
    patch(&w, &id, json!({ "expires_ms": 60_000, "sla_ms": null })).await.is(200);
    w.advance_clock(59_999);
    w.sweep().await;
    assert_contains(&w.job(&id).await, json!({ "state": "waiting", "sla_at": null, "breached": false }));
    patch(&w, &id, json!({ "expires_at": null })).await.is(200);
    w.advance_clock(MONTH_MS);
    w.sweep().await;
    assert_contains(&w.job(&id).await, json!({ "state": "waiting", "expires_at": null }));
    let events = ["enqueued", "changed", "sla-breached", "changed", "changed"];
    assert_events(&w.events_of(&id).await, &events);
    w.check().await;
}

#[tokio::test]
async fn patch_cuts_off_a_reservation_and_gives_it_back() {
    let w = World::start().await;
    w.stop_clock();
    let id = w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    assert_eq!(patch(&w, &id, json!({ "expires_ms": 40_000 })).await.is(200)["state"], "reserved");
    let soonest = async || w.queue().await["reservations"]["soonest_expires_in_ms"].clone();
    assert_eq!(soonest().await, 40_000);
    patch(&w, &id, json!({ "expires_ms": 90_000 })).await.is(200);
    assert_eq!(soonest().await, 90_000);
    for later in [json!(2_592_000_000_u64), json!(null)] {
        patch(&w, &id, json!({ "expires_ms": later })).await.is(200);
        assert_eq!(soonest().await, 300_000, "no longer than was granted");
    }
    patch(&w, &id, json!({ "expires_ms": 90_000 })).await.is(200);
    assert_eq!(w.extend(&held).await.is(200)["expires_in_ms"], 90_000);
    w.advance_clock(90_000);
    patch(&w, &id, json!({ "expires_ms": 90_000 })).await.wrong_state("cancelled");
    w.complete_with(&held, "yes").await.lost("expired", "cancelled");
    patch(&w, &id, json!({ "expires_ms": null })).await.wrong_state("cancelled");
    w.check().await;
}

#[tokio::test]
async fn invalid_patch_is_refused_and_changes_nothing() {
    let w = World::start().await;
    w.stop_clock();
    let id = w.enqueue_with(json!({ "payload": 1, "expires_ms": 60_000 })).await;
    let before = w.job(&id).await;
    let (now, next) = (time(&w, 0).await, time(&w, 60_000).await);
    patch(&w, &id, json!({})).await.invalid_at(&["/priority"]);
    patch(&w, &id, json!({ "expires_at": now, "priority": 1 })).await.invalid_at(&["/expires_at"]);
    patch(&w, &id, json!({ "expires_ms": null, "expires_at": next })).await.invalid_at(&["/expires_ms", "/expires_at"]);
    patch(&w, &id, json!({ "sla_ms": 5, "sla_at": next })).await.invalid_at(&["/sla_ms", "/sla_at"]);
    assert_eq!(w.job(&id).await, before);
    let held = w.reserve().await;
    w.complete(&held).await.is(200);
    patch(&w, &id, json!({ "sla_ms": 60_000 })).await.wrong_state("completed");
    w.check().await;
}

#[tokio::test]
async fn cancelled_job_says_whether_it_expired_or_was_withdrawn() {
    let w = World::start().await;
    let (first, second) = (w.enqueue(1).await, w.enqueue_with(json!({ "payload": 2, "expires_ms": 60_000 })).await);
    let third = w.enqueue_with(json!({ "payload": 3, "expires_ms": 60_000 })).await;
    for id in [&first, &second] {
        w.cancel(id).await.is(200);
        assert_eq!(w.job(id).await["cancelled"], json!({ "reason": "withdrawn" }));
    }
    w.advance_clock(60_000);
    w.cancel(&third).await.is(200);
    assert_eq!(w.job(&third).await["cancelled"], json!({ "reason": "expired" }), "it came before the call");
    w.check().await;
}

#[tokio::test]
async fn delayed_job_gets_no_expiry_within_its_delay() {
    let w = World::start().await;
    w.stop_clock();
    let id = w.enqueue_with(json!({ "payload": 1, "delay_ms": 60_000, "expires_ms": 90_000 })).await;
    let before = w.job(&id).await;
    let at = time(&w, 60_000).await;
    for (change, pointer) in [
        (json!({ "expires_ms": 60_000, "priority": 3 }), "/expires_ms"),
        (json!({ "expires_at": at, "assignees": ["ann"] }), "/expires_at"),
    ] {
        let refused = patch(&w, &id, change).await;
        refused.invalid_at(&[pointer]);
        assert_eq!(
            refused.refused("invalid-request")["errors"][0]["detail"],
            "must be later than the end of the delay"
        );
    }
    assert_eq!(w.job(&id).await, before);
    patch(&w, &id, json!({ "expires_ms": 60_001 })).await.is(200);
    w.advance_clock(60_000);
    assert_eq!(w.reserve_as("ann").await.id, id);
    w.check().await;
}

#[tokio::test]
async fn job_is_not_given_back_for_longer_than_it_lives() {
    let w = World::start().await;
    w.stop_clock();
    w.enqueue_with(json!({ "payload": 1, "expires_ms": 60_000 })).await;
    let held = w.reserve_as("ann").await;
    let abandon = async |ms: u64| {
        let call = json!({ "reservation": held.reservation, "delay_ms": ms, "draft": "half", "skip": true });
        w.post("/jobs/abandon", call).await
    };
    abandon(60_000).await.invalid_at(&["/delay_ms"]);
    let job = w.job(&held.id).await;
    assert_contains(&job, json!({ "state": "reserved", "counts": { "abandoned": 0 } }));
    abandon(59_999).await.is(200);
    assert_eq!(w.state(&held.id).await, "delayed");
    w.check().await;
}

#[tokio::test]
async fn backoff_beyond_the_expiry_stays_and_the_job_expires() {
    let w = World::start().await;
    w.stop_clock();
    let backoff = json!({ "type": "fixed", "delay_ms": 60_000 });
    let id = w.enqueue_with(json!({ "payload": 1, "expires_ms": 50_000, "backoff": backoff })).await;
    let held = w.reserve_as("ann").await;
    w.fail(&held).await.is(200);
    let expires_at = w.job(&id).await["expires_at"].clone();
    patch(&w, &id, json!({ "expires_at": expires_at, "skill": "de" })).await.is(200);
    patch(&w, &id, json!({ "expires_ms": 40_000 })).await.invalid_at(&["/expires_ms"]);
    w.advance_clock(50_000);
    w.sweep().await;
    assert_contains(&w.job(&id).await, json!({ "state": "cancelled", "cancelled": { "reason": "expired" } }));
    w.check().await;
}
