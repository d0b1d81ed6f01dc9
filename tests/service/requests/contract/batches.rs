//! Answers of batch routes.

use serde_json::{Value, json};

use super::{Operation, filled};
use crate::world::{Answer, Client, World, id_of};

pub const UNKNOWN: &str = "default-7ZZZZZZZZZZZZZZZZZZZZZ0000";

/// A body that creates a batch or appends to one.
pub fn items() -> Value {
    json!({ "jobs": [{ "payload": 1 }, { "payload": 2, "priority": 99 }] })
}

/// Creates an open batch.
pub async fn open(w: &Client, queue: &str) -> String {
    let batch = json!({ "queue": queue, "sealed": false, "jobs": [{ "payload": 1 }] });
    id_of(&w.post("/batches", batch).await.is(201))
}

pub async fn succeed(w: &World, operation: &Operation<'_>, status: u16) -> Answer {
    let path = filled(operation.template, &open(w, "default").await);
    match (operation.method, operation.template) {
        ("POST", "/batches") if status == 200 => w.post(&path, json!([{ "overlap": 1 }])).await,
        ("POST", "/batches" | "/batches/{id}/jobs") => w.post(&path, items()).await,
        (method, _) => w.request(method, &path).send().await,
    }
}

pub async fn refuse(w: &World, operation: &Operation<'_>, slug: &str) -> Answer {
    let Operation { method, template, path } = operation;
    let send = |path: &str, body: Value| w.request(method, path).json(body.to_string()).send();
    let appends = *template == "/batches/{id}/jobs";
    match slug {
        "unknown-batch" => send(path, if appends { items() } else { json!({}) }).await,
        "unknown-queue" if *method == "POST" => {
            send(&format!("{path}?create=false"), json!({ "queue": "nowhere", "jobs": items()["jobs"] })).await
        }
        "unknown-queue" => w.get(&format!("{path}?queue=nowhere")).await,
        "too-many-items" => {
            let max = if appends { 200 } else { 10_000 };
            send(path, json!({ "jobs": vec![json!({ "payload": 1 }); max + 1] })).await
        }
        "queue-full" => {
            w.configure("narrow", json!({ "max_jobs": 0 })).await;
            let open = open(w, "narrow").await;
            w.configure("narrow", json!({ "max_jobs": 1 })).await;
            let body = if appends { items() } else { json!({ "queue": "narrow", "jobs": items()["jobs"] }) };
            send(&filled(template, &open), body).await
        }
        "idempotency-key-reused" => {
            let keyed =
                |body: Value| w.request(method, path).header("idempotency-key", "b").json(body.to_string()).send();
            keyed(items()).await.is(201);
            keyed(json!({ "jobs": [] })).await
        }
        "wrong-state" => {
            let over = id_of(&w.post("/batches", json!({ "jobs": [] })).await.is(201));
            let mut body = items();
            body["offset"] = json!(0);
            send(&filled(template, &over), body).await
        }
        "offset-mismatch" => {
            let open = open(w, "default").await;
            let mut body = items();
            body["offset"] = json!(2);
            let beyond = send(&filled(template, &open), body.clone()).await;
            assert_eq!(beyond.is(409)["total"], 1);
            body["offset"] = json!(0);
            body["jobs"][0]["payload"] = json!("another");
            send(&filled(template, &open), body).await
        }
        _ => panic!("no case provokes {slug} at {method} {template}"),
    }
}
