//! Answers of job and queue routes.

use serde_json::{Value, json};

use super::{Operation, filled};
use crate::world::{Answer, Client, World, batch_verbs::member_id, contract::CONTRACT};

pub const UNKNOWN: &str = "default-7ZZZZZZZZZZZZZZZZZZZZZZZZZ";

/// A new job that no other test step uses.
pub async fn fresh(w: &Client) -> String {
    w.enqueue_with(json!({ "payload": 1, "dedupe": false, "priority": 0, "max_attempts": 1 })).await
}

pub async fn succeed(w: &World, operation: &Operation<'_>, status: u16) -> Answer {
    let id = fresh(w).await;
    let held = w.reserve_with(json!({ "id": id })).await;
    let path = filled(operation.template, &id);
    if let Some(body) = CONTRACT.settle_body(operation.method, operation.template, &held.reservation) {
        w.post(&path, json!([{ "reservation": "x" }])).await.is(200);
        return w.post(&path, body).await;
    }
    match (operation.method, operation.template) {
        ("POST", "/jobs") if status == 200 => {
            w.send_enqueue(json!({ "payload": "twin" })).await;
            w.post("/jobs", json!([{ "payload": 1 }, { "priority": 1 }])).await.is(200);
            w.send_enqueue(json!({ "payload": "twin" })).await
        }
        ("POST", "/jobs") => w.send_enqueue(json!({ "payload": 1, "dedupe": false })).await,
        ("POST", "/jobs/reserve") => {
            w.empty_reason(json!({ "queues": ["empty"] })).await;
            w.send_reserve(json!({})).await
        }
        ("POST", action @ ("/jobs/release" | "/jobs/requeue")) => w.post(action, json!({ "id": id })).await,
        ("POST", "/jobs/reassign") => w.post(&path, json!({ "queue": "default", "from": "bob", "to": ["cleo"] })).await,
        ("POST", "/jobs/reprioritize") => w.post(&path, json!({ "queue": "default", "priority": 1 })).await,
        ("PATCH", "/jobs/{id}") => w.patch(&path, json!({ "priority": 7 })).await,
        ("DELETE", "/jobs/{id}") => w.delete(&format!("{path}?force=true")).await,
        ("PATCH", "/queues/{queue}") if status == 201 => w.patch("/queues/made", json!({})).await,
        ("PATCH", "/queues/{queue}") => w.patch(&path, json!({})).await,
        ("DELETE", "/queues/{queue}") => {
            w.configure("left", json!({})).await;
            w.delete("/queues/left?forget=true").await.is(200);
            w.delete(&format!("{path}?state=dead")).await
        }
        ("DELETE", "/workers/{worker}") => w.delete("/workers/zoe").await,
        ("GET", "/events") => w.listen_answer("").await,
        (method, _) => w.request(method, &path).send().await,
    }
}

