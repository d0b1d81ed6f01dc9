//! For each transition, a queue in which it has work to do, and the call for it.

use reqwest::header::CONTENT_TYPE;
use serde_json::{Value, json};

use crate::world::{Answer, ReservedJob, World, id_of};

/// A call that can be repeated exactly.
pub struct Call {
    method: &'static str,
    path: String,
    body: Option<Value>,
    key: Option<&'static str>,
}

impl Call {
    fn post(path: impl Into<String>, body: Value) -> Self {
        Self { method: "POST", path: path.into(), body: Some(body), key: None }
    }

    fn of(method: &'static str, path: String, body: Option<Value>) -> Self {
        Self { method, path, body, key: None }
    }

    fn with_key(self) -> Self {
        Self { key: Some("once"), ..self }
    }

    pub async fn make(&self, w: &World) -> Answer {
        let mut request = w.request(self.method, &self.path);
        if let Some(key) = self.key {
            request = request.header("idempotency-key", key);
        }
        if let Some(body) = &self.body {
            request = request.header(CONTENT_TYPE.as_str(), "application/json").body(body.to_string());
        }
        request.send().await
    }
}

fn job(q: &str, payload: impl Into<Value>) -> Value {
    json!({ "queue": q, "payload": payload.into(), "dedupe": false })
}

/// Two jobs, the first reserved by ann.
async fn held(w: &World, q: &str) -> ReservedJob {
    w.enqueue_many([job(q, 1), job(q, 2)]).await;
    w.reserve_with(json!({ "queues": [q], "worker": "ann" })).await
}

async fn settle(w: &World, q: &str, how: &str, more: Value) -> Call {
    let mut body = json!({ "reservation": held(w, q).await.reservation });
    body.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
    Call::post(format!("/jobs/{how}"), body)
}

pub async fn seen(_: &World, q: &str) -> Call {
    Call::post("/jobs", job(q, 1)).with_key()
}

pub async fn enqueue(w: &World, q: &str) -> Call {
    w.enqueue_with(job(q, 1)).await;
    Call::post("/jobs", json!({ "queue": q, "payload": 2, "locks": ["a"], "client": "c" })).with_key()
}

pub async fn reserve(w: &World, q: &str) -> Call {
    w.enqueue_many([job(q, 1), job(q, 2)]).await;
    Call::post("/jobs/reserve", json!({ "queues": [q], "worker": "ann" })).with_key()
}

pub async fn extend(w: &World, q: &str) -> Call {
    settle(w, q, "extend", json!({ "draft": "typed" })).await
}

pub async fn complete(w: &World, q: &str) -> Call {
    settle(w, q, "complete", json!({ "result": "done" })).await
}

pub async fn abandon(w: &World, q: &str) -> Call {
    settle(w, q, "abandon", json!({ "reason": "not mine", "skip": true })).await
}

pub async fn fail(w: &World, q: &str) -> Call {
    settle(w, q, "fail", json!({ "error": "it broke" })).await
}

pub async fn hand_over(w: &World, q: &str) -> Call {
    settle(w, q, "hand-over", json!({ "to": "bob", "note": "yours", "draft": "typed" })).await
}

pub async fn close(w: &World, q: &str) -> Call {
    settle(w, q, "complete", json!({ "result": "yes", "undo_ms": 60_000, "resumes": 0 })).await
}

pub async fn reopen(w: &World, q: &str) -> Call {
    let held = held(w, q).await;
    let closing = json!({ "reservation": held.reservation, "result": "yes", "undo_ms": 60_000 });
    w.post("/jobs/complete", closing).await.is(200);
    Call::post("/jobs/undo", json!({ "reservation": held.reservation }))
}

pub async fn reassign(w: &World, q: &str) -> Call {
    w.enqueue_many((0..3).map(|n| json!({ "queue": q, "payload": n, "assignees": ["bob"] }))).await;
    Call::post("/jobs/reassign", json!({ "queue": q, "from": "bob", "to": ["cleo"] }))
}

pub async fn release(w: &World, q: &str) -> Call {
    held(w, q).await;
    Call::post("/jobs/release", json!({ "queue": q, "worker": "ann" }))
}

pub async fn requeue(w: &World, q: &str) -> Call {
    w.enqueue_with(json!({ "queue": q, "payload": 1, "max_attempts": 1 })).await;
    let dead = w.reserve_with(json!({ "queues": [q] })).await;
    w.fail(&dead).await.is(200);
    Call::post("/jobs/requeue", json!({ "queue": q }))
}

pub async fn reprioritize(w: &World, q: &str) -> Call {
    w.enqueue_with(job(q, 1)).await;
    let id = w.enqueue_with(job(q, 2)).await;
    Call::of("PATCH", format!("/jobs/{id}"), Some(json!({ "priority": 3 })))
}

pub async fn reprioritize_all(w: &World, q: &str) -> Call {
    w.enqueue_many((0..3).map(|n| json!({ "queue": q, "payload": n, "client": "acme" }))).await;
    Call::post("/jobs/reprioritize", json!({ "queue": q, "priority": 3, "client": "acme" }))
}

pub async fn cancel(w: &World, q: &str) -> Call {
    let id = w.enqueue_with(job(q, 1)).await;
    Call::of("DELETE", format!("/jobs/{id}"), None)
}

pub async fn purge(w: &World, q: &str) -> Call {
    w.enqueue_many((0..3).map(|n| job(q, n))).await;
    Call::of("DELETE", format!("/queues/{q}?state=waiting"), None)
}

pub async fn set(w: &World, q: &str) -> Call {
    w.enqueue_with(job(q, 1)).await;
    Call::of("PATCH", format!("/queues/{q}"), Some(json!({ "paused": true, "lease_ms": 60_000 })))
}

pub async fn sweep(w: &World, q: &str) -> Call {
    held(w, q).await;
    w.advance_clock(300_000);
    Call::post(format!("/queues/{q}/sweep"), json!({}))
}

pub async fn expire(w: &World, q: &str) -> Call {
    w.enqueue_with(json!({ "queue": q, "payload": 1, "expires_ms": 60_000, "sla_ms": 30_000 })).await;
    w.advance_clock(60_000);
    Call::post(format!("/queues/{q}/sweep"), json!({}))
}

fn batch(q: &str, jobs: usize, is_sealed: bool) -> Value {
    let jobs: Vec<_> = (0..jobs).map(|n| json!({ "payload": n })).collect();
    json!({ "queue": q, "concurrency": 1, "sealed": is_sealed, "jobs": jobs })
}

/// More jobs than one script creates.
pub async fn create(w: &World, q: &str) -> Call {
    w.enqueue_with(job(q, 1)).await;
    Call::post("/batches", batch(q, 300, true)).with_key()
}

pub async fn stage(w: &World, q: &str) -> Call {
    create(w, q).await
}

async fn open(w: &World, q: &str) -> String {
    id_of(&w.post("/batches", batch(q, 2, false)).await.is(201))
}

pub async fn append(w: &World, q: &str) -> Call {
    let id = open(w, q).await;
    Call::post(format!("/batches/{id}/jobs"), json!({ "jobs": [{ "payload": 2 }], "offset": 2 }))
}

pub async fn seal(w: &World, q: &str) -> Call {
    let id = open(w, q).await;
    Call::post(format!("/batches/{id}/seal"), json!({}))
}

pub async fn withdraw(w: &World, q: &str) -> Call {
    let id = open(w, q).await;
    Call::of("DELETE", format!("/batches/{id}"), None)
}
