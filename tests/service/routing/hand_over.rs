//! A holder hands a job over to another worker, or to those with a skill.

use serde_json::json;

use crate::world::{Answer, ReservedJob, World, assert_contains, assert_events};

async fn hand_over(w: &World, held: &ReservedJob, rest: serde_json::Value) -> Answer {
    let mut body = json!({ "reservation": held.reservation });
    body.as_object_mut().expect("an object").extend(rest.as_object().expect("an object").clone());
    w.post("/jobs/hand-over", body).await
}

#[tokio::test]
async fn receiver_gets_the_job_with_draft_and_note() {
    let w = World::start().await;
    let (first, _) = (w.enqueue(1).await, w.enqueue(2).await);
    let held = w.reserve_as("ann").await;
    let call = json!({ "to": "bob", "note": "look at the date", "draft": { "text": "half" } });
    assert_contains(
        &hand_over(&w, &held, call.clone()).await.is(200),
        json!({ "state": "waiting", "duplicate": false }),
    );
    let shown = w.job(&first).await;
    assert_contains(&shown["handed_to"], json!({ "worker": "bob", "from": "ann" }));
    let other = w.reserve_as("cleo").await;
    assert_ne!(other.id, first, "it is for bob alone");
    let got = w.reserve_as("bob").await;
    assert_contains(&got.body, json!({ "id": first, "attempt": 1, "draft": { "text": "half" } }));
    assert_contains(&got.body["note"], json!({ "text": "look at the date", "from": "ann" }));
    assert_contains(&hand_over(&w, &held, call).await.is(200), json!({ "state": "reserved", "duplicate": true }));
    assert_events(&w.events_of(&first).await, &["enqueued", "reserved", "handed-over", "reserved"]);
    let resumed = w.reserve_as("bob").await;
    assert_contains(&resumed.body, json!({ "resumed": true, "draft": { "text": "half" } }));
    assert_eq!(w.queue().await["totals"]["handed_over"], 1);
    w.check().await;
}

#[tokio::test]
async fn job_keeps_its_place_and_its_attempts() {
    let w = World::start().await;
    let id = w.enqueue(1).await;
    for n in 2..5 {
        w.enqueue_with(json!({ "payload": n, "assignees": ["bob"] })).await;
    }
    let held = w.reserve_as("ann").await;
    hand_over(&w, &held, json!({ "to": "bob" })).await.is(200);
    assert_contains(&w.reserve_as("bob").await.body, json!({ "id": id, "attempt": 1 }));
    assert_eq!(w.job(&id).await["attempts"], 0);
    w.check().await;
}

#[tokio::test]
async fn hand_over_ends_after_fifteen_minutes_or_its_time() {
    let w = World::start().await;
    w.stop_clock();
    for (n, fallback) in [(1, None), (2, Some(60_000_u64))] {
        let id = w.enqueue(n).await;
        let held = w.reserve_as("ann").await;
        let mut to = json!({ "to": "bob" });
        if let Some(ms) = fallback {
            to["fallback_ms"] = json!(ms);
        }
        hand_over(&w, &held, to).await.is(200);
        w.advance_clock(fallback.unwrap_or(900_000) - 1);
        w.sweep().await;
        assert_eq!(w.empty_reason(json!({ "worker": "cleo" })).await, "ineligible");
        w.advance_clock(1);
        w.sweep().await;
        let got = w.reserve_as("cleo").await;
        assert_contains(&got.body, json!({ "id": id, "note": null }));
        w.complete(&got).await.is(200);
        assert_events(
            &w.events_of(&id).await,
            &["enqueued", "reserved", "handed-over", "fallback", "reserved", "completed"],
        );
    }
    w.check().await;
}

#[tokio::test]
async fn job_is_as_before_once_the_receiver_gives_it_back() {
    let w = World::start().await;
    let id = w.enqueue_with(json!({ "payload": 1, "assignees": ["ann", "dan"] })).await;
    let held = w.reserve_as("ann").await;
    hand_over(&w, &held, json!({ "to": "bob" })).await.is(200);
    assert_eq!(w.empty_reason(json!({ "worker": "dan" })).await, "ineligible");
    let got = w.reserve_as("bob").await;
    w.abandon(&got).await.is(200);
    assert_eq!(w.job(&id).await["handed_to"], json!(null));
    assert_eq!(w.empty_reason(json!({ "worker": "bob" })).await, "ineligible");
    assert_eq!(w.reserve_as("dan").await.id, id);
    w.check().await;
}

#[tokio::test]
async fn hand_over_to_a_skill_needs_both_skills() {
    let w = World::start().await;
    let id = w.enqueue_with(json!({ "payload": 1, "skill": "de" })).await;
    let held = w.reserve_with(json!({ "worker": "ann", "skills": ["de"] })).await;
    hand_over(&w, &held, json!({ "skill": "senior" })).await.is(200);
    assert_eq!(w.job(&id).await["handed_to"]["skill"], "senior");
    for skills in [json!(["de"]), json!(["senior"])] {
        assert_eq!(w.empty_reason(json!({ "worker": "bob", "skills": skills })).await, "ineligible");
    }
    assert_eq!(w.reserve_with(json!({ "worker": "bob", "skills": ["senior", "de"] })).await.id, id);
    w.check().await;
}

