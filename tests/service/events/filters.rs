//! Filters of a stream: queue, type, client, worker, batch; and the requests that are refused.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::world::{Took, World, batch_verbs::items};

#[tokio::test]
async fn stream_sends_only_events_that_match_its_filters() {
    let w = World::start().await;
    for queue in ["a", "b"] {
        w.enqueue_with(json!({ "queue": queue, "payload": "before" })).await;
    }
    let mut all = w.listen("?queue=default&queue=a&queue=b").await;
    type Wants = fn(&Value, &str) -> bool;
    let filters: [(&str, Wants); 8] = [
        ("?queue=a,b", |event, _| event["queue"] != "default"),
        ("?type=reserved", |event, _| event["queue"] == "default" && event["type"] == "reserved"),
        ("?queue=a,default&type=completed,dead&type=enqueued", |event, _| {
            event["queue"] != "b" && ["completed", "dead", "enqueued"].iter().any(|kind| event["type"] == *kind)
        }),
        ("?client=acme", |event, _| event["queue"] == "default" && event["client"] == "acme"),
        ("?worker=ann&queue=default&queue=a", |event, _| event["queue"] != "b" && event["worker"] == "ann"),
        ("?batch=", |event, batch| event["batch"] == batch),
        ("?type=batch-completed&batch=", |event, batch| event["type"] == "batch-completed" && event["batch"] == batch),
        ("?client=acme&worker=ann&type=completed", |event, _| {
            let (kind, client, worker) = (&event["type"], &event["client"], &event["worker"]);
            event["queue"] == "default" && kind == "completed" && client == "acme" && worker == "ann"
        }),
    ];
    let (batch, another) = (
        w.create_batch(json!({ "client": "acme", "sealed": false })).await,
        w.create_batch(json!({ "sealed": false })).await,
    );
    let mut listeners = Vec::new();
    for (filter, wants) in filters {
        let filter = if filter.ends_with('=') { format!("{filter}{batch}") } else { filter.to_owned() };
        listeners.push((w.listen(&filter).await, wants, filter));
    }
    for batch in [&batch, &another] {
        w.append(batch, &items(0..2)).await.is(200);
        w.seal(batch).await.is(200);
    }
    for n in 0..4 {
        let queue = ["default", "a", "b"][n % 3];
        let client = if n % 2 == 0 { "acme" } else { "other" };
        w.enqueue_with(json!({ "queue": queue, "payload": n, "client": client, "max_attempts": 1 })).await;
    }
    for queue in ["default", "a", "b"] {
        for n in 0.. {
            let worker = ["ann", "bob"][n % 2];
            let held = w.reserve_all(json!({ "queues": [queue], "worker": worker })).await;
            let Some(held) = held.first() else { break };
            let _ = if n % 3 == 1 { w.fail(held).await } else { w.complete(held).await }.is(200);
        }
        // A mark in each queue that no filter selects: `all` reads up to the third.
        w.configure(queue, json!({ "paused": true })).await;
    }
    let mut heard = Vec::new();
    while heard.iter().filter(|event: &&Value| event["type"] == "paused").count() < 3 {
        heard.extend(all.read_events(1).await);
    }
    for (mut listener, wants, filter) in listeners {
        let mut expected: Vec<_> = heard.iter().filter(|event| wants(event, &batch)).cloned().collect();
        assert!(!expected.is_empty(), "{filter}");
        let mut received = listener.read_events(expected.len()).await;
        // Events of different queues have no order.
        for events in [&mut expected, &mut received] {
            events.sort_by_key(|event| event["queue"].to_string());
        }
        assert_eq!(received, expected, "{filter}");
    }
    w.check().await;
}

#[tokio::test]
async fn stream_with_invalid_parameters_or_cursor_is_refused() {
    let w = World::plan().with_default_redis_timeout().start().await;
    let seventeen = (0..17).map(|n| format!("q{n}")).collect::<Vec<_>>().join(",");
    let refused = async |query: &str, after: Option<&str>| match w.try_listen(query, after).await {
        Ok(_) => panic!("{query} {after:?} was accepted"),
        Err(refusal) => refusal,
    };
    for (query, parameters) in [
        ("?queue=", vec!["queue"]),
        ("?queue=a%20b", vec!["queue"]),
        ("?queue=a&queue=a", vec!["queue"]),
        (&format!("?queue={seventeen}"), vec!["queue"]),
        ("?type=born", vec!["type"]),
        ("?type=", vec!["type"]),
        ("?type=heartbeat", vec!["type"]),
        ("?batch=x", vec!["batch"]),
        ("?batch=default-7ZZZZZZZZZZZZZZZZZZZZZZZZZ", vec!["batch"]),
        ("?client=", vec!["client"]),
        ("?client=a&client=b", vec!["client"]),
        ("?worker=%00&after=1&wait_ms=5", vec!["worker", "after", "wait_ms"]),
    ] {
        let refusal = refused(query, None).await;
        assert_eq!(refusal.status, 422, "{query}");
        refusal.invalid_by("parameter", &parameters);
    }
    for id in [
        "x",
        "default",
        "default@",
        "default@1-0",
        "default@1-0-0-0",
        "default@1-0-x",
        "a b@1-0-0",
        "@1-0-0",
        ",",
        "default@1-0-0,",
    ] {
        let refusal = refused("", Some(id)).await;
        assert_eq!(refusal.status, 422, "{id}");
        refusal.invalid_by("header", &["Last-Event-ID"]);
    }
    // An EventSource sends an empty id before its first event.
    w.listen_after("", "").await;
    w.engine.freeze();
    let begin = Instant::now();
    let refusal = refused("?queue=fresh", None).await;
    assert_eq!(refusal.status, 503);
    refusal.refused("unavailable");
    Took::since(begin).assert_within(Duration::from_millis(2_500), "the answer");
    w.engine.thaw();
    w.check().await;
}

#[tokio::test]
async fn preflight_allows_last_event_id_for_an_allowed_origin() {
    let w = World::plan().flag("--cors-origin", "https://desk.example").start().await;
    let preflight = w
        .request("OPTIONS", "/events")
        .header("origin", "https://desk.example")
        .header("access-control-request-method", "GET")
        .header("access-control-request-headers", "last-event-id")
        .send()
        .await;
    assert!((200..300).contains(&preflight.status), "{preflight:?}");
    let allowed = preflight.header("access-control-allow-headers").expect("allowed").to_lowercase();
    assert!(allowed.contains("last-event-id"), "{allowed}");
}

/// A reader of one queue does not learn of another, and a stream does not create its queue.
#[tokio::test]
async fn listening_does_not_create_the_queue() {
    let w = World::start().await;
    let mut listener = w.listen("?queue=nowhere,default").await;
    sleep(Duration::from_millis(100)).await;
    assert_eq!(w.get("/queues").await.is(200)["queues"], json!([]));
    let id = w.enqueue(1).await;
    assert_eq!(listener.read_events(1).await[0]["job"], id.as_str());
    assert_eq!(w.get("/queues").await.is(200)["queues"].as_array().map(Vec::len), Some(1));
    w.check().await;
}
