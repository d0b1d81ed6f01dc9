//! Who listens to what: what they asked for and nothing else, and what nobody can ask for.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::world::{World, batch_verbs::items};

#[tokio::test]
async fn a_listener_hears_what_they_asked_for_and_nothing_else() {
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
        // The end, which everybody can be told apart by: nobody has asked for it, so each reads up to their last.
        w.patch(&format!("/queues/{queue}"), json!({ "paused": true })).await.is(200);
    }
    let mut heard = Vec::new();
    while heard.iter().filter(|event: &&Value| event["type"] == "paused").count() < 3 {
        heard.extend(all.read_events(1).await);
    }
    for (mut listener, wants, filter) in listeners {
        let mut expected: Vec<_> = heard.iter().filter(|event| wants(event, &batch)).cloned().collect();
        assert!(!expected.is_empty(), "{filter}");
        let mut told = listener.read_events(expected.len()).await;
        // Queues have no order among each other.
        for events in [&mut expected, &mut told] {
            events.sort_by_key(|event| event["queue"].to_string());
        }
        assert_eq!(told, expected, "{filter}");
    }
    w.check().await;
}

#[tokio::test]
async fn a_stream_that_cannot_be_is_refused() {
    let w = World::start().await;
    let seventeen = (0..17).map(|n| format!("q{n}")).collect::<Vec<_>>().join(",");
    let refused = async |query: &str, after: Option<&str>| match w.try_listen(query, after).await {
        Ok(_) => panic!("{query} {after:?} is no question"),
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
    // What an EventSource sends before it has heard anything.
    w.listen_after("", "").await;
    w.engine.freeze();
    let begin = Instant::now();
    let refusal = refused("?queue=fresh", None).await;
    assert_eq!(refusal.status, 503);
    refusal.refused("unavailable");
    assert!(begin.elapsed() < Duration::from_millis(2_500), "{:?}", begin.elapsed());
    w.engine.thaw();
    w.check().await;
}

#[tokio::test]
async fn a_page_of_an_allowed_origin_may_listen_and_come_back() {
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

/// Nobody who reads one queue is told what happens in another, and a listener is no reason for a queue to be.
#[tokio::test]
async fn listening_to_a_queue_does_not_make_it() {
    let w = World::start().await;
    let mut listener = w.listen("?queue=nowhere,default").await;
    sleep(Duration::from_millis(100)).await;
    assert_eq!(w.get("/queues").await.is(200)["queues"], json!([]));
    let id = w.enqueue(1).await;
    assert_eq!(listener.read_events(1).await[0]["job"], id.as_str());
    assert_eq!(w.get("/queues").await.is(200)["queues"].as_array().map(Vec::len), Some(1));
    w.check().await;
}