#[tokio::test]
async fn skip_of_the_receiver_is_taken_back() {
    let w = World::start().await;
    let id = w.enqueue(1).await;
    let held = w.reserve_as("bob").await;
    w.post("/jobs/abandon", json!({ "reservation": held.reservation, "skip": true })).await.is(200);
    assert_eq!(w.empty_reason(json!({ "worker": "bob" })).await, "skipped");
    let held = w.reserve_as("ann").await;
    hand_over(&w, &held, json!({ "to": "bob" })).await.is(200);
    assert_eq!(w.reserve_as("bob").await.id, id);
    w.check().await;
}

#[tokio::test]
async fn excluded_receiver_and_oneself_are_refused() {
    let w = World::start().await;
    let id = w.enqueue_with(json!({ "payload": 1, "excluded": ["bob"] })).await;
    let held = w.reserve_as("ann").await;
    let refused = hand_over(&w, &held, json!({ "to": "bob" })).await;
    assert_eq!(refused.refused("not-eligible")["rule"], "excluded");
    hand_over(&w, &held, json!({ "to": "ann" })).await.invalid_at(&["/to"]);
    assert_eq!(w.state(&id).await, "reserved");
    w.complete(&held).await.is(200);
    w.check().await;
}

#[tokio::test]
async fn same_reservation_is_not_handed_to_another() {
    let w = World::start().await;
    let id = w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    hand_over(&w, &held, json!({ "to": "bob" })).await.is(200);
    for other in [json!({ "to": "carol" }), json!({ "skill": "bob" }), json!({ "to": "ann" })] {
        let refused = hand_over(&w, &held, other).await;
        refused.lost("handed-over", "waiting");
        assert_eq!(refused.json()["detail"], "the job was handed over to the worker bob");
    }
    let again = hand_over(&w, &held, json!({ "to": "bob", "note": "once more" })).await.is(200);
    assert_contains(&again, json!({ "state": "waiting", "duplicate": true }));
    let got = w.reserve_as("bob").await;
    hand_over(&w, &got, json!({ "skill": "de" })).await.is(200);
    let refused = hand_over(&w, &got, json!({ "to": "carol" })).await;
    assert_eq!(refused.json()["detail"], "the job was handed over to those with the skill de");
    // In one call too.
    let third = w.reserve_with(json!({ "worker": "dan", "skills": ["de"] })).await;
    let item = |to: &str| json!({ "reservation": third.reservation, "to": to });
    let both = w.post("/jobs/hand-over", json!([item("bob"), item("carol"), item("bob")])).await.is(200);
    assert_eq!(both["jobs"][1]["error"]["reason"], "handed-over");
    assert_eq!((&both["jobs"][0]["duplicate"], &both["jobs"][2]["duplicate"]), (&json!(false), &json!(true)));
    let got = w.reserve_as("bob").await;
    w.complete(&got).await.is(200);
    hand_over(&w, &third, json!({ "to": "carol" })).await.lost("handed-over", "completed");
    assert_eq!(w.state(&id).await, "completed");
    w.check().await;
}

#[tokio::test]
async fn reservation_that_was_handed_over_is_lost() {
    let w = World::start().await;
    w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    hand_over(&w, &held, json!({ "to": "bob" })).await.is(200);
    w.complete_with(&held, "late").await.lost("handed-over", "waiting");
    w.extend(&held).await.lost("handed-over", "waiting");
    w.check().await;
}

#[tokio::test]
async fn hand_over_at_the_deadline_is_an_expiry() {
    let w = World::start().await;
    w.stop_clock();
    w.enqueue_with(json!({ "payload": 1, "lease_ms": 1_000 })).await;
    let held = w.reserve_as("ann").await;
    w.advance_clock(1_000);
    hand_over(&w, &held, json!({ "to": "bob" })).await.lost("expired", "waiting");
    w.reserve_as("cleo").await;
    w.check().await;
}

#[tokio::test]
async fn lock_is_free_while_the_job_waits_for_its_receiver() {
    let w = World::start().await;
    let id = w.enqueue_with(json!({ "payload": 1, "locks": ["desk"] })).await;
    let other = w.enqueue_with(json!({ "payload": 2, "locks": ["desk"] })).await;
    let held = w.reserve_as("ann").await;
    assert_eq!(w.empty_reason(json!({ "worker": "cleo" })).await, "blocked");
    hand_over(&w, &held, json!({ "to": "bob" })).await.is(200);
    let second = w.reserve_as("cleo").await;
    assert_eq!(second.id, other);
    assert_eq!(w.empty_reason(json!({ "worker": "bob" })).await, "blocked");
    w.complete(&second).await.is(200);
    assert_eq!(w.reserve_as("bob").await.id, id);
    w.check().await;
}

#[tokio::test]
async fn second_hand_over_replaces_the_first() {
    let w = World::start().await;
    let id = w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    hand_over(&w, &held, json!({ "to": "bob", "note": "one" })).await.is(200);
    let held = w.reserve_as("bob").await;
    hand_over(&w, &held, json!({ "to": "cleo", "note": "two" })).await.is(200);
    let got = w.reserve_as("cleo").await;
    assert_contains(&got.body["note"], json!({ "text": "two", "from": "bob" }));
    w.complete(&got).await.is(200);
    assert_eq!(w.state(&id).await, "completed");
    w.check().await;
}
