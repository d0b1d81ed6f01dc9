//! The fields of requests: their ranges, the pointers of what is wrong, and idempotency.

use serde_json::{Value, json};

use crate::world::{World, assert_contains};

const MONTH_MS: u64 = 2_592_000_000;

fn workers(count: usize) -> Value {
    (0..count).map(|n| format!("w{n}")).collect::<Vec<_>>().into()
}

#[tokio::test]
async fn wrong_fields_of_a_job_are_refused_at_their_pointers() {
    let w = World::start().await;
    let batch = w.create_batch(json!({ "jobs": [{ "payload": 0 }], "sealed": false })).await;
    for (fields, pointer) in [
        (json!({ "assignees": [] }), "/assignees"),
        (json!({ "assignees": workers(9) }), "/assignees"),
        (json!({ "assignees": ["ann", "ann"] }), "/assignees/1"),
        (json!({ "assignees": [" ann"] }), "/assignees/0"),
        (json!({ "excluded": workers(17) }), "/excluded"),
        (json!({ "excluded": null }), "/excluded"),
        (json!({ "skill": "x".repeat(65) }), "/skill"),
        (json!({ "skill": "de ", "fallback_ms": 5_000 }), "/skill"),
        (json!({ "skill": "de", "fallback_ms": 999 }), "/fallback_ms"),
        (json!({ "skill": "de", "fallback_ms": MONTH_MS + 1 }), "/fallback_ms"),
        (json!({ "excluded": ["ann"], "fallback_ms": 5_000 }), "/fallback_ms"),
        (json!({ "assignees": ["ann"], "excluded": ["bob", "ann"] }), "/assignees"),
    ] {
        let mut job = fields.clone();
        job["payload"] = json!(1);
        w.send_enqueue(job.clone()).await.invalid_at(&[pointer]);
        let member = format!("/jobs/1{pointer}");
        w.post("/batches", json!({ "jobs": [{ "payload": 0 }, job] })).await.invalid_at(&[&member]);
        w.append(&batch, &[json!({ "payload": 0 }), job]).await.invalid_at(&[&member]);
    }
    assert_eq!(w.queue().await["totals"]["enqueued"], 1);
    let max = json!({ "payload": 1, "assignees": workers(8), "excluded": workers(16).as_array().expect("names")[1..] });
    w.enqueue_with(max).await;
    w.check().await;
}

#[tokio::test]
async fn job_shows_who_may_have_it() {
    let w = World::start().await;
    let plain = w.job(&w.enqueue(1).await).await;
    for absent in ["assignees", "excluded", "skill", "fallback_ms", "fallback_at", "handed_to"] {
        assert_eq!(plain.get(absent), Some(&Value::Null), "{absent}");
    }
    let fields =
        json!({ "assignees": ["bob", "ann"], "excluded": ["cleo"], "skill": "C1 German", "fallback_ms": 60_000 });
    let mut job = fields.clone();
    job["payload"] = json!(2);
    let batch = w.create_batch(json!({ "jobs": [job.clone()], "sealed": false })).await;
    w.append(&batch, &[job.clone()]).await.is(200);
    w.enqueue_with(job).await;
    let listed = w.get("/queues/default/jobs").await.is(200);
    let routed = listed["jobs"].as_array().expect("jobs").iter().filter(|job| !job["assignees"].is_null());
    let routed: Vec<_> = routed.collect();
    assert_eq!(routed.len(), 3, "{listed}");
    for job in routed {
        for (name, value) in fields.as_object().expect("fields") {
            assert_eq!(&job[name], value, "{job}");
        }
        assert!(job["fallback_at"].is_string(), "{job}");
    }
    w.check().await;
}

#[tokio::test]
async fn fields_are_a_part_of_the_idempotent_call() {
    let w = World::start().await;
    let keyed = async |assignee: &str| {
        let body = json!({ "payload": 1, "assignees": [assignee], "dedupe": false }).to_string();
        w.request("POST", "/jobs").header("idempotency-key", "k").json(body).send().await
    };
    let first = keyed("ann").await.is(201);
    assert_eq!(keyed("ann").await.is(201)["id"], first["id"]);
    keyed("bob").await.refused("idempotency-key-reused");
    let batch = w.create_batch(json!({ "sealed": false })).await;
    let jobs = |skill: &str| [json!({ "payload": 1, "skill": skill })];
    for _ in 0..2 {
        assert_eq!(w.append_at(&batch, 0, &jobs("de")).await.is(200)["counts"]["total"], 1);
    }
    w.append_at(&batch, 0, &jobs("fr")).await.refused("offset-mismatch");
    w.check().await;
}

