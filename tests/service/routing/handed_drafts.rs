//! Whose a draft is when a job is handed over.

use serde_json::{Value, json};

use crate::world::{ReservedJob, World, assert_contains, assert_events};

async fn settle(w: &World, verb: &str, held: &ReservedJob, more: Value) -> Value {
    let mut body = json!({ "reservation": held.reservation });
    body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    w.post(&format!("/jobs/{verb}"), body).await.is(200)
}

async fn draft_of(w: &World, worker: &str) -> Value {
    w.reserve_as(worker).await.body["draft"].clone()
}

#[tokio::test]
async fn draft_of_a_third_person_does_not_go_along() {
    for shares in [false, true] {
        let w = World::start().await;
        w.update_settings(json!({ "share_drafts": shares })).await;
        let id = w.enqueue(1).await;
        settle(&w, "abandon", &w.reserve_as("carol").await, json!({ "draft": "private" })).await;
        settle(&w, "hand-over", &w.reserve_as("ann").await, json!({ "to": "bob" })).await;
        let got = w.reserve_as("bob").await;
        assert_eq!(got.body["draft"], if shares { json!("private") } else { Value::Null });
        settle(&w, "complete", &got, json!({ "undo_ms": 60_000 })).await;
        let undone = settle(&w, "undo", &got, json!({})).await;
        assert_eq!(undone["draft"], got.body["draft"], "as he was shown it");
        settle(&w, "hand-over", &got, json!({ "to": "carol" })).await;
        assert_contains(&w.reserve_as("carol").await.body, json!({ "id": id, "draft": "private" }));
        w.check().await;
    }
}

#[tokio::test]
async fn receiver_has_draft_and_note_until_the_reservation_ends() {
    let w = World::start().await;
    w.stop_clock();
    let id = w.enqueue(1).await;
    let note = json!({ "text": "you know her", "from": "ann" });
    let call = json!({ "to": "bob", "note": "you know her", "draft": "half", "fallback_ms": 60_000 });
    settle(&w, "hand-over", &w.reserve_as("ann").await, call).await;
    let held = w.reserve_as("bob").await;
    w.advance_clock(60_000);
    w.sweep().await;
    let again = w.reserve_as("bob").await;
    assert_contains(&again.body, json!({ "resumed": true, "draft": "half" }));
    assert_contains(&again.body["note"], note.clone());
    w.patch(&format!("/jobs/{id}"), json!({ "assignees": ["bob", "cleo"] })).await.is(200);
    w.sweep().await;
    let again = w.reserve_as("bob").await;
    assert_contains(&again.body, json!({ "draft": "half" }));
    assert_contains(&again.body["note"], note);
    settle(&w, "complete", &held, json!({ "undo_ms": 60_000 })).await;
    assert_eq!(settle(&w, "undo", &held, json!({})).await["draft"], "half");
    settle(&w, "abandon", &held, json!({})).await;
    assert_eq!(w.job(&id).await["handed_to"], Value::Null);
    assert_contains(&w.reserve_as("bob").await.body, json!({ "draft": "half", "note": null }));
    let expected = [
        "enqueued",
        "reserved",
        "handed-over",
        "reserved",
        "resumed",
        "changed",
        "resumed",
        "closing",
        "undone",
        "abandoned",
        "reserved",
    ];
    assert_events(&w.events_of(&id).await, &expected);
    w.check().await;
}

#[tokio::test]
async fn draft_is_no_longer_the_givers_once_it_was_received() {
    let w = World::start().await;
    w.enqueue(1).await;
    settle(&w, "hand-over", &w.reserve_as("ann").await, json!({ "to": "bob", "draft": "hers" })).await;
    settle(&w, "abandon", &w.reserve_as("bob").await, json!({})).await;
    let held = w.reserve_as("ann").await;
    assert_eq!(held.body["draft"], Value::Null);
    settle(&w, "hand-over", &held, json!({ "to": "bob" })).await;
    assert_eq!(draft_of(&w, "bob").await, "hers");
    w.check().await;
}

#[tokio::test]
async fn draft_stays_the_givers_if_it_was_not_received() {
    let w = World::start().await;
    w.stop_clock();
    w.enqueue(1).await;
    let call = json!({ "to": "bob", "draft": "hers", "fallback_ms": 60_000 });
    settle(&w, "hand-over", &w.reserve_as("ann").await, call).await;
    w.advance_clock(60_000);
    w.sweep().await;
    let held = w.reserve_as("cleo").await;
    assert_eq!(held.body["draft"], Value::Null);
    settle(&w, "abandon", &held, json!({})).await;
    assert_eq!(draft_of(&w, "ann").await, "hers");
    w.check().await;
}

#[tokio::test]
async fn callers_without_a_name_never_see_the_draft_of_another() {
    let w = World::start().await;
    w.enqueue(1).await;
    settle(&w, "abandon", &w.reserve().await, json!({ "draft": "private" })).await;
    let held = w.reserve().await;
    assert_eq!(held.body["draft"], Value::Null);
    settle(&w, "complete", &held, json!({ "undo_ms": 60_000 })).await;
    assert_eq!(settle(&w, "undo", &held, json!({})).await["draft"], Value::Null);
    settle(&w, "hand-over", &held, json!({ "to": "bob" })).await;
    let got = w.reserve_as("bob").await;
    assert_eq!(got.body["draft"], Value::Null);
    settle(&w, "abandon", &got, json!({})).await;

    let held = w.reserve().await;
    settle(&w, "extend", &held, json!({ "draft": "my own" })).await;
    settle(&w, "complete", &held, json!({ "undo_ms": 60_000 })).await;
    assert_eq!(settle(&w, "undo", &held, json!({})).await["draft"], "my own");
    settle(&w, "hand-over", &held, json!({ "to": "bob" })).await;
    assert_eq!(draft_of(&w, "bob").await, "my own");
    w.check().await;
}

#[tokio::test]
async fn hand_over_ends_with_its_job_and_its_receiver() {
    let w = World::start().await;
    for end in ["cancel", "expire", "exclude"] {
        let id = w.enqueue_with(json!({ "payload": end, "expires_ms": 600_000 })).await;
        settle(&w, "hand-over", &w.reserve_as("ann").await, json!({ "to": "bob" })).await;
        let path = format!("/jobs/{id}");
        match end {
            "cancel" => w.cancel(&id).await.is(200),
            "expire" => {
                w.advance_clock(600_000);
                w.sweep().await
            }
            _ => w.patch(&path, json!({ "excluded": ["bob"] })).await.is(200),
        };
        assert_eq!(w.job(&id).await["handed_to"], Value::Null, "{end}");
    }
    let held = w.reserve_as("cleo").await;
    assert_eq!(held.body["payload"], "exclude");
    settle(&w, "hand-over", &held, json!({ "to": "dan" })).await;
    let held = w.reserve_as("dan").await;
    w.patch(&format!("/jobs/{}", held.id), json!({ "excluded": ["dan"] })).await.is(200);
    w.complete(&held).await.is(200);
    w.check().await;
}
