//! An operator means some of the jobs of a state: of a client, of a batch, with a certain error; and goes on where the call
//! before has come to.

use serde_json::{Value, json};

use crate::world::{World, batch_verbs::items, number};

/// Dead ones of two clients, every third by a timeout.
async fn with_the_dead(w: &World, count: usize) {
    w.update_settings(json!({ "max_attempts": 1 })).await;
    let job = |n: usize| json!({ "payload": n, "client": if n.is_multiple_of(2) { "acme" } else { "other" } });
    w.enqueue_many((0..count).map(job)).await;
    loop {
        let held = w.reserve_all(json!({ "limit": 100 })).await;
        if held.is_empty() {
            return;
        }
        let why = |payload: &Value| {
            if payload.as_u64().is_some_and(|n| n.is_multiple_of(3)) { "a (timeout) of" } else { "boom" }
        };
        let fail = |held: &crate::world::ReservedJob| json!({ "reservation": held.reservation, "error": why(&held.body["payload"]) });
        w.post("/jobs/fail", held.iter().map(fail).collect()).await.is(200);
    }
}

async fn dead(w: &World) -> u64 {
    number(&w.queue().await["counts"], "dead")
}

#[tokio::test]
async fn those_of_a_client_or_with_an_error_are_requeued_and_no_others() {
    let w = World::start().await;
    with_the_dead(&w, 600).await;
    let requeue = async |what: Value| w.post("/jobs/requeue", what).await;
    let of = json!({ "queue": "default", "client": "acme", "error": "(timeout)" });
    assert_eq!(requeue(of).await.is(200), json!({ "requeued": 100, "more": false, "next": null }));
    assert_eq!(requeue(json!({ "queue": "default", "client": "nobody" })).await.is(200)["requeued"], 0);
    assert_eq!(requeue(json!({ "queue": "default", "error": "boom" })).await.is(200)["requeued"], 400);
    assert_eq!(dead(&w).await, 100);
    requeue(json!({ "queue": "default", "error": "" })).await.invalid_at(&["/error"]);
    requeue(json!({ "queue": "default", "after": "7" })).await.invalid_at(&["/after"]);
    requeue(json!({ "queue": "default", "batch": "other-01KAJ3V7Q2M8Z4R6T9XW5Y0000" })).await.invalid_at(&["/batch"]);
    w.check().await;
}

#[tokio::test]
async fn those_of_a_client_or_with_an_error_are_removed_and_no_others() {
    let w = World::start().await;
    with_the_dead(&w, 300).await;
    let batch = w.create_batch(json!({ "jobs": items(0..3), "client": "acme" })).await;
    w.enqueue_with(json!({ "payload": "mine", "client": "acme" })).await;
    let purge = async |query: &str| w.delete(&format!("/queues/default?{query}")).await;
    assert_eq!(purge("state=dead&client=acme&error=%28timeout%29").await.is(200)["removed"], 50);
    assert_eq!(dead(&w).await, 250);
    assert_eq!(purge(&format!("state=waiting&batch={batch}")).await.is(200)["removed"], 3);
    assert_eq!(purge("state=all&client=acme").await.is(200)["removed"], 101);
    assert_eq!(dead(&w).await, 150);
    purge("state=dead&error=").await.invalid_by("parameter", &["error"]);
    purge("state=dead&after=zz").await.invalid_by("parameter", &["after"]);
    purge("state=dead&batch=other-01KAJ3V7Q2M8Z4R6T9XW5Y0000").await.invalid_by("parameter", &["batch"]);
    w.check().await;
}

#[tokio::test]
async fn a_call_that_leaves_some_says_where_the_next_goes_on() {
    let w = World::start().await;
    let of = |client: &'static str, part: usize| {
        (0..1_000).map(move |n| json!({ "payload": [part, n], "client": client, "priority": if client == "goes" { 9 } else { 0 } }))
    };
    for part in 0..11 {
        w.enqueue_many(of("goes", part)).await;
    }
    for part in 11..13 {
        w.enqueue_many(of("stays", part)).await;
    }
    let first = w.delete("/queues/default?state=waiting&client=goes").await.is(200);
    assert_eq!((&first["removed"], &first["more"]), (&json!(10_000), &json!(true)));
    let next = first["next"].as_str().expect("where to go on");
    let mut meter = w.meter().await;
    let second = w.delete(&format!("/queues/default?state=waiting&client=goes&after={next}")).await.is(200);
    assert_eq!(second, json!({ "removed": 1_000, "more": false, "next": null }));
    let steps = meter.assert_bounded("the rest of a purge", &w.engine).await.len();
    assert!(steps <= 12, "it goes on behind those that stay: {steps} scripts for 1,000 jobs");
    w.check().await;
}

