//! Bodies that the contract allows are accepted by the service, and those that it forbids are refused.

use serde_json::{Value, json};

use super::{UNKNOWN_RESERVATION, batches, filled, jobs::UNKNOWN, unknown};
use crate::world::{World, contract::CONTRACT};

fn settling(but: Value) -> Value {
    let mut item = json!({ "reservation": UNKNOWN_RESERVATION });
    item.as_object_mut().expect("an object").extend(but.as_object().expect("an object").clone());
    item
}

fn job(but: Value) -> Value {
    let mut item = json!({ "payload": 1, "dedupe": false });
    item.as_object_mut().expect("an object").extend(but.as_object().expect("an object").clone());
    item
}

fn overlap(but: Value) -> Value {
    let mut batch = json!({ "overlap": 2, "job": { "payload": 1 } });
    batch.as_object_mut().expect("an object").extend(but.as_object().expect("an object").clone());
    batch
}

/// Method, path, whether it is valid, and the body.
type BodyCase = (&'static str, &'static str, bool, Value);

/// The same for batches.
fn bodies_of_batches() -> Vec<BodyCase> {
    let backoff = json!({ "type": "fixed", "delay_ms": 5, "max_ms": 9 });
    vec![
        ("POST", "/batches", true, json!({ "sealed": false })),
        ("POST", "/batches", false, json!({ "sealed": true })),
        ("POST", "/batches", false, json!({})),
        ("POST", "/batches", true, batches::items()),
        ("POST", "/batches", false, json!({ "jobs": [{ "payload": 1, "dedupe_key": "a" }] })),
        ("POST", "/batches", false, json!({ "jobs": [{ "payload": 1, "backoff": backoff }] })),
        ("POST", "/batches", true, overlap(json!({}))),
        ("POST", "/batches", true, json!([overlap(json!({})), overlap(json!({ "overlap": 9, "priority": 0 }))])),
        ("POST", "/batches", false, json!([])),
        ("POST", "/batches", false, overlap(json!({ "overlap": 10 }))),
        ("POST", "/batches", false, overlap(json!({ "sealed": true }))),
        ("POST", "/batches", false, overlap(json!({ "jobs": [] }))),
        ("POST", "/batches", false, overlap(json!({ "job": { "payload": 1, "locks": ["a"] } }))),
        ("POST", "/batches", false, overlap(json!({ "job": { "payload": 1, "priority": 5 } }))),
        ("POST", "/batches", false, json!({ "overlap": 2 })),
        ("POST", "/batches", false, json!({ "job": { "payload": 1 }, "sealed": false })),
        ("POST", "/batches/{id}/jobs", false, json!({ "jobs": [] })),
    ]
}

/// Valid and invalid bodies for each rule over several fields, and for some over one.
fn bodies() -> Vec<BodyCase> {
    let fixed = |max: Value| json!({ "type": "fixed", "delay_ms": 5, "max_ms": max });
    let rising = |max: Value| json!({ "type": "exponential", "delay_ms": 5, "max_ms": max });
    let when = "2026-11-21T09:15:29Z";
    let locks = |count: usize| (0..count).map(|n| format!("lock {n}")).collect::<Vec<_>>();
    vec![
        ("POST", "/jobs", true, job(json!({ "backoff": fixed(Value::Null) }))),
        ("POST", "/jobs", false, job(json!({ "backoff": fixed(json!(9)) }))),
        ("POST", "/jobs", true, job(json!({ "backoff": rising(json!(9)) }))),
        ("POST", "/jobs", true, job(json!({ "backoff": { "type": "fixed", "delay_ms": 5 } }))),
        ("POST", "/jobs", false, job(json!({ "backoff": { "type": "fixed" } }))),
        ("POST", "/jobs", true, job(json!({ "delay_ms": 5 }))),
        ("POST", "/jobs", false, job(json!({ "delay_ms": 5, "run_at": when }))),
        ("POST", "/jobs", true, job(json!({ "run_at": when, "locks": locks(8) }))),
        ("POST", "/jobs", false, job(json!({ "locks": locks(9) }))),
        ("POST", "/jobs", false, job(json!({ "locks": ["a", "a"] }))),
        ("POST", "/jobs", false, json!([])),
        ("POST", "/jobs/reserve", true, json!({})),
        ("POST", "/jobs/reserve", false, json!({ "id": UNKNOWN, "queues": ["default"] })),
        ("POST", "/jobs/reserve", true, json!({ "id": UNKNOWN, "limit": 1 })),
        ("POST", "/jobs/reserve", false, json!({ "id": UNKNOWN, "limit": 2 })),
        ("POST", "/jobs/reserve", false, json!({ "queues": [] })),
        ("POST", "/jobs/abandon", true, settling(json!({ "delay_ms": 5 }))),
        ("POST", "/jobs/abandon", true, settling(json!({ "grace_ms": 5 }))),
        ("POST", "/jobs/abandon", false, settling(json!({ "delay_ms": 5, "grace_ms": 5 }))),
        ("POST", "/jobs/abandon", true, settling(json!({ "reason": "x".repeat(256) }))),
        ("POST", "/jobs/abandon", false, settling(json!({ "reason": "x".repeat(257) }))),
        ("POST", "/jobs/fail", false, settling(json!({ "error": "x".repeat(1_025) }))),
        ("POST", "/jobs/release", true, json!({ "id": UNKNOWN })),
        ("POST", "/jobs/release", false, json!({ "id": UNKNOWN, "queue": "default" })),
        ("POST", "/jobs/release", false, json!({ "queue": "default" })),
        ("POST", "/jobs/requeue", false, json!({})),
        ("POST", "/jobs/requeue", false, json!({ "id": UNKNOWN, "queue": "default" })),
        ("POST", "/jobs/requeue", true, json!({ "queue": "default", "enqueued_before": "2026-11-21T09:15:29Z" })),
        ("POST", "/jobs/requeue", false, json!({ "queue": "default", "enqueued_before": "yesterday" })),
        ("POST", "/jobs/reprioritize", false, json!({ "queue": "default" })),
        ("POST", "/jobs/reprioritize", false, json!({ "priority": 7 })),
        ("POST", "/jobs/reprioritize", false, json!({ "queue": "default", "priority": 7, "state": "dead" })),
        ("PATCH", "/queues/{queue}", true, json!({ "backoff": null, "paused": null })),
        ("PATCH", "/queues/{queue}", false, json!({ "backoff": fixed(json!(9)) })),
        ("PATCH", "/jobs/{id}", false, json!({})),
    ]
}

