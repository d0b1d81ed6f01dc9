//! Deliveries that are not taken: when they are tried again, and under which id.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::{
    webhooks::{SECRET, line},
    world::{
        World, assert_contains, eventually,
        receiver::{Reaction, Receiver},
    },
};

const HOUR: u64 = 3_600_000;

async fn complete_one(w: &World, payload: impl Into<Value>) -> String {
    let id = w.enqueue_with(json!({ "payload": payload.into(), "dedupe": false })).await;
    let held = w.reserve().await;
    w.complete(&held).await.is(200);
    id
}

async fn deliveries(w: &World, state: &str) -> Vec<Value> {
    let page = w.get(&format!("/webhooks/shop/deliveries?queue=default&state={state}")).await.is(200);
    page["deliveries"].as_array().expect("a list").clone()
}

async fn webhook(w: &World) -> Value {
    w.get("/webhooks").await.is(200)["webhooks"][0].clone()
}

/// Looks for deliveries that are due by a clock that was moved.
async fn nudge(w: &World) {
    w.post("/webhooks/shop/redeliver", json!({ "queue": "default" })).await.is(200);
}

async fn shop(receiver: &Receiver) -> World {
    World::plan().own_process().with_webhooks([line("shop", receiver, "*", "completed")]).start().await
}

#[tokio::test]
async fn outage_of_two_hours_loses_nothing_and_doubles_nothing() {
    let mut receiver = Receiver::start().await;
    let w = shop(&receiver).await;
    receiver.go_down().await;
    let mut ids = BTreeSet::new();
    for n in 0..20 {
        ids.insert(complete_one(&w, n).await);
    }
    eventually("it fails", async || (webhook(&w).await["state"] == "failing").then_some(())).await;
    let waiting =
        eventually("all wait", async || Some(deliveries(&w, "waiting").await).filter(|all| all.len() == 20)).await;
    let expected: BTreeSet<_> = waiting.iter().map(|delivery| delivery["webhook_id"].clone().to_string()).collect();
    w.advance_clock(2 * HOUR);
    let state = webhook(&w).await;
    assert!(
        state["oldest_ms"].as_u64().expect("an age") >= 2 * HOUR && state["last_error"] == "connection refused",
        "{state}"
    );
    receiver.come_back().await;
    // The webhook pauses for 30 s, unless its line changes.
    let file = w.folder().join("webhooks");
    std::fs::write(&file, line("shop", &receiver, "*", "completed,dead")).expect("written");
    nudge(&w).await;
    receiver.wait_for(20).await;
    eventually("all are taken", async || (webhook(&w).await["waiting"] == 0).then_some(())).await;
    let posted = receiver.posted();
    assert_eq!(posted.iter().map(|posted| posted.job().to_owned()).collect::<BTreeSet<_>>(), ids);
    let delivered: BTreeSet<_> = posted.iter().map(|posted| json!(posted.id).to_string()).collect();
    assert_eq!((posted.len(), delivered), (20, expected));
    assert!(posted.iter().all(|posted| posted.is_signed_by(SECRET)));
}

#[tokio::test]
async fn test_that_is_taken_ends_failing() {
    let receiver = Receiver::start().await;
    let w = shop(&receiver).await;
    receiver.react(|_| Reaction::Status(500));
    for n in 0..20 {
        complete_one(&w, n).await;
    }
    eventually("it fails", async || (webhook(&w).await["state"] == "failing").then_some(())).await;
    let not_tried = async || {
        let all = deliveries(&w, "waiting").await;
        all.iter().filter(|delivery| delivery["attempts"] == 0).count()
    };
    let waiting =
        eventually("some wait for the pause", async || Some(not_tried().await).filter(|count| *count > 0)).await;
    let before = receiver.posted().len();
    w.post("/webhooks/shop/test", json!({})).await.is(200);
    assert_eq!(webhook(&w).await["state"], "failing", "this one was refused");
    receiver.react(|_| Reaction::Status(204));
    let tested = async || {
        let answer = w.post("/webhooks/shop/test", json!({})).await;
        (answer.status == 200).then(|| assert_eq!(answer.json()["status"], 204))
    };
    eventually("a test may be sent", tested).await;
    assert_eq!(webhook(&w).await["state"], "ok");
    receiver.wait_for(before + 2 + waiting).await;
    eventually("they are taken", async || (not_tried().await == 0).then_some(())).await;
}

