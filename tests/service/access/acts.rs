//! Whose key it was: what is done to the jobs of others names it, in the stream of events and in the log.

use serde_json::{Value, json};

use crate::world::{Client, World, access::key, id_of};

/// What was told of a queue since it came into being, each with whose key it was.
async fn told(w: &World, queue: &str, count: usize) -> Vec<(String, Value)> {
    let mut stream = w.listen_after(&format!("?queue={queue}"), &format!("{queue}@0-0-0")).await;
    let heard = stream.read_events(count).await;
    heard.iter().map(|event| (event["type"].as_str().expect("a type").to_owned(), event["by"].clone())).collect()
}

/// Everything that an operator can do to jobs, once, and a producer's cancel.
async fn acts(w: &World, operator: &Client, producer: &Client) {
    let put = async |more: Value| w.enqueue_with(more).await;
    producer.delete(&format!("/jobs/{}", put(json!({ "payload": 1 })).await)).await.is(200);
    let id = put(json!({ "payload": 2, "max_attempts": 1 })).await;
    operator.patch(&format!("/jobs/{id}"), json!({ "priority": 3 })).await.is(200);
    w.reserve_with(json!({ "id": id })).await;
    operator.post("/jobs/release", json!({ "id": id })).await.is(200);
    w.fail(&w.reserve_with(json!({ "id": id })).await).await.is(200);
    operator.post("/jobs/requeue", json!({ "queue": "default" })).await.is(200);
    let later = put(json!({ "payload": 3, "delay_ms": 60_000 })).await;
    operator.post("/jobs/requeue", json!({ "id": later })).await.is(200);
    operator.patch("/queues/default", json!({ "paused": true })).await.is(200);
    operator.patch("/queues/default", json!({ "paused": null })).await.is(200);
    operator.delete("/queues/default?state=waiting").await.is(200);
}

const TOLD: [(&str, Option<&str>); 17] = [
    ("enqueued", None),
    ("cancelled", Some("web")),
    ("enqueued", None),
    ("changed", Some("ops")),
    ("reserved", None),
    ("released", Some("ops")),
    ("reserved", None),
    ("failed", None),
    ("dead", None),
    ("requeued", Some("ops")),
    ("enqueued", None),
    ("due", Some("ops")),
    ("paused", Some("ops")),
    ("unpaused", Some("ops")),
    ("cancelled", Some("ops")),
    ("cancelled", Some("ops")),
    ("enqueued", None),
];

#[tokio::test]
async fn operator_actions_name_their_key_in_events_and_log() {
    let w = World::plan().with_keys(&[("ops", "operator", "*"), ("web", "producer", "*")]).start().await;
    acts(&w, &w.with_credential(&key("ops")), &w.with_credential(&key("web"))).await;
    w.enqueue(4).await;
    let expected: Vec<_> = TOLD.iter().map(|(kind, by)| ((*kind).to_owned(), json!(by))).collect();
    assert_eq!(told(&w, "default", TOLD.len()).await, expected);
    w.check().await;
    let said = w.service.output();
    for (action, count, by) in [
        ("cancel", 1, "web"),
        ("reprioritize", 1, "ops"),
        ("release", 1, "ops"),
        ("requeue", 1, "ops"),
        ("configure", 1, "ops"),
        ("purge", 2, "ops"),
    ] {
        let line = said.lines().find(|line| line.contains(&format!("action=\"{action}\"")));
        let line = line.unwrap_or_else(|| panic!("no line of {action}: {said}"));
        for part in ["INFO", "queue=default", &format!("count={count}"), &format!("by=\"{by}\""), "request_id="] {
            assert!(line.contains(part), "{part}: {line}");
        }
    }
    assert!(!said.contains(&key("ops")) && !said.contains(&key("web")));
}

#[tokio::test]
async fn actions_without_access_control_name_no_key() {
    let w = World::start().await;
    acts(&w, &w, &w).await;
    w.enqueue(4).await;
    let expected: Vec<_> = TOLD.iter().map(|(kind, _)| ((*kind).to_owned(), Value::Null)).collect();
    assert_eq!(told(&w, "default", TOLD.len()).await, expected);
    w.check().await;
}

#[tokio::test]
async fn expiries_found_by_a_call_are_not_attributed_to_its_key() {
    let w = World::plan().with_keys(&[("ops", "operator", "*")]).start().await;
    w.stop_clock().await;
    let id = w.enqueue(1).await;
    w.reserve_with(json!({ "id": id })).await;
    // An entry as it was before keys were named, with one field.
    let mut before = redis::cmd("XADD");
    before.arg("intray:{default}:2:events").arg("*").arg(1).arg(format!("\x06paused{}\0\0\0\0", "0".repeat(26)));
    let _: String = w.engine.query(&before).await;
    w.advance_clock(400_000);
    w.with_credential(&key("ops")).delete(&format!("/jobs/{id}")).await.is(200);
    let by = |by: Value| move |kind: &str| (kind.to_owned(), by.clone());
    let (nobody, ops) = (by(Value::Null), by(json!("ops")));
    let expected = vec![nobody("enqueued"), nobody("reserved"), nobody("paused"), nobody("expired"), ops("cancelled")];
    assert_eq!(told(&w, "default", 5).await, expected);
    assert_eq!(id_of(&w.job(&id).await), id);
}
