//! The stream of events: every transition once, in order, to whoever wants to hear of it.

use std::{collections::BTreeSet, time::Duration};

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::world::{
    World, assert_holds,
    batch_verbs::{items, member},
    contract::CONTRACT,
    keyspace,
    waiters::AT_ONCE,
};

/// An event as a stream told it, in the shape of what is read in Redis: without its time and its batch.
pub fn as_in_redis(told: &Value) -> keyspace::Event {
    let text = |key: &str| told[key].as_str().unwrap_or_default().to_owned();
    let queue = format!("{}-{}", text("queue"), "0".repeat(26));
    let job = [text("job"), text("batch"), queue].into_iter().find(|id| !id.is_empty()).expect("one of them");
    keyspace::Event { kind: text("type"), job, worker: text("worker"), client: text("client"), note: text("reason") }
}

/// What was told is what is in Redis.
pub async fn assert_all_told(w: &World, queue: &str, told: &[Value]) {
    let told: Vec<_> = told.iter().filter(|event| event["queue"] == queue).map(as_in_redis).collect();
    let happened = keyspace::events(&w.engine, queue).await;
    let differs = told.iter().zip(&happened).position(|(told, happened)| told != happened);
    if let Some(at) = differs {
        panic!("{queue}: the {at}th of {} was told as\n{:?}\nand is\n{:?}", happened.len(), told[at], happened[at]);
    }
    assert_eq!(told.len(), happened.len(), "{queue}: so many were told, and so many there are");
}

/// Things happen of which each type of event tells, in the queue `default`.
async fn a_day(w: &World) {
    let put = |n: u64| json!({ "payload": ["day", n], "client": "acme", "max_attempts": 2 });
    let first = w.enqueue_as(put(1)).await;
    let held = w.reserve_as("ann").await;
    w.reserve_as("ann").await;
    w.extend(&held).await.is(200);
    let words = json!({ "reservation": held.reservation, "reason": "lunch: \"12:00\"\nback at 1 \u{2028}" });
    w.post("/jobs/abandon", words).await.is(200);
    w.prioritize(&first, 3).await.is(200);
    w.fail_with(&w.reserve_as("bob").await, "no\r\n\r\nevent: fake").await.is(200);
    w.fail(&w.reserve_as("bob").await).await.is(200);
    assert_eq!(w.requeue(&first).await, 1);
    w.reserve_as("ann").await;
    w.release(&first).await;
    w.reserve_as("ann").await;
    w.pass(300_000);
    w.sweep().await;
    w.complete(&w.reserve_as("ann").await).await.is(200);
    for n in [2, 3] {
        w.enqueue_as(json!({ "payload": ["day", n], "locks": ["l"], "priority": n })).await;
    }
    let second = w.reserve().await;
    assert_eq!(w.nothing(json!({})).await, "blocked");
    w.pass(300_000);
    w.complete(&second).await.is(200);
    let late = w.enqueue_as(json!({ "payload": ["day", 4], "delay_ms": 1_000 })).await;
    w.pass(1_000);
    w.sweep().await;
    w.cancel(&late).await.is(200);
    w.set(json!({ "paused": true })).await;
    w.set(json!({ "paused": false })).await;
    w.complete(&w.reserve().await).await.is(200);
    let batch = w.create_batch(json!({ "client": "b\u{fc}ro", "concurrency": 1, "jobs": items(0..2) })).await;
    // Row 6: one who comes to the head of the line at a full gate is blocked then and there.
    w.post(
        "/jobs",
        json!([{ "payload": 9, "locks": ["m"], "priority": 1 }, { "payload": 8, "locks": ["m"], "priority": 1 }]),
    )
    .await
    .is(200);
    assert_eq!(w.reserve_all(json!({ "limit": 3 })).await.len(), 2);
    w.cancel_by_force(&member(&batch, 0)).await.is(200);
    w.cancel_by_force(&member(&batch, 1)).await.is(200);
    w.delete("/queues/default?state=all&force=true").await.is(200);
}

#[tokio::test]
async fn a_stream_tells_every_type_of_transition_once_and_in_order_at_every_instance() {
    let w = World::start().await;
    let (_second, other) = w.another().await;
    let (mut here, mut there) = (w.listen("").await, other.listen("?queue=default").await);
    let mut gone = other.listen("").await;
    a_day(&w).await;
    let n = w.events().await.len();
    let heard = here.hear(n).await;
    assert_eq!(there.hear(n).await, heard);
    assert_all_told(&w, "default", &heard).await;
    let types: BTreeSet<_> = heard.iter().map(|event| event["type"].as_str().expect("a type").to_owned()).collect();
    assert_eq!(types, CONTRACT.event_types().into_iter().collect(), "each type that is documented");
    let times: Vec<_> = heard.iter().map(|event| event["at"].as_str().expect("a time")).collect();
    assert!(times.is_sorted());
    assert_eq!(gone.hear(1).await, heard[..1]);
    drop(gone);
    w.check().await;
}