#[tokio::test]
async fn refused_delivery_is_sent_again_under_its_id_and_not_early() {
    let receiver = Receiver::start().await;
    let w = shop(&receiver).await;
    receiver.react(|_| Reaction::Status(500));
    complete_one(&w, 1).await;
    receiver.wait_for(1).await;
    let delivery =
        eventually("it is put off", async || deliveries(&w, "waiting").await.pop().filter(|one| one["attempts"] == 1));
    let delivery = delivery.await;
    assert_eq!((&delivery["last_status"], &delivery["last_error"]), (&json!(500), &json!(null)));
    w.stop_clock();
    receiver.react(|_| Reaction::Status(204));
    w.advance_clock(4_000);
    nudge(&w).await;
    // Another event is delivered meanwhile, which the first would have been before.
    complete_one(&w, 2).await;
    receiver.wait_for(2).await;
    w.advance_clock(2_000);
    nudge(&w).await;
    let posted = receiver.wait_for(3).await;
    assert_eq!((&posted[0].id, posted[1].id == posted[0].id), (&posted[2].id, false), "{posted:?}");
    assert!(posted[2].timestamp >= posted[0].timestamp && posted[2].is_signed_by(SECRET));
    assert_eq!(posted[0].text, posted[2].text, "the stored bytes");
}

#[tokio::test]
async fn longer_retry_after_counts_and_garbage_does_not() {
    let receiver = Receiver::start().await;
    let w = shop(&receiver).await;
    let next_ms = async |value: &'static str| {
        receiver.react(move |_| Reaction::With(503, "retry-after", value.to_owned()));
        let id = complete_one(&w, value).await;
        let found = async || {
            let all = deliveries(&w, "waiting").await;
            all.into_iter().find(|one| one["job"] == id && one["attempts"] == 1).map(|one| one["next_at"].clone())
        };
        let at = eventually("it is put off", found).await;
        let at: jiff::Timestamp = at.as_str().expect("a time").parse().expect("a time");
        at.as_millisecond() - i64::try_from(w.engine.now().await).expect("a time")
    };
    for (value, min, max) in [
        ("120", 100_000, 120_000),
        ("1", 0, 5_600),
        ("soon", 0, 5_600),
        // At most a day counts.
        ("31536000", 86_000_000, 86_400_000),
    ] {
        let ms = next_ms(value).await;
        assert!((min..=max).contains(&ms), "{value}: {ms}");
        // So that the webhook does not pause.
        receiver.react(|_| Reaction::Status(204));
        let taken = complete_one(&w, "taken").await;
        eventually("it is taken", async || receiver.posted().iter().any(|posted| posted.job() == taken).then_some(()))
            .await;
    }
}

#[tokio::test]
async fn redirect_is_a_failure_and_is_not_followed() {
    let (receiver, other) = (Receiver::start().await, Receiver::start().await);
    let w = shop(&receiver).await;
    let place = other.url();
    receiver.react(move |_| Reaction::With(307, "location", place.clone()));
    complete_one(&w, 1).await;
    let delivery =
        eventually("it fails", async || deliveries(&w, "waiting").await.pop().filter(|one| one["attempts"] == 1)).await;
    assert_eq!(delivery["last_status"], 307);
    assert!(other.posted().is_empty());
}

#[tokio::test]
async fn gone_receiver_stops_the_webhook_until_it_is_started_again() {
    let receiver = Receiver::start().await;
    let w = shop(&receiver).await;
    receiver.react(|_| Reaction::Status(410));
    complete_one(&w, 1).await;
    eventually("it rests", async || (webhook(&w).await["state"] == "gone").then_some(())).await;
    receiver.react(|_| Reaction::Status(204));
    complete_one(&w, 2).await;
    eventually("both wait", async || (webhook(&w).await["waiting"] == 2).then_some(())).await;
    assert_eq!(receiver.posted().len(), 1, "nothing is sent while it rests");
    nudge(&w).await;
    let posted = receiver.wait_for(3).await;
    assert_eq!(posted.iter().filter(|one| one.id == posted[0].id).count(), 2, "{posted:?}");
    eventually("it continues", async || (webhook(&w).await["state"] == "ok").then_some(())).await;
}

#[tokio::test]
async fn delivery_fails_after_ten_attempts_and_is_sent_again_on_demand() {
    let receiver = Receiver::start().await;
    let w = shop(&receiver).await;
    receiver.react(|posted| Reaction::Status(if posted.body["data"]["payload"] == "poison" { 400 } else { 204 }));
    let poison = complete_one(&w, "poison").await;
    w.stop_clock();
    for attempt in 1..=10 {
        let tries = async || receiver.posted().iter().filter(|posted| posted.job() == poison).count() == attempt;
        eventually("the next attempt", async || tries().await.then_some(())).await;
        // A success between two failures.
        let taken = complete_one(&w, attempt).await;
        eventually("it is taken", async || receiver.posted().iter().any(|posted| posted.job() == taken).then_some(()))
            .await;
        let counted = async || {
            let all = [deliveries(&w, "waiting").await, deliveries(&w, "failed").await].concat();
            all.into_iter().find(|one| one["attempts"] == attempt)
        };
        let delivery = eventually("it is counted", counted).await;
        assert_eq!(delivery["failed_at"].is_null(), attempt < 10, "{delivery}");
        if attempt < 10 {
            w.advance_clock(27 * HOUR);
            nudge(&w).await;
        }
    }
    eventually("it waits no longer", async || {
        let hook = webhook(&w).await;
        (hook["failed"] == 1 && hook["waiting"] == 0).then_some(())
    })
    .await;
    receiver.react(|_| Reaction::Status(204));
    let failed = deliveries(&w, "failed").await.remove(0);
    let again = json!({ "queue": "default", "webhook_id": failed["webhook_id"] });
    assert_eq!(w.post("/webhooks/shop/redeliver", again).await.is(200), json!({ "redelivered": 1 }));
    let listed = w.get("/queues/default/actions").await.is(200);
    let what = json!({ "webhook": "shop", "webhook_id": failed["webhook_id"] });
    assert_contains(&listed["actions"][0], json!({ "action": "redeliver", "count": 1, "parameters": what }));
    eventually("it is taken", async || {
        (webhook(&w).await["failed"] == 0 && webhook(&w).await["waiting"] == 0).then_some(())
    })
    .await;
    let counts: Vec<_> = receiver.counts().into_values().filter(|count| *count > 1).collect();
    assert_eq!(counts, [11]);
}