#[tokio::test]
async fn job_with_an_equal_key_for_another_worker_is_a_twin() {
    let w = World::start().await;
    let id = w.enqueue_with(json!({ "payload": 1, "dedupe_key": "k", "assignees": ["ann"] })).await;
    let twin = w.send_enqueue(json!({ "payload": 1, "dedupe_key": "k", "assignees": ["bob"] })).await.is(200);
    assert_contains(&twin, json!({ "id": id, "duplicate": true, "differs": ["assignees"] }));
    assert_eq!(w.job(&id).await["assignees"], json!(["ann"]));
    w.check().await;
}

#[tokio::test]
async fn wrong_calls_of_workers_and_operators_are_refused() {
    let w = World::start().await;
    let id = w.enqueue(1).await;
    let before = w.job(&id).await;
    for (body, pointer) in [
        (json!({ "assignees": [] }), "/assignees"),
        (json!({ "excluded": [] }), "/excluded"),
        (json!({ "assignees": ["ann"], "excluded": ["ann"] }), "/assignees"),
        (json!({ "fallback_ms": 999 }), "/fallback_ms"),
        (json!({}), "/priority"),
    ] {
        w.patch(&format!("/jobs/{id}"), body).await.invalid_at(&[pointer]);
    }
    assert_eq!(w.job(&id).await, before);
    for (body, pointer) in [
        (json!({ "skills": "de" }), "/skills"),
        (json!({ "skills": workers(17) }), "/skills"),
        (json!({ "skills": ["de", "de"] }), "/skills/1"),
    ] {
        w.send_reserve(body).await.invalid_at(&[pointer]);
    }
    let held = w.reserve_as("ann").await;
    for (mut body, pointer) in [
        (json!({}), "/to"),
        (json!({ "to": "bob", "skill": "de" }), "/skill"),
        (json!({ "to": "ann" }), "/to"),
        (json!({ "to": "bob", "note": "x".repeat(1_025) }), "/note"),
        (json!({ "to": "bob", "fallback_ms": 999 }), "/fallback_ms"),
    ] {
        body["reservation"] = json!(held.reservation);
        w.post("/jobs/hand-over", body).await.invalid_at(&[pointer]);
    }
    let other = json!({ "queue": "default", "from": "bob", "to": ["cleo", "bob"] });
    w.post("/jobs/reassign", other).await.invalid_at(&["/to/1"]);
    let foreign = json!({ "queue": "default", "from": "bob", "to": null, "after": "77616974696e6720" });
    w.post("/jobs/reassign", foreign).await.invalid_at(&["/after"]);
    w.get("/queues/default/jobs?line=bob").await.invalid_by("parameter", &["line"]);
    w.get("/queues/default/jobs?state=dead&line=@bob").await.invalid_by("parameter", &["line"]);
    assert_eq!(w.state(&id).await, "reserved", "none of them ended the reservation");
    w.check().await;
}

#[tokio::test]
async fn array_of_hand_overs_answers_each_item() {
    let w = World::start().await;
    w.update_settings(json!({ "worker_limit": 3 })).await;
    for excluded in ["bob", "cleo"] {
        w.enqueue_with(json!({ "payload": excluded, "excluded": [excluded] })).await;
    }
    let held = w.reserve_all(json!({ "worker": "ann", "limit": 2 })).await;
    let give = |n: usize| json!({ "reservation": held[n].reservation, "to": "bob", "note": "" });
    let body = json!([give(0), give(1), { "reservation": "x", "to": "bob" }]).to_string();
    let answer = w.post_text("/jobs/hand-over", body).await.is(200);
    assert_eq!(answer["jobs"][0]["error"]["rule"], "excluded", "{answer}");
    assert_eq!(answer["jobs"][1]["state"], "waiting", "{answer}");
    assert_eq!(answer["jobs"][2]["error"]["status"], 422, "{answer}");
    assert_eq!(w.reserve_as("bob").await.body["note"], json!(null), "ann has nothing to say");
    w.check().await;
}
