//! A reserve over several queues is one call, also when their limits differ.

use serde_json::{Value, json};

use crate::world::{World, assert_contains};

async fn in_queue(w: &World, queue: &str, worker_limit: u64, payload: &str) -> String {
    w.configure(queue, json!({ "worker_limit": worker_limit })).await;
    w.enqueue_with(json!({ "queue": queue, "payload": payload })).await
}

async fn of_both_under_a_key(w: &World, key: &str) -> Vec<Value> {
    let body = json!({ "queues": ["m1", "m2"], "worker": "ann" }).to_string();
    let request = w.request("POST", "/jobs/reserve").header("idempotency-key", key).json(body);
    request.send().await.is(200)["jobs"].as_array().expect("jobs").clone()
}

#[tokio::test]
async fn repeated_reserve_with_a_key_stays_in_its_queue() {
    for worker_limit in [0, 2] {
        let w = World::start().await;
        in_queue(&w, "m1", worker_limit, "a").await;
        let other = in_queue(&w, "m2", worker_limit, "b").await;
        let first = of_both_under_a_key(&w, "k").await;
        assert_eq!(first[0]["payload"], "a");
        for _ in 0..2 {
            let again = of_both_under_a_key(&w, "k").await;
            assert_eq!((again.len(), &again[0]["reservation"]), (1, &first[0]["reservation"]), "limit {worker_limit}");
        }
        assert_eq!(w.state(&other).await, "waiting", "limit {worker_limit}");
        let next = of_both_under_a_key(&w, "k2").await;
        assert_eq!((next.len(), &next[0]["id"]), (1, &json!(other)), "another key is another call");
        w.check().await;
    }
}

#[tokio::test]
async fn worker_limit_of_one_queue_resumes_jobs_of_all() {
    let w = World::start().await;
    let first = in_queue(&w, "x1", 1, "a").await;
    let second = in_queue(&w, "x2", 0, "b").await;
    for queue in ["x1", "x2"] {
        w.reserve_with(json!({ "queues": [queue], "worker": "ann" })).await;
        w.advance_clock(10);
    }
    let again = w.reserve_all(json!({ "queues": ["x1", "x2"], "worker": "ann", "limit": 10 })).await;
    assert_eq!(again.iter().map(|job| &job.id).collect::<Vec<_>>(), [&first, &second]);
    for job in &again {
        assert_contains(&job.body, json!({ "resumed": true, "resumes": 1, "attempt": 1 }));
    }
    w.check().await;
}

#[tokio::test]
async fn rotate_order_serves_queues_in_turn() {
    let w = World::start().await;
    let queues: Vec<_> = (0..8).map(|n| format!("part-{n}")).collect();
    for round in 0..2 {
        w.enqueue_many(queues.iter().map(|queue| json!({ "queue": queue, "payload": round }))).await;
    }
    let rotating = json!({ "queues": queues, "order": "rotate" });
    let mut given = Vec::new();
    for _ in 0..8 {
        given.push(w.reserve_with(rotating.clone()).await.body["queue"].as_str().expect("a queue").to_owned());
        // A rotation over other queues does not change this one.
        w.empty_reason(json!({ "queues": ["elsewhere", "nowhere"], "order": "rotate" })).await;
    }
    assert_eq!(given, queues, "each in its turn");
    // The other queues follow the first, so that a reserve finds a job in any of them.
    let rest = json!({ "queues": queues, "order": "rotate", "limit": 2 });
    for queue in &queues[1..] {
        w.reserve_with(json!({ "queues": [queue] })).await;
    }
    assert_eq!(w.reserve_with(rest.clone()).await.body["queue"], "part-0");
    assert_eq!(w.empty_reason(rest).await, "reserved");
    let listed = json!({ "queues": ["part-1", "part-0"], "order": "listed" });
    w.enqueue_many(queues.iter().map(|queue| json!({ "queue": queue, "payload": "more" }))).await;
    for _ in 0..2 {
        let held = w.reserve_with(listed.clone()).await;
        assert_eq!(held.body["queue"], "part-1");
        w.abandon(&held).await.is(200);
    }
    w.check().await;
}

#[tokio::test]
async fn invalid_reserve_order_is_refused() {
    let w = World::start().await;
    let id = w.enqueue(1).await;
    w.send_reserve(json!({ "order": "random" })).await.invalid_at(&["/order"]);
    w.send_reserve(json!({ "order": 1 })).await.invalid_at(&["/order"]);
    w.send_reserve(json!({ "order": "rotate", "id": id })).await.invalid_at(&["/order"]);
    assert_eq!(w.reserve_with(json!({ "order": "rotate" })).await.id, id);
    w.check().await;
}
