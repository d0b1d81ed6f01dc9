//! The events of one job, as far as the stream is retained.

use serde_json::{Value, json};

use crate::world::World;

async fn job_events(w: &World, id: &str) -> Value {
    w.get(&format!("/jobs/{id}/events")).await.is(200)
}

fn kinds(history: &Value) -> Vec<&str> {
    let events = history["events"].as_array().expect("events");
    events.iter().map(|event| event["type"].as_str().expect("a type")).collect()
}

#[tokio::test]
async fn job_events_hold_only_that_job_from_the_beginning() {
    let w = World::start().await;
    w.update_settings(json!({ "max_attempts": 1 })).await;
    let id = w.enqueue("mine").await;
    w.enqueue("another's").await;
    let held = w.reserve_as("ann").await;
    w.advance_clock(5_000);
    w.fail_with(&held, "no such page").await.is(200);
    w.requeue(&id).await;
    let history = job_events(&w, &id).await;
    assert_eq!(kinds(&history), ["enqueued", "reserved", "failed", "dead", "requeued"]);
    assert_eq!((&history["next"], &history["whole"]), (&Value::Null, &json!(true)));
    let died = &history["events"][3];
    assert_eq!((&died["worker"], &died["job"]), (&json!("ann"), &json!(id)));
    assert_eq!(history["events"][2]["reason"], "no such page");
    w.get("/jobs/default-7ZZZZZZZZZZZZZZZZZZZZZZZZZ/events").await.refused("unknown-job");
    w.get(&format!("/jobs/{id}/events?after=x")).await.invalid_by("parameter", &["after"]);
    w.check().await;
}

#[tokio::test]
async fn long_history_is_paged_and_reports_trimmed_events() {
    let w = World::start().await;
    let id = w.enqueue("first").await;
    for part in 0..5 {
        w.enqueue_many((0..1_000).map(|n| json!({ "payload": [part, n] }))).await;
    }
    // One call reads a limited number of script calls, however many events each made.
    for n in 0..200 {
        w.enqueue(n).await;
    }
    w.set_priority(&id, 3).await.is(200);
    let first = job_events(&w, &id).await;
    assert_eq!(kinds(&first), ["enqueued"], "one call does not read the whole stream");
    let next = first["next"].as_str().expect("a cursor");
    let rest = w.get(&format!("/jobs/{id}/events?after={next}")).await.is(200);
    assert_eq!((kinds(&rest), &rest["next"]), (vec!["changed"], &Value::Null));
    w.check().await;
    let _: u64 = w.engine.run("XTRIM intray:{default}:2:events MAXLEN 1").await;
    let history = job_events(&w, &id).await;
    assert_eq!((kinds(&history), &history["whole"]), (vec!["changed"], &json!(false)));
}