pub async fn refuse(w: &World, operation: &Operation<'_>, slug: &str) -> Answer {
    let Operation { method, template, path } = operation;
    let send = |body: Value| w.request(method, path).json(body.to_string()).send();
    match slug {
        "too-many-items" => send(json!(vec![0; 1_001])).await,
        "unknown-job" if *template == "/tokens" => send(json!({ "worker": "ann", "job": UNKNOWN })).await,
        "not-eligible" if *template == "/tokens" => {
            let id = w.enqueue_with(json!({ "payload": "for bob", "assignees": ["bob"] })).await;
            send(json!({ "worker": "ann", "job": id })).await
        }
        "wrong-state" if *template == "/tokens" => {
            let id = fresh(w).await;
            w.complete(&w.reserve_with(json!({ "id": id })).await).await.is(200);
            send(json!({ "worker": "ann", "job": id })).await
        }
        "unknown-queue" if *template == "/jobs/reprioritize" => {
            send(json!({ "queue": "nowhere", "priority": 1 })).await
        }
        "unknown-queue" if *template == "/jobs/reassign" => {
            send(json!({ "queue": "nowhere", "from": "bob", "to": null })).await
        }
        "not-eligible" if *template == "/jobs/reserve" => {
            let id = w.enqueue_with(json!({ "payload": "for bob", "assignees": ["bob"] })).await;
            send(json!({ "id": id, "worker": "ann" })).await
        }
        "not-eligible" if *template == "/jobs/{id}" => {
            let job = json!({ "payload": "two opinions", "assignees": ["bob", "cleo"] });
            let batch = w.create_batch(json!({ "overlap": 2, "job": job })).await;
            let give = async |n| {
                let path = format!("/jobs/{}", member_id(&batch, n));
                w.patch(&path, json!({ "assignees": ["cleo"] })).await
            };
            give(0).await.is(200);
            give(1).await
        }
        "not-eligible" => {
            let id = w.enqueue_with(json!({ "payload": "not for bob", "excluded": ["bob"] })).await;
            let held = w.reserve_with(json!({ "id": id, "worker": "nell" })).await;
            send(json!({ "reservation": held.reservation, "to": "bob" })).await
        }
        "unknown-queue" if *template == "/jobs" => {
            w.post("/jobs?create=false", json!({ "queue": "nowhere", "payload": 1 })).await
        }
        "unknown-queue" if *method == "PATCH" => {
            w.patch("/queues/nowhere?create=false", json!({ "paused": true })).await
        }
        "unknown-queue" => {
            let unknown = path.replace("default", "nowhere");
            let unknown = if *method == "DELETE" { format!("{unknown}?state=all") } else { unknown };
            w.request(method, &unknown).send().await
        }
        "unknown-job" if template.contains("{id}") => send(json!({ "priority": 1 })).await,
        "unknown-job" => send(json!({ "id": UNKNOWN })).await,
        "queue-full" => {
            w.configure("small", json!({ "max_jobs": 1 })).await;
            w.send_enqueue(json!({ "queue": "small", "payload": 1 })).await;
            send(json!({ "queue": "small", "payload": 2 })).await
        }
        "idempotency-key-reused" => {
            let keyed = |n: u64| {
                w.request(method, path).header("idempotency-key", "k").json(json!({ "payload": n }).to_string())
            };
            keyed(1).send().await;
            keyed(2).send().await
        }
        "reservation-lost" => {
            let id = fresh(w).await;
            let held = w.reserve_with(json!({ "id": id })).await;
            w.force_cancel(&id).await.is(200);
            send(CONTRACT.settle_body(method, template, &held.reservation).expect("a settle call")).await
        }
        "closing" | "undone" => {
            let id = fresh(w).await;
            let held = w.reserve_with(json!({ "id": id })).await;
            let closing = json!({ "reservation": held.reservation, "result": "closing", "undo_ms": 60_000 });
            w.post("/jobs/complete", closing).await.is(200);
            let mut body = CONTRACT.settle_body(method, template, &held.reservation).expect("a settle call");
            if slug == "undone" {
                w.post("/jobs/undo", json!({ "reservation": held.reservation })).await.is(200);
                body["resumes"] = json!(0);
            }
            send(body).await
        }
        "invalid-result" => {
            w.configure("formed", json!({ "result_schema": { "type": "object", "properties": {} } })).await;
            w.enqueue_with(json!({ "queue": "formed", "payload": 1, "dedupe": false })).await;
            let held = w.reserve_with(json!({ "queues": ["formed"] })).await;
            send(json!({ "reservation": held.reservation, "result": "no object" })).await
        }
        "worker-limit" => {
            let (first, second) = (fresh(w).await, fresh(w).await);
            w.reserve_with(json!({ "id": first, "worker": "limited" })).await;
            send(json!({ "id": second, "worker": "limited" })).await
        }
        "wrong-state" if *template == "/queues/{queue}" => {
            fresh(w).await;
            w.delete(&format!("{path}?forget=true")).await
        }
        "wrong-state" if *template == "/workers/{worker}" => {
            let id = fresh(w).await;
            w.reserve_with(json!({ "id": id, "worker": "busy" })).await;
            w.delete("/workers/busy").await
        }
        "wrong-state" => {
            let id = fresh(w).await;
            w.complete(&w.reserve_with(json!({ "id": id })).await).await.is(200);
            let body = if template.contains("{id}") { json!({ "priority": 1 }) } else { json!({ "id": id }) };
            w.request(method, &filled(template, &id)).json(body.to_string()).send().await
        }
        _ => panic!("no case provokes {slug} at {method} {template}"),
    }
}
