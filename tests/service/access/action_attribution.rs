//! Actions on jobs name the key of the caller in the event stream and in the log.

use serde_json::{Value, json};

use crate::world::{Client, World, access::key, id_of};

/// Type and key of each event of a queue since its creation.
async fn recorded_events(w: &World, queue: &str, count: usize) -> Vec<(String, Value)> {
    let mut stream = w.listen_after(&format!("?queue={queue}"), &format!("{queue}@0-0-0")).await;
    let events = stream.read_events(count).await;
    events.iter().map(|event| (event["type"].as_str().expect("a type").to_owned(), event["by"].clone())).collect()
}

/// Every operator action on jobs, once, and a producer's cancel.
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
    operator.configure("default", json!({ "paused": true })).await;
    operator.configure("default", json!({ "paused": null })).await;
    operator.delete("/queues/default?state=waiting").await.is(200);
}

const EXPECTED_EVENTS: [(&str, Option<&str>); 17] = [
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
    let w = World::plan().own_process().with_keys(&[("ops", "operator", "*"), ("web", "producer", "*")]).start().await;
    acts(&w, &w.with_credential(&key("ops")), &w.with_credential(&key("web"))).await;
    w.enqueue(4).await;
    let expected: Vec<_> = EXPECTED_EVENTS.iter().map(|(kind, by)| ((*kind).to_owned(), json!(by))).collect();
    assert_eq!(recorded_events(&w, "default", EXPECTED_EVENTS.len()).await, expected);
    w.check().await;
    let log = w.service.output();
    for (action, count, by) in [
        ("cancel", 1, "web"),
        ("reprioritize", 1, "ops"),
        ("release", 1, "ops"),
        ("requeue", 1, "ops"),
        ("configure", 1, "ops"),
        ("purge", 2, "ops"),
    ] {
        let line = log.lines().find(|line| line.contains(&format!("action=\"{action}\"")));
        let line = line.unwrap_or_else(|| panic!("no line of {action}: {log}"));
        for part in ["INFO", "queue=default", &format!("count={count}"), &format!("by=\"{by}\""), "request_id="] {
            assert!(line.contains(part), "{part}: {line}");
        }
    }
    assert!(!log.contains(&key("ops")) && !log.contains(&key("web")));
}

#[tokio::test]
async fn actions_without_access_control_name_no_key() {
    let w = World::start().await;
    acts(&w, &w, &w).await;
    w.enqueue(4).await;
    let expected: Vec<_> = EXPECTED_EVENTS.iter().map(|(kind, _)| ((*kind).to_owned(), Value::Null)).collect();
    assert_eq!(recorded_events(&w, "default", EXPECTED_EVENTS.len()).await, expected);
    w.check().await;
}

#[tokio::test]
async fn expiries_found_by_a_call_are_not_attributed_to_its_key() {
    let w = World::plan().with_keys(&[("ops", "operator", "*")]).start().await;
    w.stop_clock();
    let id = w.enqueue(1).await;
    w.reserve_with(json!({ "id": id })).await;
    // An entry as it was before keys were named, with one field.
    let mut before = redis::cmd("XADD");
    before.arg("intray:{default}:2:events").arg("*").arg(1).arg(format!("\x06paused{}\0\0\0\0", "0".repeat(26)));
    let _: String = w.engine.query(&before).await;
    w.advance_clock(400_000);
    w.with_credential(&key("ops")).delete(&format!("/jobs/{id}")).await.is(200);
    let by = |by: Value| move |kind: &str| (kind.to_owned(), by.clone());
    let (unattributed, ops) = (by(Value::Null), by(json!("ops")));
    let expected = vec![
        unattributed("enqueued"),
        unattributed("reserved"),
        unattributed("paused"),
        unattributed("expired"),
        ops("cancelled"),
    ];
    assert_eq!(recorded_events(&w, "default", 5).await, expected);
    assert_eq!(id_of(&w.job(&id).await), id);
}
