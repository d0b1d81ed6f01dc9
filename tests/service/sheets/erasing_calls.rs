//! A name goes though the call takes several, others call too, and jobs move meanwhile.

use serde_json::{Value, json};

use crate::world::{Client, World, access::key};

const TEN_MINUTES: u64 = 600_000;

/// More jobs than one call looks at, which are not for `ann`.
async fn enqueue_many(w: &World) {
    let job = |n: u32| json!({ "payload": n, "dedupe": false, "assignees": ["kim"] });
    for from in (0..21_000).step_by(500) {
        w.enqueue_many((from..from + 500).map(job)).await;
    }
}

async fn erase(client: &Client, worker: &str) -> Value {
    client.delete(&format!("/workers/{worker}")).await.is(200)["more"].clone()
}

#[tokio::test]
async fn job_that_moves_between_two_calls_loses_the_name_too() {
    let w = World::start().await;
    enqueue_many(&w).await;
    // It is the last of those that wait.
    let id = w.enqueue_with(json!({ "payload": "last", "priority": 99 })).await;
    let by_id = |worker: &str| json!({ "id": id, "worker": worker });
    let held = w.reserve_with(by_id("ann")).await;
    w.post("/jobs/abandon", json!({ "reservation": held.reservation, "reason": "ask ann about it" })).await.is(200);
    assert_eq!(erase(&w, "ann").await, json!(true));
    let held = w.reserve_with(by_id("bob")).await;
    w.post("/jobs/abandon", json!({ "reservation": held.reservation, "delay_ms": 3_600_000 })).await.is(200);
    while erase(&w, "ann").await == json!(true) {}
    let job = w.job(&id).await.to_string();
    assert!(job.contains("ask * about it") && !job.contains("ann"), "{job}");
    w.check().await;
}

#[tokio::test]
async fn call_of_a_key_with_other_queues_begins_at_its_first_queue() {
    let keys = [("all", "operator", "*"), ("some", "operator", "b*")];
    let w = World::plan().own_process().with_keys(&keys).start().await;
    for n in 0..203 {
        w.send_enqueue(json!({ "queue": format!("b{n:03}"), "payload": 1 })).await.is(201);
    }
    w.send_enqueue(json!({ "queue": "a", "payload": 1 })).await.is(201);
    let held = w.reserve_with(json!({ "queues": ["a"], "worker": "ann" })).await;
    w.complete(&held).await.is(200);
    assert_eq!(erase(&w.with_credential(&key("some")), "ann").await, json!(true));
    let all = w.with_credential(&key("all"));
    while erase(&all, "ann").await == json!(true) {}
    let listed = w.get("/queues/a/jobs?state=completed").await.is(200);
    assert_eq!(listed["jobs"][0]["completed"]["worker"], json!(null), "{listed}");
    w.check().await;
}

/// Reads nothing.
async fn add_a_late_reader(w: &World) {
    let mut command = redis::cmd("HSET");
    command.arg("intray:{default}:2:cursors").arg("w:slow").arg("0-0-0 1 0");
    w.engine.query::<i64>(&command).await;
}

async fn has_events_of(w: &World, worker: &str) -> bool {
    w.events().await.iter().any(|event| event.worker == worker)
}

#[tokio::test]
async fn repeated_call_lets_no_event_wait_longer() {
    let w = World::start().await;
    w.enqueue(1).await;
    w.complete(&w.reserve_as("ann-quill").await).await.is(200);
    add_a_late_reader(&w).await;
    for _ in 0..3 {
        assert_eq!(erase(&w, "ann-quill").await, json!(false));
        assert!(has_events_of(&w, "ann-quill").await, "they wait for their reader");
        w.advance_clock(TEN_MINUTES / 3);
    }
    w.sweep().await;
    assert!(!has_events_of(&w, "ann-quill").await);
    w.check().await;
}

#[tokio::test]
async fn repeated_call_that_is_given_up_leaves_no_event() {
    let w = World::start().await;
    w.enqueue(1).await;
    w.complete(&w.reserve_as("ann-quill").await).await.is(200);
    add_a_late_reader(&w).await;
    assert_eq!(erase(&w, "ann-quill").await, json!(false));
    enqueue_many(&w).await;
    assert_eq!(erase(&w, "ann-quill").await, json!(true));
    assert!(has_events_of(&w, "ann-quill").await);
    w.advance_clock(TEN_MINUTES);
    w.sweep().await;
    assert!(!has_events_of(&w, "ann-quill").await);
    w.check().await;
}
