//! The fields of a batch with an overlap, alone and in an array.

use serde_json::{Value, json};

use crate::world::{World, assert_contains, batch_verbs::known};

fn workers(count: usize) -> Value {
    (0..count).map(|n| format!("w{n}")).collect::<Vec<_>>().into()
}

#[tokio::test]
async fn wrong_fields_are_refused_at_their_pointers() {
    let w = World::start().await;
    let job = json!({ "payload": 1 });
    for (batch, pointers) in [
        (json!({ "overlap": 1, "job": job }), &["/overlap"][..]),
        (json!({ "overlap": 10, "job": job }), &["/overlap"]),
        (json!({ "overlap": "3", "job": job }), &["/overlap"]),
        (json!({ "overlap": 3 }), &["/job"]),
        (json!({ "overlap": 3, "job": [job] }), &["/job"]),
        (json!({ "overlap": 3, "job": {} }), &["/job/payload"]),
        (json!({ "overlap": 3, "job": { "payload": 1, "locks": ["a"] } }), &["/job/locks"]),
        (json!({ "overlap": 3, "job": { "payload": 1, "priority": 5 } }), &["/job/priority"]),
        (json!({ "overlap": 3, "job": { "payload": 1, "assignees": workers(2) } }), &["/job/assignees"]),
        (
            json!({ "overlap": 3, "job": { "payload": 1, "assignees": workers(4), "excluded": ["w1", "w3"] } }),
            &["/job/assignees"],
        ),
        (json!({ "overlap": 3, "job": job, "jobs": [job] }), &["/jobs"]),
        (json!({ "overlap": 3, "job": job, "concurrency": 2, "sealed": false }), &["/concurrency", "/sealed"]),
        (json!({ "overlap": 3, "job": job, "sealed": true }), &["/sealed"]),
        (json!({ "overlap": 3, "job": { "payload": 1, "expires_at": "2000-01-01T00:00:00Z" } }), &["/job/expires_at"]),
        (json!({ "job": job, "sealed": false }), &["/job"]),
    ] {
        w.post("/batches", batch.clone()).await.invalid_at(pointers);
        if batch["overlap"].is_null() {
            continue;
        }
        let answer = w.post("/batches", json!([batch])).await.is(200);
        let errors = answer["batches"][0]["error"]["errors"].as_array().expect("errors").clone();
        let found: Vec<_> = errors.iter().map(|error| error["pointer"].as_str().expect("a pointer")).collect();
        assert_eq!(found, pointers, "{batch}");
    }
    w.post("/batches", json!([])).await.invalid_at(&[""]);
    assert_eq!(w.queue().await["totals"]["enqueued"], 0, "nothing was stored");
    let max =
        json!({ "overlap": 9, "priority": 0, "client": "acme", "job": { "payload": 1, "excluded": workers(16) } });
    w.create_batch(max).await;
    let enough = json!({ "payload": 1, "assignees": workers(4), "excluded": ["w1", "other"] });
    w.create_batch(json!({ "overlap": 3, "job": enough })).await;
    w.check().await;
}

#[tokio::test]
async fn key_of_batches_guards_whatever_was_stored_by_it() {
    let w = World::start().await;
    let keyed = |key: &str, body: Value| {
        w.request("POST", "/batches").header("idempotency-key", key).json(body.to_string()).send()
    };
    let (one, bad) = (json!({ "overlap": 2, "job": { "payload": 1 } }), json!({ "overlap": 1 }));
    let plain = json!({ "jobs": [{ "payload": 1 }] });
    for (n, first) in [json!([bad, one]), json!([one]), one.clone(), plain.clone()].into_iter().enumerate() {
        let key = format!("key-{n}");
        let stored = keyed(&key, first.clone()).await.is(201);
        let before = w.queue().await["totals"]["enqueued"].clone();
        for other in [
            json!([one, one]),
            json!([bad, bad, one]),
            json!({ "overlap": 3, "job": { "payload": 1 } }),
            json!({ "jobs": [] }),
        ] {
            keyed(&key, other.clone()).await.refused("idempotency-key-reused");
        }
        assert_eq!(keyed(&key, first).await.is(201), known(stored), "the same call again");
        assert_eq!(w.queue().await["totals"]["enqueued"], before);
    }
    w.check().await;
}

#[tokio::test]
async fn body_that_begins_as_an_array_and_is_no_json_is_refused() {
    let w = World::start().await;
    for body in ["[", "[{\"overlap\":2,\"job\":{\"payload\":1}},{\"queue\"", "[]x", " [1,]", "[{}]]"] {
        let refused = w.post_text("/batches", body).await;
        assert_eq!((refused.status, refused.refused("not-json")["status"].clone()), (400, json!(400)), "{body}");
    }
    w.get("/queues/default").await.refused("unknown-queue");
    w.check().await;
}

#[tokio::test]
async fn batches_of_an_array_stand_in_line_in_its_order() {
    let w = World::start().await;
    w.update_settings(json!({ "worker_limit": 0 })).await;
    let batches: Vec<_> = (0..20).map(|n| json!({ "overlap": 2, "job": { "payload": n } })).collect();
    w.post("/batches", json!(batches)).await.is(201);
    let held = w.reserve_all(json!({ "worker": "ann", "limit": 20 })).await;
    let order: Vec<_> = held.iter().map(|held| held.body["payload"].clone()).collect();
    assert_eq!(json!(order), json!((0..20).collect::<Vec<_>>()));
    w.check().await;
}

#[tokio::test]
async fn array_stores_each_batch_or_says_why_not() {
    let w = World::start().await;
    let job = json!({ "payload": 1 });
    let batches = json!([{ "overlap": 2, "job": job }, { "overlap": 0, "job": job }, { "overlap": 3, "job": job }]);
    let answer = w.post("/batches", batches).await;
    assert_eq!(answer.header("location"), None);
    let answer = answer.is(201);
    assert_contains(&answer["batches"][0], json!({ "state": "sealed", "counts": { "waiting": 2, "total": 2 } }));
    assert_eq!(answer["batches"][1]["error"]["status"], 422);
    assert_eq!(answer["batches"][2]["counts"]["total"], 3);
    assert_eq!(w.queue().await["counts"]["waiting"], 5);
    let many = vec![json!({ "overlap": 2, "job": job }); 101];
    w.post("/batches", json!(many)).await.refused("too-many-items");
    assert_eq!(w.queue().await["counts"]["waiting"], 5);
    w.check().await;
}

#[tokio::test]
async fn repeated_call_makes_each_batch_once() {
    let w = World::start().await;
    let keyed = |body: &Value| w.request("POST", "/batches").header("idempotency-key", "k").json(body.to_string());
    let batches = json!([{ "overlap": 2, "job": { "payload": 1 } }, { "overlap": 2, "job": { "payload": 1 } }]);
    let first = keyed(&batches).send().await.is(201);
    assert_ne!(first["batches"][0]["id"], first["batches"][1]["id"]);
    assert_eq!(keyed(&batches).send().await.is(201), known(first));
    assert_eq!(w.queue().await["counts"]["waiting"], 4);
    let batch = &batches[0];
    let more = json!([batch, batch, { "overlap": 3, "job": { "payload": 2 } }]);
    for others in [json!([{ "overlap": 3, "job": { "payload": 1 } }]), more, json!([batch]), batch.clone()] {
        keyed(&others).send().await.refused("idempotency-key-reused");
    }
    assert_eq!(w.queue().await["counts"]["waiting"], 4);
    w.check().await;
}