#[tokio::test]
async fn those_that_stay_are_looked_at_once_a_call() {
    let w = World::start().await;
    with_the_dead(&w, 1_000).await;
    let mut meter = w.meter().await;
    w.delete("/queues/default?state=dead&client=nobody").await.is(200);
    let walked = meter.assert_bounded("a purge of nobody's", &w.engine).await.len();
    w.post("/jobs/requeue", json!({ "queue": "default", "client": "nobody" })).await.is(200);
    let looked = meter.assert_bounded("a requeue of nobody's", &w.engine).await.len();
    assert!(walked <= 7 && looked <= 7, "200 a script: {walked} and {looked} scripts for 1,000 jobs");
    w.check().await;
}

#[tokio::test]
async fn what_is_shown_is_what_would_be_changed() {
    let w = World::start().await;
    with_the_dead(&w, 30).await;
    let shown = async |state: &str, only: &str| {
        let page = w.get(&format!("/queues/default/jobs?state={state}&limit=100&{only}")).await.is(200);
        page["jobs"].as_array().expect("jobs").len() as u64
    };
    let only = "client=acme&error=%28timeout%29";
    assert_eq!(shown("dead", only).await, 5);
    assert_eq!(shown("dead", "client=acme&error=%28timeout%29&enqueued_before=2000-01-01T00:00:00Z").await, 0);
    let what = json!({ "queue": "default", "client": "acme", "error": "(timeout)" });
    assert_eq!(w.post("/jobs/requeue", what).await.is(200)["requeued"], 5);
    assert_eq!(shown("waiting", only).await, 5, "their errors stay with them");
    let what = json!({ "queue": "default", "priority": 1, "client": "acme", "error": "(timeout)" });
    assert_eq!(w.post("/jobs/reprioritize", what).await.is(200)["changed"], 5);
    assert_eq!(w.delete(&format!("/queues/default?state=waiting&{only}")).await.is(200)["removed"], 5);
    let other = w.get("/queues/default/jobs?batch=other-01KAJ3V7Q2M8Z4R6T9XW5Y0000").await;
    other.invalid_by("parameter", &["batch"]);
    w.check().await;
}

#[tokio::test]
async fn those_that_came_before_a_time_are_meant_by_it() {
    let w = World::start().await;
    w.enqueue_many((0..3).map(|n| json!({ "payload": ["old", n] }))).await;
    w.advance_clock(60_000);
    let first_new = w.enqueue("new").await;
    w.enqueue("newer").await;
    let time = w.job(&first_new).await["enqueued_at"].as_str().expect("a time").to_owned();
    let list = w.get(&format!("/queues/default/jobs?enqueued_before={time}")).await.is(200);
    assert_eq!(list["jobs"].as_array().map(Vec::len), Some(3), "who came at that very time did not come before");
    let moved =
        w.post("/jobs/reprioritize", json!({ "queue": "default", "priority": 1, "enqueued_before": time })).await;
    assert_eq!(moved.is(200)["changed"], 3);
    let removed = w.delete(&format!("/queues/default?state=waiting&enqueued_before={time}")).await.is(200);
    assert_eq!(removed, json!({ "removed": 3, "more": false, "next": null }));
    w.update_settings(json!({ "max_attempts": 1 })).await;
    w.fail(&w.reserve().await).await.is(200);
    let raise = async |before: &str| {
        let what = json!({ "queue": "default", "enqueued_before": before });
        w.post("/jobs/requeue", what).await.is(200)["requeued"].clone()
    };
    assert_eq!(raise(&time).await, 0);
    assert_eq!(raise("9999-01-01T00:00:00+01:00").await, 1);
    w.delete("/queues/default?state=dead&enqueued_before=soon").await.invalid_by("parameter", &["enqueued_before"]);
    w.check().await;
}
