//! Readers that reconnect continue after the last event that they received, at any instance and after any failure.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{task::JoinSet, time::sleep};

use crate::{
    events::stream::{assert_all_received, to_stored},
    world::{Client, World, batch_verbs::items, eventually, http::Message, wire::HintConnection},
};

#[tokio::test]
async fn stream_resumes_after_any_event_at_any_instance() {
    let w = World::start().await;
    let (_second, other) = w.start_instance().await;
    let query = "?queue=default,more";
    let mut listener = w.listen(query).await;
    // Several events of one script, one alone, and several in another queue.
    w.enqueue_many((0..7).map(|n| json!({ "payload": n }))).await;
    let held = w.reserve_all(json!({ "limit": 3 })).await;
    w.enqueue_many((0..3).map(|n| json!({ "queue": "more", "payload": n }))).await;
    w.complete(&held[0]).await.is(200);
    let mut heard: Vec<Message> = Vec::new();
    while heard.len() < 14 {
        heard.push(listener.next_event().await.expect("an event"));
    }
    for (n, message) in heard.iter().enumerate() {
        let client = if n % 2 == 0 { &other } else { &*w };
        let mut again = client.listen_after(query, &message.id).await;
        let mut rest = again.read_events(heard.len() - n - 1).await;
        let mut expected: Vec<_> = heard[n + 1..].iter().map(|message| message.data.clone()).collect();
        for events in [&mut rest, &mut expected] {
            events.sort_by_key(|event| event["queue"].to_string());
        }
        assert_eq!(rest, expected, "after event {n}");
    }
    // A queue without a cursor in the id starts now; a cursor without a requested queue is ignored.
    let mut narrow = other.listen_after("?queue=default,third", &heard[0].id).await;
    assert_eq!(narrow.read_events(10).await.len(), 10);
    w.enqueue_with(json!({ "queue": "third", "payload": 1 })).await;
    assert_eq!(narrow.read_events(1).await[0]["queue"], "third");
    w.check().await;
}

#[tokio::test]
async fn resumed_stream_survives_service_and_redis_restarts() {
    let mut w = World::plan().own_process().durable().start().await;
    let mut listener = w.listen("").await;
    let mut received = Vec::new();
    for (n, end) in ["restarted", "killed", "Redis restarted"].iter().enumerate() {
        w.enqueue_many((0..3).map(|m| json!({ "payload": [n, m] }))).await;
        received.extend(listener.read_events(2).await);
        match *end {
            "restarted" => {
                w.service.signal(libc::SIGTERM);
                received.extend(
                    listener.read_to_end().await.into_iter().filter(|m| m.data["type"].is_string()).map(|m| m.data),
                );
                w.service.wait_for_exit().await;
                w.restart().await;
            }
            "killed" => {
                w.service.kill();
                received.extend(
                    listener.read_to_end().await.into_iter().filter(|m| m.data["type"].is_string()).map(|m| m.data),
                );
                w.restart().await;
            }
            _ => {
                w.engine.kill();
                w.engine.revive().await;
                eventually("Redis is back", async || (w.get("/queues").await.status == 200).then_some(())).await;
            }
        }
        w.enqueue(json!([end])).await;
        listener = w.listen_after("", &listener.last_id).await;
    }
    w.update_settings(json!({ "paused": true })).await;
    received.extend(listener.read_events(w.events().await.len() - received.len()).await);
    assert_all_received(&w, "default", &received).await;
    w.check().await;
}

#[tokio::test]
async fn shutdown_ends_streams_with_staggered_retry_times() {
    let w = World::start_process().await;
    let (mut second, other) = w.start_instance().await;
    let mut listeners = Vec::new();
    for _ in 0..8 {
        listeners.push(other.listen("").await);
    }
    w.enqueue(1).await;
    for listener in &mut listeners {
        listener.read_events(1).await;
    }
    second.signal(libc::SIGTERM);
    let mut pauses = Vec::new();
    for listener in &mut listeners {
        let last = listener.read_to_end().await.pop().expect("a last message");
        pauses.push(last.retry.expect("a retry time"));
    }
    assert!(pauses.iter().all(|ms| (100..=5_000).contains(ms)), "{pauses:?}");
    pauses.sort();
    pauses.dedup();
    assert!(pauses.len() > 2, "not all at once: {pauses:?}");
    assert!(second.wait_for_exit().await.success());
    let id = w.enqueue(2).await;
    for listener in listeners {
        let mut again = w.listen_after("", &listener.last_id).await;
        assert_eq!(again.read_events(1).await[0]["job"], id.as_str(), "after the last received event");
    }
    w.check().await;
}

/// Reads until the marks, and reconnects at a random instance after a random number of messages.
async fn reads_on_and_off(clients: [Client; 2], query: &'static str, mut last_id: String, seed: u64) -> Vec<Value> {
    let (mut received, mut random, mut marks) = (Vec::new(), seed, 0);
    loop {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let client = &clients[(random >> 60) as usize % 2];
        let mut listener = client.listen_after(query, &last_id).await;
        for _ in 0..random >> 33 & 63 {
            let Some(message) = listener.next().await else { break };
            assert_ne!(message.kind, "gap");
            last_id = message.id;
            match message.kind.as_str() {
                // Each of the two queues has one.
                "unpaused" => marks += 1,
                "heartbeat" | "" => {}
                _ => received.push(message.data),
            }
            if marks == 2 {
                return received;
            }
        }
        sleep(Duration::from_millis(random >> 40 & 15)).await;
    }
}

