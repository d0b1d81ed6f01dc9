//! The last events of a queue, newest first.

use serde_json::{Value, json};

use crate::world::World;

async fn page(w: &World, query: &str) -> Value {
    w.get(&format!("/queues/default/events?{query}")).await.is(200)
}

fn events(page: &Value) -> &[Value] {
    page["events"].as_array().expect("events")
}

fn kinds(page: &Value) -> Vec<&str> {
    events(page).iter().map(|event| event["type"].as_str().expect("a type")).collect()
}

/// All pages, one after another.
async fn all(w: &World, limit: usize) -> Vec<Value> {
    let (mut found, mut after) = (Vec::new(), String::new());
    loop {
        let page = page(w, &format!("limit={limit}{after}")).await;
        assert!(events(&page).len() <= limit);
        found.extend(events(&page).iter().cloned());
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => return found,
        }
    }
}

#[tokio::test]
async fn recent_events_come_newest_first() {
    let w = World::start().await;
    let id = w.enqueue("mine").await;
    let held = w.reserve_as("ann").await;
    w.fail_with(&held, "no such page").await.is(200);
    w.update_settings(json!({ "paused": true })).await;
    let recent = page(&w, "").await;
    assert_eq!(kinds(&recent), ["paused", "failed", "reserved", "enqueued"]);
    assert_eq!(recent["next"], Value::Null);
    let failed = &events(&recent)[1];
    assert_eq!(
        (&failed["job"], &failed["reason"], &failed["worker"]),
        (&json!(id), &json!("no such page"), &json!("ann"))
    );
    assert_eq!(kinds(&page(&w, "limit=1").await), ["paused"]);
    w.get("/queues/nowhere/events").await.refused("unknown-queue");
    w.get("/queues/default/events?after=x&limit=101").await.invalid_by("parameter", &["after", "limit"]);
    w.check().await;
}

#[tokio::test]
async fn pages_of_recent_events_miss_none() {
    let w = World::start().await;
    w.enqueue_many((0..70).map(|n| json!({ "payload": n }))).await;
    for n in 100..150 {
        w.enqueue(n).await;
    }
    w.enqueue_many((200..230).map(|n| json!({ "payload": n }))).await;
    let whole = all(&w, 100).await;
    assert_eq!(whole.len(), 150);
    let mut ids: Vec<_> = whole.iter().map(|event| event["job"].to_string()).collect();
    ids.dedup();
    assert_eq!(ids.len(), 150);
    for limit in [1, 7, 50, 99] {
        assert_eq!(all(&w, limit).await, whole, "pages of {limit}");
    }
}

#[tokio::test]
async fn redis_route_reports_used_and_max_memory() {
    let w = World::start().await;
    let nodes = |answer: Value| answer["nodes"].as_array().expect("nodes").clone();
    let found = nodes(w.get("/redis").await.is(200));
    assert!(found.iter().all(|node| node["used_bytes"].as_u64().expect("bytes") > 100_000), "{found:?}");
    let _: String = w.engine.run("CONFIG SET maxmemory 3gb").await;
    let found = nodes(w.get("/redis").await.is(200));
    assert!(found.iter().any(|node| node["max_bytes"] == 3_u64 << 30), "{found:?}");
    let _: String = w.engine.run("CONFIG SET maxmemory 0").await;
    let found = nodes(w.get("/redis").await.is(200));
    assert!(found.iter().all(|node| node["max_bytes"].is_null()), "{found:?}");
    w.get("/redis?x=1").await.invalid_by("parameter", &["x"]);
}