#[tokio::test]
async fn an_event_says_what_happened_to_what_and_by_whom() {
    let w = World::start().await;
    let mut listener = w.listen("").await;
    let id = w.enqueue_as(json!({ "payload": 1, "client": "acme" })).await;
    let held = w.reserve_as("ann").await;
    let words = json!({ "reservation": held.reservation, "reason": "lunch" });
    w.post("/jobs/abandon", words).await.is(200);
    w.cancel(&id).await.is(200);
    let batch = w.create_batch(json!({ "client": "acme", "jobs": items(0..1) })).await;
    let of_batch = w.reserve_as("bob").await;
    w.fail_with(&of_batch, "torn").await.is(200);
    w.cancel_batch(&batch).await.is(200);
    w.set(json!({ "paused": true })).await;
    let (nobody, acme) = (json!(null), json!("acme"));
    let event = |kind: &str, job: Value, batch: &Value, worker: &str, client: &Value, reason: &str| {
        let word = |word: &str| if word.is_empty() { json!(null) } else { json!(word) };
        json!({
            "type": kind, "queue": "default", "job": job, "batch": batch, "worker": word(worker), "client": client,
            "reason": word(reason),
        })
    };
    let (job, of, mine) = (json!(id), json!(batch), json!(member(&batch, 0)));
    let expected = [
        event("enqueued", job.clone(), &nobody, "", &acme, ""),
        event("reserved", job.clone(), &nobody, "ann", &acme, ""),
        event("abandoned", job.clone(), &nobody, "ann", &acme, "lunch"),
        event("cancelled", job, &nobody, "", &acme, ""),
        event("enqueued", mine.clone(), &of, "", &acme, ""),
        event("reserved", mine.clone(), &of, "bob", &acme, ""),
        event("failed", mine.clone(), &of, "bob", &acme, "torn"),
        event("cancelled", mine, &of, "", &acme, ""),
        event("batch-completed", nobody.clone(), &of, "", &acme, "cancelled"),
        event("paused", nobody.clone(), &nobody, "", &nobody, ""),
    ];
    for (told, expected) in listener.hear(expected.len()).await.iter().zip(expected) {
        assert_holds(told, expected);
    }
    w.check().await;
}

#[tokio::test]
async fn a_listener_hears_what_they_asked_for_and_nothing_else() {
    let w = World::start().await;
    for queue in ["a", "b"] {
        w.enqueue_as(json!({ "queue": queue, "payload": "before" })).await;
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
        w.enqueue_as(json!({ "queue": queue, "payload": n, "client": client, "max_attempts": 1 })).await;
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
        heard.extend(all.hear(1).await);
    }
    for (mut listener, wants, filter) in listeners {
        let mut expected: Vec<_> = heard.iter().filter(|event| wants(event, &batch)).cloned().collect();
        assert!(!expected.is_empty(), "{filter}");
        let mut told = listener.hear(expected.len()).await;
        // Queues have no order among each other.
        for events in [&mut expected, &mut told] {
            events.sort_by_key(|event| event["queue"].to_string());
        }
        assert_eq!(told, expected, "{filter}");
    }
    w.check().await;
}

#[tokio::test]
async fn what_happens_is_told_at_once_at_another_instance_too() {
    let w = World::start().await;
    let (_second, other) = w.another().await;
    let mut listener = other.listen("?queue=new").await;
    let mut took = Vec::new();
    for n in 0..100 {
        let begin = Instant::now();
        let id = w.enqueue_as(json!({ "queue": "new", "payload": n })).await;
        assert_eq!(listener.hear(1).await[0]["job"], id.as_str());
        took.push(begin.elapsed());
    }
    took.sort();
    eprintln!("from a call to its event at another instance: median {:?}, worst {:?}", took[50], took[99]);
    assert!(took[50] < Duration::from_millis(200) && took[99] < Duration::from_secs(2), "{took:?}");
    w.check().await;
}

#[tokio::test]
async fn a_heartbeat_comes_at_once_and_every_fifteen_seconds_and_moves_on() {
    let w = World::start().await;
    let begin = Instant::now();
    let (mut idle, mut filtered) = (w.listen("?queue=nothing").await, w.listen("?type=dead").await);
    assert_eq!(filtered.next().await.expect("a heartbeat").kind, "heartbeat");
    let first = idle.next().await.expect("a heartbeat");
    assert_eq!((first.kind.as_str(), first.data), ("heartbeat", json!({})));
    assert!(begin.elapsed() < AT_ONCE);
    w.enqueue_many((0..5).map(|n| json!({ "payload": n }))).await;
    for _ in 0..2 {
        let begin = Instant::now();
        assert_eq!(idle.next().await.expect("a heartbeat").kind, "heartbeat");
        let pause = begin.elapsed();
        assert!(pause > Duration::from_secs(13) && pause < Duration::from_secs(17), "{pause:?}");
    }
    assert_eq!(filtered.next().await.expect("a heartbeat").kind, "heartbeat");
    // Nothing of what it did not want to hear is ahead of it.
    let mut again = w.listen_after("", &filtered.last_id).await;
    w.set(json!({ "paused": true })).await;
    assert_eq!(again.hear_until("paused").await, [] as [Value; 0]);
    w.check().await;
}

#[tokio::test]
async fn a_stream_that_cannot_be_is_refused() {
    let w = World::start().await;
    let seventeen = (0..17).map(|n| format!("q{n}")).collect::<Vec<_>>().join(",");
    let refused = async |query: &str, after: Option<&str>| match w.try_to_listen(query, after).await {
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
        refusal.blames_by("parameter", &parameters);
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
        refusal.blames_by("header", &["Last-Event-ID"]);
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
    assert_eq!(listener.hear(1).await[0]["job"], id.as_str());
    assert_eq!(w.get("/queues").await.is(200)["queues"].as_array().map(Vec::len), Some(1));
    w.check().await;
}