#[tokio::test]
async fn clock_jump_forgets_no_webhook_that_is_in_use() {
    let receiver = Receiver::start().await;
    let w = shop(&receiver).await;
    receiver.react(|_| Reaction::Status(410));
    complete_one(&w, 1).await;
    eventually("it is gone", async || (webhook(&w).await["state"] == "gone").then_some(())).await;
    w.advance_clock(48 * HOUR);
    let state = webhook(&w).await;
    assert_eq!((&state["state"], &state["last_status"]), (&json!("gone"), &json!(410)), "{state}");
    receiver.react(|_| Reaction::Status(204));
    nudge(&w).await;
    // The first event of a queue, right after the jump.
    let job = w.enqueue_with(json!({ "queue": "new", "payload": 1 })).await;
    let held = w.reserve_with(json!({ "queues": ["new"] })).await;
    w.complete(&held).await.is(200);
    eventually("it is delivered", async || receiver.posted().iter().any(|posted| posted.job() == job).then_some(()))
        .await;
}

#[tokio::test]
async fn killed_instance_sends_under_the_same_id_again() {
    let receiver = Receiver::start().await;
    let mut w = shop(&receiver).await;
    receiver.react(|_| Reaction::Silence);
    let id = complete_one(&w, 1).await;
    receiver.wait_for(1).await;
    w.service.kill();
    receiver.react(|_| Reaction::Status(204));
    w.advance_clock(61_000);
    w.restart().await;
    let posted = receiver.wait_for(2).await;
    assert_eq!((posted[0].id.as_str(), posted[1].job()), (posted[1].id.as_str(), id.as_str()));
    eventually("it is taken", async || (webhook(&w).await["waiting"] == 0).then_some(())).await;
}

#[tokio::test]
async fn waiting_deliveries_go_to_the_new_url_with_the_new_secret() {
    let (old, new) = (Receiver::start().await, Receiver::start().await);
    let w = shop(&old).await;
    old.react(|_| Reaction::Status(500));
    complete_one(&w, 1).await;
    eventually("it fails", async || deliveries(&w, "waiting").await.pop().filter(|one| one["attempts"] == 1)).await;
    let file = w.folder().join("webhooks");
    let other = line("shop", &new, "*", "completed,dead").replace(SECRET, crate::webhooks::OTHER_SECRET);
    std::fs::write(&file, other).expect("written");
    eventually("the new line counts", async || (webhook(&w).await["types"][1] == "dead").then_some(())).await;
    // What is sent for the first time shows that the new line is in use.
    complete_one(&w, 2).await;
    new.wait_for(1).await;
    w.advance_clock(6_000);
    nudge(&w).await;
    let posted = new.wait_for(2).await.remove(1);
    assert!(posted.is_signed_by(crate::webhooks::OTHER_SECRET) && !posted.is_signed_by(SECRET));
    assert_eq!(posted.id, old.posted()[0].id);
}

#[tokio::test]
async fn job_that_is_forgotten_meanwhile_is_delivered_whole() {
    let mut receiver = Receiver::start().await;
    let w = shop(&receiver).await;
    w.update_settings(json!({ "retention_ms": 60_000 })).await;
    receiver.go_down().await;
    let id = complete_one(&w, "kept").await;
    eventually("it is put off", async || {
        deliveries(&w, "waiting").await.pop().filter(|delivery| delivery["attempts"] == 1)
    })
    .await;
    w.advance_clock(2 * HOUR);
    w.sweep().await;
    w.get(&format!("/jobs/{id}")).await.refused("unknown-job");
    receiver.come_back().await;
    nudge(&w).await;
    let posted = receiver.wait_for(1).await.remove(0);
    assert_eq!((posted.job(), &posted.body["data"]["payload"]), (id.as_str(), &json!("kept")), "{posted:?}");
}
