//! What happened to one job, as far as the stream is kept.

use serde_json::{Value, json};

use crate::world::World;

async fn told(w: &World, id: &str) -> Value {
    w.get(&format!("/jobs/{id}/events")).await.is(200)
}

fn kinds(story: &Value) -> Vec<&str> {
    let events = story["events"].as_array().expect("events");
    events.iter().map(|event| event["type"].as_str().expect("a type")).collect()
}

#[tokio::test]
async fn it_is_told_from_the_beginning_and_of_nobody_else() {
    let w = World::start().await;
    w.update_settings(json!({ "max_attempts": 1 })).await;
    let id = w.enqueue("mine").await;
    w.enqueue("another's").await;
    let held = w.reserve_as("ann").await;
    w.advance_clock(5_000);
    w.fail_with(&held, "no such page").await.is(200);
    w.requeue(&id).await;
    let story = told(&w, &id).await;
    assert_eq!(kinds(&story), ["enqueued", "reserved", "failed", "dead", "requeued"]);
    assert_eq!((&story["next"], &story["whole"]), (&Value::Null, &json!(true)));
    let died = &story["events"][3];
    assert_eq!((&died["worker"], &died["job"]), (&json!("ann"), &json!(id)));
    assert_eq!(story["events"][2]["reason"], "no such page");
    w.get("/jobs/default-7ZZZZZZZZZZZZZZZZZZZZZZZZZ/events").await.refused("unknown-job");
    w.get(&format!("/jobs/{id}/events?after=x")).await.invalid_by("parameter", &["after"]);
    w.check().await;
}

#[tokio::test]
async fn a_long_stream_is_read_in_parts_and_what_is_dropped_is_said() {
    let w = World::start().await;
    let id = w.enqueue("first").await;
    for part in 0..5 {
        w.enqueue_many((0..1_000).map(|n| json!({ "payload": [part, n] }))).await;
    }
    // A read is of so many calls, whatever each of them did.
    for n in 0..200 {
        w.enqueue(n).await;
    }
    w.set_priority(&id, 3).await.is(200);
    let first = told(&w, &id).await;
    assert_eq!(kinds(&first), ["enqueued"], "one call does not read it all");
    let next = first["next"].as_str().expect("where to go on");
    let rest = w.get(&format!("/jobs/{id}/events?after={next}")).await.is(200);
    assert_eq!((kinds(&rest), &rest["next"]), (vec!["changed"], &Value::Null));
    w.check().await;
    let _: u64 = w.engine.run("XTRIM intray:{default}:2:events MAXLEN 1").await;
    let story = told(&w, &id).await;
    assert_eq!((kinds(&story), &story["whole"]), (vec!["changed"], &json!(false)));
}