/// Reserves jobs and ends them in every way.
async fn consume(client: Client, turn: usize, over: Arc<AtomicBool>) {
    let mut n = turn;
    while !over.load(Ordering::Relaxed) {
        let queue = ["default", "more"][n % 2];
        let request = json!({ "limit": 1 + n % 5, "wait_ms": 50, "queues": [queue] });
        for held in client.reserve_all(request).await {
            n += 1;
            let _ = match n % 5 {
                0 => client.abandon(&held).await,
                1 => client.fail(&held).await,
                2 => client.extend(&held).await,
                _ => client.complete(&held).await,
            };
        }
        n += 1;
    }
}

#[tokio::test]
async fn reconnecting_readers_under_load_get_each_event_once() {
    const QUERY: &str = "?queue=default,more";
    let w = World::plan().sweep_every(50).start().await;
    let (_second, other) = w.start_instance().await;
    let mut readers = JoinSet::new();
    let mut first = Vec::new();
    let begin = w.listen(QUERY).await.next().await.expect("a message").id;
    for seed in 0..6 {
        let clients = [(*w).clone(), other.clone()];
        // All streams are open before the first event.
        first.push(w.listen(QUERY).await);
        readers.spawn(reads_on_and_off(clients, QUERY, begin.clone(), seed + 1));
    }
    let over = Arc::new(AtomicBool::new(false));
    let mut crowd = JoinSet::new();
    for n in 0..4 {
        crowd.spawn(consume(if n % 2 == 0 { (*w).clone() } else { other.clone() }, n, over.clone()));
    }
    for n in 0..60 {
        let queue = ["default", "more"][n % 2];
        w.enqueue_many(
            (0..1 + n % 7 * 4).map(|m| json!({ "queue": queue, "payload": [n, m], "locks": [format!("{}", m % 9)] })),
        )
        .await;
        if n % 10 == 0 {
            w.create_batch(json!({ "queue": queue, "concurrency": 2, "jobs": items(0..5) })).await;
        }
        sleep(Duration::from_millis(20)).await;
    }
    over.store(true, Ordering::Relaxed);
    crowd.join_all().await;
    for queue in ["more", "default"] {
        w.configure(queue, json!({ "paused": true })).await;
    }
    // Both queues have a mark: after the second one all events were received.
    for listener in &mut first {
        let mut marks = 0;
        let mut received = Vec::new();
        while marks < 2 {
            let event = listener.read_events(1).await.remove(0);
            marks += usize::from(event["type"] == "paused");
            received.push(event);
        }
        assert_all_received(&w, "default", &received).await;
        assert_all_received(&w, "more", &received).await;
    }
    for queue in ["more", "default"] {
        w.configure(queue, json!({ "paused": false })).await;
    }
    let mut total = 0;
    for received in readers.join_all().await {
        for queue in ["default", "more"] {
            let happened: Vec<_> = crate::world::keyspace::events(&w.engine, queue)
                .await
                .into_iter()
                .filter(|event| event.kind != "unpaused")
                .collect();
            let mine: Vec<_> = received.iter().filter(|event| event["queue"] == queue).map(to_stored).collect();
            let differs = mine.iter().zip(&happened).position(|(received, happened)| received != happened);
            assert_eq!((differs, mine.len()), (None, happened.len()), "{queue}");
            total += mine.len();
        }
    }
    eprintln!("{total} events reached six readers");
    w.check().await;
}

#[tokio::test]
async fn stream_loses_no_event_when_redis_connections_fail() {
    let w = World::start().await;
    let wired = w.start_wired_instance().await;
    let mut listener = wired.listen("").await;
    let mut received = Vec::new();
    let mut enqueued = 0;
    for fault in ["well", "killed", "refused", "deaf", "silent", "frozen", "well"] {
        match fault {
            "killed" => drop(w.engine.run::<u64>("CLIENT KILL TYPE pubsub").await),
            "refused" => wired.hint_connection(HintConnection::Refused),
            "deaf" => wired.hint_connection(HintConnection::Silent),
            "silent" => wired.silence_hint_connections(),
            "frozen" => wired.freeze(true),
            _ => {}
        }
        for _ in 0..3 {
            enqueued += 1;
            w.enqueue(enqueued).await;
        }
        if fault == "frozen" {
            sleep(Duration::from_millis(2_500)).await;
            wired.freeze(false);
        }
        // The reader receives every event, whether the stream was cut or not.
        while received.len() < enqueued {
            match listener.next_event().await {
                Some(message) => received.push(message.data),
                None => listener = wired.listen_after("", &listener.last_id.clone()).await,
            }
        }
        wired.hint_connection(HintConnection::Open);
    }
    assert_all_received(&w, "default", &received).await;
    w.check().await;
}
