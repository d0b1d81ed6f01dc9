//! The registry of queues: limits, pages, and repair of lost entries.

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::world::{World, eventually};

async fn names(w: &World) -> Vec<String> {
    let answer = w.get("/queues").await.is(200);
    let names = answer["queues"].as_array().expect("queues").iter();
    names.map(|queue| queue["name"].as_str().expect("a name").to_owned()).collect()
}

#[tokio::test]
async fn queue_lost_from_the_registry_is_listed_again() {
    let w = World::plan().sweep_every(100).start().await;
    let id = w.enqueue_with(json!({ "payload": 1, "delay_ms": 1_000 })).await;
    assert_eq!(names(&w).await, ["default"]);
    let lost: u64 = w.engine.run("ZREM intray:2:queues default").await;
    assert_eq!(lost, 1);
    w.advance_clock(1_000);
    eventually("the queue is listed", async || (names(&w).await == ["default"]).then_some(())).await;
    eventually("its jobs fall due", async || (w.state(&id).await == "waiting").then_some(())).await;
    w.check().await;
}

#[tokio::test]
async fn queues_beyond_max_queues_are_refused() {
    let w = World::plan().flag("--max-queues", "3").start().await;
    for queue in ["a", "b", "c"] {
        w.send_enqueue(json!({ "queue": queue, "payload": 1 })).await.is(201);
    }
    let (_second, other) = w.start_instance().await;
    for client in [&*w, &other] {
        let refused = client.send_enqueue(json!({ "queue": "d", "payload": 1 })).await;
        assert_eq!(refused.status, 429);
        assert!(refused.refused("too-many-queues")["retry_after_ms"].is_u64());
        client.patch("/queues/d", json!({ "paused": true })).await.refused("too-many-queues");
        let batch = json!({ "queue": "d", "jobs": [{ "payload": 1 }] });
        client.post("/batches", batch).await.refused("too-many-queues");
        let each = client.post("/jobs", json!([{ "queue": "d", "payload": 2 }, { "queue": "a", "payload": 2 }])).await;
        let each = each.is(200);
        assert_eq!(each["jobs"][0]["error"]["type"], "/problems/too-many-queues");
        assert_eq!(each["jobs"][1]["state"], "waiting", "existing queues accept jobs");
    }
    let kept: Vec<String> = w.engine.run("KEYS intray:{d}:*").await;
    assert_eq!((names(&w).await, kept), (["a", "b", "c"].map(str::to_owned).to_vec(), Vec::new()));
    w.check().await;
}

#[tokio::test]
async fn max_queues_holds_across_instances() {
    let w = World::plan().flag("--max-queues", "10").start().await;
    let (_second, other) = w.start_instance().await;
    let mut calls = JoinSet::new();
    for n in 0..60 {
        let client = if n % 2 == 0 { (*w).clone() } else { other.clone() };
        calls.spawn(async move { client.send_enqueue(json!({ "queue": format!("q{n}"), "payload": 1 })).await.status });
    }
    let made = calls.join_all().await.into_iter().filter(|status| *status == 201).count();
    assert_eq!((made, names(&w).await.len()), (10, 10));
    w.check().await;
}

#[tokio::test]
async fn queues_are_paged_by_name() {
    let w = World::start().await;
    let all: Vec<_> = (0..7).map(|n| format!("q{n}")).collect();
    w.enqueue_many(all.iter().rev().map(|queue| json!({ "queue": queue, "payload": 1 }))).await;
    let (mut found, mut after) = (Vec::<Value>::new(), String::new());
    loop {
        let page = w.get(&format!("/queues?limit=3{after}")).await.is(200);
        let queues = page["queues"].as_array().expect("queues");
        assert!(queues.len() <= 3);
        found.extend(queues.iter().map(|queue| queue["name"].clone()));
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    assert_eq!(found, all);
    assert_eq!(w.get("/queues?limit=7").await.is(200)["next"], Value::Null, "a full last page has no cursor");
    for (query, parameter) in [("limit=0", "limit"), ("limit=1001", "limit"), ("after=%20", "after")] {
        w.get(&format!("/queues?{query}")).await.invalid_by("parameter", &[parameter]);
    }
    w.check().await;
}

/// A wait on unknown queues keeps nothing after it ends.
#[tokio::test]
async fn waits_on_unknown_queues_leave_no_subscription() {
    let w = World::start().await;
    let channels = async || {
        let names: Vec<String> = w.engine.run("PUBSUB CHANNELS intray:*").await;
        names.len()
    };
    for n in 0..40 {
        let made_up: Vec<_> = (0..16).map(|i| format!("none-{n}-{i}")).collect();
        w.post("/jobs/reserve", json!({ "queues": made_up, "wait_ms": 20 })).await.is(200);
    }
    let all_closed = async {
        while channels().await > 0 {
            tokio::task::yield_now().await
        }
    };
    let closed = tokio::time::timeout(std::time::Duration::from_secs(8), all_closed).await;
    assert!(closed.is_ok(), "{} of 640 channels are still subscribed", channels().await);
    w.check().await;
}

#[tokio::test]
async fn one_of_many_calls_at_once_makes_the_queue() {
    let w = World::start().await;
    let (_second, other) = w.start_instance().await;
    let mut calls = JoinSet::new();
    for n in 0..60 {
        let client = if n % 2 == 0 { (*w).clone() } else { other.clone() };
        let path = format!("/queues/q{}", n % 10);
        calls.spawn(async move { client.patch(&path, json!({ "lease_ms": 5_000 })).await });
    }
    let mut made = Vec::new();
    for answer in calls.join_all().await {
        let queue = answer.is(if answer.status == 201 { 201 } else { 200 });
        assert_eq!(queue["created"], answer.status == 201, "{queue}");
        made.extend((answer.status == 201).then(|| queue["name"].to_string()));
    }
    made.sort();
    assert_eq!(made, (0..10).map(|n| format!("\"q{n}\"")).collect::<Vec<_>>());
    w.check().await;
}
