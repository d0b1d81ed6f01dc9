//! Every call that meets a key of the wrong type, anywhere in its script: no answer claims more than is true.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::world::{World, keyspace::KEYS};

type Bytes = Vec<u8>;

/// Every key of a queue, as Redis dumps it.
type Snapshot = BTreeMap<&'static str, Bytes>;

fn key(name: &str) -> String {
    format!("intray:{{q}}:2:{name}")
}

async fn snapshot(w: &World) -> Snapshot {
    let mut dumps = redis::pipe();
    for (name, _) in KEYS {
        dumps.cmd("DUMP").arg(key(name));
    }
    let found: Vec<Option<Bytes>> = dumps.query_async(&mut w.engine.connection()).await.expect("dumps");
    let named = KEYS.iter().zip(found).filter_map(|((name, _), dump)| Some((*name, dump?)));
    named.collect()
}

/// Restores every key, except one with a wrong type.
async fn restore(w: &World, snapshot: &Snapshot, broken: Option<&str>) {
    let mut restores = redis::pipe();
    for (name, _) in KEYS {
        restores.cmd("DEL").arg(key(name));
    }
    for (name, dump) in snapshot.iter().filter(|(name, _)| broken != Some(**name)) {
        restores.cmd("RESTORE").arg(key(name)).arg(0).arg(dump);
    }
    if let Some(broken) = broken {
        restores.cmd("SET").arg(key(broken)).arg("nonsense");
    }
    let _: redis::Value = restores.query_async(&mut w.engine.connection()).await.expect("restored");
}

/// One call of each kind, in a queue with a job for it.
async fn calls(w: &World) -> Vec<(&'static str, String, Value)> {
    let q = |more: Value| {
        let mut job = json!({ "queue": "q", "dedupe": false });
        job.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
        job
    };
    let mut waiting = Vec::new();
    for n in 0..6 {
        waiting.push(w.enqueue_with(q(json!({ "payload": n }))).await);
    }
    w.enqueue_with(q(json!({ "payload": "x".repeat(2_000), "locks": ["a"], "client": "c", "priority": 3 }))).await;
    w.enqueue_with(q(json!({ "payload": 7, "locks": ["a"], "priority": 2 }))).await;
    w.enqueue_with(q(json!({ "payload": 8, "delay_ms": 60_000 }))).await;
    let locked = w.reserve_with(json!({ "queues": ["q"], "worker": "ann" })).await;
    let id = w.enqueue_with(q(json!({ "payload": 9, "max_attempts": 1 }))).await;
    let dead = w.reserve_with(json!({ "id": id })).await;
    w.post("/jobs/fail", json!({ "reservation": dead.reservation, "error": "no" })).await.is(200);
    let held = w.reserve_with(json!({ "queues": ["q"], "worker": "ben" })).await;
    let batch = |sealed| json!({ "queue": "q", "concurrency": 1, "sealed": sealed, "jobs": [{ "payload": 1 }, { "payload": 2 }] });
    let open = w.post("/batches", batch(false)).await.is(201)["id"].as_str().expect("an id").to_owned();
    let sealed = w.post("/batches", batch(true)).await.is(201)["id"].as_str().expect("an id").to_owned();
    let of = |held: &crate::world::ReservedJob, more: Value| {
        let mut call = json!({ "reservation": held.reservation });
        call.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
        call
    };
    let post = |path: &str, body: Value| ("POST", path.to_owned(), body);
    vec![
        post("/jobs", q(json!({ "payload": 10 }))),
        post("/jobs", json!({ "queue": "q", "payload": 11, "client": "d", "dedupe_key": "k", "locks": ["b"] })),
        post("/jobs", q(json!({ "payload": "y".repeat(2_000), "delay_ms": 5_000 }))),
        post("/jobs", json!([q(json!({ "payload": 12 })), q(json!({ "payload": 13, "priority": 9 }))])),
        post("/jobs/reserve", json!({ "queues": ["q"] })),
        post("/jobs/reserve", json!({ "queues": ["q"], "worker": "cid", "limit": 3 })),
        post("/jobs/reserve", json!({ "id": waiting[3] })),
        post("/jobs/extend", of(&held, json!({ "draft": "typed" }))),
        post("/jobs/complete", of(&held, json!({ "result": "done" }))),
        post("/jobs/complete", of(&locked, json!({ "result": "z".repeat(2_000) }))),
        post("/jobs/abandon", of(&locked, json!({ "reason": "later" }))),
        post("/jobs/fail", of(&held, json!({ "error": "no" }))),
        post("/jobs/release", json!({ "queue": "q", "worker": "ann" })),
        post("/jobs/requeue", json!({ "queue": "q" })),
        post("/queues/q/sweep", json!({})),
        post("/batches", batch(true)),
        post(&format!("/batches/{open}/jobs"), json!({ "jobs": [{ "payload": 3 }] })),
        post(&format!("/batches/{open}/seal"), json!({})),
        ("DELETE", format!("/batches/{sealed}"), Value::Null),
        ("DELETE", format!("/jobs/{}", waiting[2]), Value::Null),
        ("PATCH", format!("/jobs/{}", waiting[4]), json!({ "priority": 5 })),
        ("PATCH", "/queues/q".to_owned(), json!({ "paused": true })),
        ("DELETE", "/queues/q?state=waiting".to_owned(), Value::Null),
    ]
}

/// A script finds a broken key that it reads before its first write; a key that it only writes is found too late, and
/// the answer says so.
#[tokio::test]
async fn broken_key_never_causes_a_false_applied_claim() {
    let w = World::start().await;
    let calls = calls(&w).await;
    let whole = snapshot(&w).await;
    let (mut untouched, mut admitted) = (0, 0);
    for (method, path, body) in &calls {
        for (broken, _) in KEYS {
            restore(&w, &whole, Some(broken)).await;
            let before = snapshot(&w).await;
            let request = w.request(method, path);
            let request = if body.is_null() { request } else { request.json(body.to_string()) };
            let answer = request.send().await;
            let (is_same, body) = (snapshot(&w).await == before, answer.text());
            let detail = format!("{broken}: {method} {path} {body}: {body}");
            let faults = [r#""applied":false"#, r#""applied":"unknown""#].map(|claim| body.contains(claim));
            assert_eq!(
                answer.status == 500 || body.contains("problems/internal"),
                faults != [false, false],
                "{detail}"
            );
            assert!(!faults[0] || is_same, "{detail}");
            assert!(!body.contains("WRONGTYPE"), "internal errors are not shown: {detail}");
            untouched += u32::from(faults != [false, false] && is_same);
            admitted += u32::from(faults[1] && !is_same);
        }
    }
    restore(&w, &whole, None).await;
    w.check().await;
    assert!(untouched > 50 && admitted > 50, "{untouched} refused before a write, {admitted} after one");
}