#[tokio::test]
async fn contract_and_service_accept_the_same_bodies() {
    let w = World::start().await;
    for (method, template, is_valid, body) in bodies().into_iter().chain(bodies_of_batches()) {
        let allowed = CONTRACT.accepts(method, template, "application/json", &body);
        assert_eq!(allowed, is_valid, "{method} {template} by the contract: {body}");
        let path = filled(template, unknown(template));
        let answer = w.request(method, &path).json(body.to_string()).send().await;
        assert_eq!(answer.status != 422, is_valid, "{method} {template} by the service: {body}: {}", answer.text());
    }
    w.check().await;
}

#[tokio::test]
async fn contract_and_service_accept_the_same_times() {
    let w = World::start().await;
    let run_at = |time: &str| job(json!({ "run_at": time }));
    for time in ["2026-11-21T09:15:29Z", "2026-11-21t09:15:29.5z", "2026-11-21T09:15:29.123456789012+23:59"] {
        assert!(CONTRACT.accepts("POST", "/jobs", "application/json", &run_at(time)), "{time}");
        w.send_enqueue(run_at(time)).await.is(201);
    }
    for time in [
        "2026-11-21",
        "2026-11-21 09:15:29Z",
        "2026-11-21T09:15Z",
        "2026-11-21T09:15:29",
        "2026-11-21T09:15:29+01",
        "2026-11-21T09:15:29+0100",
        "2026-11-21T09:15:29Z[UTC]",
        "+002026-11-21T09:15:29Z",
        "12026-11-21T09:15:29Z",
        "20261121T091529Z",
        "2026-02-29T09:15:29Z",
    ] {
        assert!(!CONTRACT.accepts("POST", "/jobs", "application/json", &run_at(time)), "{time}");
        let answer = w.send_enqueue(run_at(time)).await;
        answer.invalid_at(&["/run_at"]);
        assert!(answer.text().contains("RFC 3339"), "{}", answer.text());
    }
    let far = w.send_enqueue(run_at("9999-12-31T23:59:59Z")).await;
    far.invalid_at(&["/run_at"]);
    assert!(!far.text().contains("RFC 3339") && far.text().contains("9999-12-30"), "{}", far.text());
    w.check().await;
}

#[tokio::test]
async fn empty_beacon_is_refused() {
    let w = World::start().await;
    assert!(CONTRACT.settle_calls().count() >= 4, "the contract has forgotten some");
    for path in CONTRACT.settle_calls() {
        assert!(!CONTRACT.accepts("POST", path, "text/plain", &json!("")), "{path}");
        let beacon = CONTRACT.settle_body("POST", path, UNKNOWN_RESERVATION).expect("a settle call").to_string();
        assert!(CONTRACT.accepts("POST", path, "text/plain", &json!(beacon)), "{path}");
        w.request("POST", path).header("content-type", "text/plain").body("").send().await.refused("not-json");
        w.request("POST", path).header("content-type", "text/plain").body(beacon).send().await.is(409);
    }
    w.check().await;
}
