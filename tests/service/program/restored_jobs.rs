//! What `intray export` wrote becomes the same jobs again.

use std::fs;

use serde_json::{Value, json};

use super::bulk::{exported, imported};
use crate::world::{World, assert_contains};

/// The fields that a producer sets.
fn producer_fields(job: &Value) -> Value {
    let words = [
        "payload",
        "priority",
        "client",
        "lease_ms",
        "max_attempts",
        "backoff",
        "locks",
        "due_at",
        "expires_at",
        "sla_at",
        "breached",
        "assignees",
        "excluded",
        "skill",
        "fallback_ms",
    ];
    words.iter().map(|word| (word.to_string(), job[word].clone())).collect::<serde_json::Map<_, _>>().into()
}

/// All jobs of a state, as the producer sent them.
async fn all(w: &World, queue: &str, state: &str) -> Vec<Value> {
    let page = w.get(&format!("/queues/{queue}/jobs?state={state}")).await.is(200);
    page["jobs"].as_array().expect("a list").iter().map(producer_fields).collect()
}

#[tokio::test]
async fn exported_jobs_are_imported_as_first_enqueued() {
    let w = World::start().await;
    for payload in [json!({ "n": 1 }), Value::Null, json!("2"), json!("2")] {
        let producer_fields = json!({
            "payload": payload, "priority": 7, "client": "ann", "lease_ms": 9_000, "max_attempts": 1, "locks": ["a", "b"],
            "backoff": { "type": "exponential", "delay_ms": 5, "max_ms": 50 }, "dedupe": false,
        });
        w.enqueue_with(producer_fields).await;
    }
    w.enqueue_with(json!({ "payload": "later", "delay_ms": 3_600_000 })).await;
    w.enqueue_with(json!({ "payload": "plain", "backoff": { "type": "fixed", "delay_ms": 5 } })).await;
    for state in ["waiting", "delayed"] {
        exported(&w, &["default", "--state", state, "--output", state]).await;
        let end = imported(&w, &[state, "--exported", "--queue", "there"]).await;
        assert!(end.status.success(), "{end:?}");
        let there = all(&w, "there", state).await;
        assert_eq!((there.is_empty(), &there), (false, &all(&w, "default", state).await), "{state}");
    }
    w.check().await;
}

async fn sweep(w: &World, queue: &str) {
    w.post(&format!("/queues/{queue}/sweep"), json!({})).await.is(200);
}

/// Imports the jobs of a queue and a state into another queue, and returns both exports.
async fn there_and_back(w: &World, queue: &str, state: &str) -> [Value; 2] {
    let before = exported(w, &[queue, "--state", state]).await;
    fs::write(w.folder().join("jobs"), &before).expect("written");
    let there = format!("{queue}-again");
    let end = imported(w, &["jobs", "--exported", "--queue", &there]).await;
    assert!(end.status.success(), "{queue}: {end:?}");
    let state = if state == "delayed" { "delayed" } else { "waiting" };
    let after = exported(w, &[&there, "--state", state]).await;
    [before, after].map(|line| serde_json::from_str(&line).expect("one job"))
}

#[tokio::test]
async fn open_job_keeps_its_breached_sla_in_each_state() {
    let w = World::start().await;
    w.stop_clock();
    let new = async |queue: &str, more: Value| {
        let mut job = json!({
            "queue": queue, "payload": queue, "client": "c", "locks": ["l"], "excluded": ["bob"], "sla_ms": 30_000,
            "expires_ms": 90_000,
        });
        job.as_object_mut().expect("an object").extend(more.as_object().expect("fields").clone());
        w.enqueue_with(job).await
    };
    new("waiting", json!({ "assignees": ["ann"], "fallback_ms": 600_000 })).await;
    new("delayed", json!({ "delay_ms": 60_000, "skill": "de" })).await;
    new("reserved", json!({})).await;
    w.reserve_with(json!({ "queues": ["reserved"], "worker": "ann" })).await;
    new("blocked", json!({ "dedupe": false })).await;
    w.reserve_with(json!({ "queues": ["blocked"], "worker": "ann" })).await;
    new("blocked", json!({ "dedupe": false })).await;
    w.advance_clock(30_000);
    for state in ["waiting", "delayed", "reserved", "blocked"] {
        sweep(&w, state).await;
        let [before, after] = there_and_back(&w, state, state).await;
        assert_contains(&before, json!({ "state": state, "breached": true }));
        assert_eq!(producer_fields(&after), producer_fields(&before), "{state}");
    }
    w.advance_clock(30_000);
    for state in ["waiting", "delayed", "reserved", "blocked"] {
        let again = format!("{state}-again");
        sweep(&w, &again).await;
        let totals = w.get(&format!("/queues/{again}")).await.is(200)["totals"].clone();
        assert_contains(&totals, json!({ "enqueued": 1, "breached": 0 }));
    }
    w.check().await;
}

#[tokio::test]
async fn sla_that_passes_before_the_import_is_reported_once() {
    let w = World::start().await;
    w.stop_clock();
    w.enqueue_with(json!({ "queue": "late", "payload": 1, "sla_ms": 30_000 })).await;
    w.advance_clock(30_000);
    let [before, after] = there_and_back(&w, "late", "waiting").await;
    assert_contains(&before, json!({ "breached": false }));
    assert_eq!(producer_fields(&after), producer_fields(&before));
    for _ in 0..2 {
        sweep(&w, "late-again").await;
        assert_eq!(w.get("/queues/late-again").await.is(200)["totals"]["breached"], 1);
    }
    w.check().await;
}

#[tokio::test]
async fn ended_jobs_start_over_without_their_times() {
    let w = World::start().await;
    w.stop_clock();
    for state in ["completed", "dead", "cancelled"] {
        let times = json!({ "queue": state, "payload": 1, "sla_ms": 10_000, "expires_ms": 60_000, "max_attempts": 1 });
        let id = w.enqueue_with(times).await;
        w.advance_clock(10_000);
        let reserve = async || w.reserve_with(json!({ "queues": [state], "worker": "ann" })).await;
        match state {
            "completed" => w.complete(&reserve().await).await.is(200),
            "dead" => w.fail(&reserve().await).await.is(200),
            _ => w.cancel(&id).await.is(200),
        };
        let [before, after] = there_and_back(&w, state, state).await;
        assert_contains(&before, json!({ "state": state, "breached": true }));
        assert_contains(&after, json!({ "expires_at": null, "sla_at": null, "breached": false }));
    }
    w.check().await;
}

#[tokio::test]
async fn backoff_beyond_the_expiry_is_dropped_by_an_import() {
    let w = World::start().await;
    w.stop_clock();
    let backoff = json!({ "type": "fixed", "delay_ms": 60_000 });
    w.enqueue_with(json!({ "queue": "q", "payload": 1, "expires_ms": 50_000, "backoff": backoff })).await;
    w.fail(&w.reserve_with(json!({ "queues": ["q"], "worker": "ann" })).await).await.is(200);
    exported(&w, &["q", "--state", "delayed", "--output", "jobs"]).await;
    let end = imported(&w, &["jobs", "--exported", "--queue", "there"]).await;
    assert!(end.status.success(), "{end:?}");
    let there = all(&w, "there", "waiting").await;
    assert_eq!(
        (&there[0]["due_at"], &there[0]["expires_at"]),
        (&Value::Null, &all(&w, "q", "delayed").await[0]["expires_at"])
    );
    w.check().await;
}
