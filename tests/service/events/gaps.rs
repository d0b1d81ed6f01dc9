//! The retained part of the stream, the gap event after it, and readers that are too slow.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{Instant, sleep},
};

use crate::{
    events::stream::to_stored,
    world::{Client, SLOW_MACHINE, Took, World, eventually, http::Listener, hurried_wait, keyspace},
};

/// Enqueues `n` jobs, each an event.
async fn enqueue(client: &Client, queue: &str, n: usize) {
    for from in (0..n).step_by(500) {
        let jobs = (from..n.min(from + 500)).map(|n| json!({ "queue": queue, "payload": n, "dedupe": false }));
        client.enqueue_many(jobs).await;
    }
}

/// All retained events of a queue, as stored in Redis.
async fn kept(w: &World, queue: &str) -> Vec<keyspace::Event> {
    keyspace::events(&w.engine, queue).await
}

fn of(heard: &[Value], queue: &str) -> Vec<keyspace::Event> {
    heard.iter().filter(|event| event["queue"] == queue).map(to_stored).collect()
}

/// Collects gaps and events of the queues, up to a pause that this function sets in each as a mark.
async fn hear_all(w: &World, listener: &mut Listener, queues: &[&str]) -> (Vec<Value>, Vec<Value>) {
    for queue in queues {
        w.configure(queue, json!({ "paused": true })).await;
    }
    let (mut gaps, mut heard, mut marks) = (Vec::new(), Vec::new(), 0);
    while marks < queues.len() {
        let message = listener.next_event().await.expect("the stream is open");
        match message.kind.as_str() {
            "gap" => gaps.push(message.data),
            "paused" => marks += 1,
            _ => heard.push(message.data),
        }
    }
    (gaps, heard)
}

#[tokio::test]
async fn resume_before_the_oldest_event_gets_a_gap_first() {
    let w = World::start().await;
    let (_second, other) = w.start_instance().await;
    let query = "?queue=small,default";
    let mut listener = w.listen(query).await;
    w.enqueue_with(json!({ "queue": "small", "payload": 1 })).await;
    w.enqueue("first").await;
    listener.read_events(2).await;
    let id = listener.last_id.clone();
    drop(listener);
    w.enqueue_with(json!({ "queue": "small", "payload": 2 })).await;
    enqueue(&w, "default", 12_500).await;
    w.sweep().await;
    let before = kept(&w, "default").await;
    assert!((9_000..12_000).contains(&before.len()), "about ten thousand are kept: {}", before.len());

    let mut again = other.listen_after(query, &id).await;
    let mut first = Vec::new();
    while first.len() < 2 {
        let message = again.next_event().await.expect("an event");
        if message.kind == "gap" || message.data["queue"] == "default" {
            first.push(message);
        }
    }
    assert_eq!(
        (first[0].kind.as_str(), &first[0].data),
        ("gap", &json!({ "queue": "default" })),
        "the gap comes before the queue's events"
    );
    let mut last = w.listen_after(query, &id).await;
    let (gaps, heard) = hear_all(&w, &mut last, &["default", "small"]).await;
    assert_eq!(gaps, [json!({ "queue": "default" })], "one gap, for this queue only");
    assert_eq!(of(&heard, "default"), before, "all retained events");
    assert_eq!(of(&heard, "small").len(), 1, "the other queue has no gap");
    w.check().await;
}

/// A cursor from before the first event is a valid cursor.
#[tokio::test]
async fn cursor_from_before_the_first_event_gets_a_gap() {
    let w = World::start().await;
    let mut listener = w.listen("").await;
    listener.next().await.expect("a heartbeat");
    let id = listener.last_id.clone();
    drop(listener);
    w.enqueue_many((0..3).map(|n| json!({ "payload": n }))).await;
    let mut again = w.listen_after("", &id).await;
    let (gaps, heard) = hear_all(&w, &mut again, &["default"]).await;
    assert_eq!((gaps.len(), heard.len()), (0, 3), "nothing is missing yet");
    w.update_settings(json!({ "paused": false })).await;
    enqueue(&w, "default", 12_500).await;
    w.sweep().await;
    let before = kept(&w, "default").await;
    let mut again = w.listen_after("", &id).await;
    let (gaps, heard) = hear_all(&w, &mut again, &["default"]).await;
    assert_eq!(of(&heard, "default"), before);
    assert_eq!(gaps, [json!({ "queue": "default" })], "more than two thousand are missing");
    w.check().await;
}

/// The instance could not read for a while and the missed events are trimmed: only a gap informs its readers.
#[tokio::test]
async fn instance_cut_off_from_redis_sends_a_gap() {
    let w = World::start().await;
    let wired = w.start_wired_instance().await;
    let mut listener = wired.listen("").await;
    w.enqueue("heard").await;
    listener.read_events(1).await;
    wired.freeze(true);
    for n in 0..60 {
        w.enqueue(n).await;
    }
    // The sweep trims at ten thousand events; the test trims earlier.
    let _: u64 = w.engine.run("XTRIM intray:{default}:2:events MAXLEN 20").await;
    wired.freeze(false);
    let (mut gap, mut heard) = (false, Vec::new());
    while heard.len() < 20 {
        match listener.next_event().await {
            Some(message) if message.kind == "gap" => gap = true,
            Some(message) => {
                assert!(gap || heard.len() > 20, "{} comes after a gap that was not announced", message.data);
                heard.push(message.data);
            }
            None => listener = wired.listen_after("", &listener.last_id.clone()).await,
        }
    }
    assert!(gap);
    assert_eq!(of(&heard, "default"), kept(&w, "default").await);
}

/// Opens a stream on a socket that is not read.
async fn listen_and_do_not_read(client: &Client) -> TcpStream {
    let mut stream = TcpStream::connect(client.address()).await.expect("the service listens");
    let call = b"GET /events HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    stream.write_all(call).await.expect("open");
    let mut head = [0; 64];
    assert!(stream.read(&mut head).await.expect("an answer") > 0);
    assert!(head.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&head));
    stream
}

/// Enqueues large events, more than the socket buffers hold.
async fn make_noise(client: &Client, n: usize) {
    let noise = "\"".repeat(128);
    for from in (0..n).step_by(250) {
        let job = |n: usize| json!({ "payload": n, "client": noise, "dedupe": false });
        client.enqueue_many((from..from + 250).map(job)).await;
    }
}

#[tokio::test]
async fn slow_reader_is_cut_and_resumes_without_loss() {
    const NOISE: usize = 25_000;
    const PART: usize = 1_000;
    let w = World::start().await;
    let mut slow = listen_and_do_not_read(&w).await;
    let mut quick = w.listen("").await;
    let (begin, mut heard) = (Instant::now(), Vec::new());
    // In parts, so that a busy machine does not make this one slow too.
    while heard.len() < NOISE {
        make_noise(&w, PART).await;
        heard.extend(quick.read_events(PART).await);
    }
    eprintln!("{NOISE} events reached a fast reader in {:?}", begin.elapsed());
    // Reads what the sockets hold, and then the end of the stream.
    let mut text = Vec::new();
    tokio::time::timeout(Duration::from_secs(20), slow.read_to_end(&mut text))
        .await
        .expect("an end")
        .unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let ids: Vec<_> = text.match_indices("\nid: ").map(|(at, _)| text[at + 5..].lines().next().unwrap_or("")).collect();
    let received = text.matches("event: enqueued").count();
    eprintln!("{received} of them reached the slow reader");
    assert!(received > 0 && received < NOISE - 4_000, "{received}: the service does not buffer for a slow reader");
    // The last message may have been cut in the middle.
    let last = ids[ids.len() - 2];
    let mut again = w.listen_after("", last).await;
    let rest = again.read_events(1).await.remove(0);
    let at = heard.iter().position(|event| *event == rest).expect("an event");
    assert!(at >= received - 2 && at <= received, "the stream resumes after the last event: {at}, {received}");
    w.check().await;
}

/// The service does not wait for a stalled reader: it frees the connection and the memory.
#[tokio::test]
async fn stalled_reader_loses_its_connection() {
    let w = World::plan().hurried().flag("--max-connections", "2").start().await;
    let (_second, other) = w.start_instance().await;
    let stalled = [listen_and_do_not_read(&other).await, listen_and_do_not_read(&other).await];
    make_noise(&w, 25_000).await;
    let begin = Instant::now();
    // Both connections are in use until the service closes them.
    let answer = other.get("/livez").await;
    assert_eq!(answer.status, 200);
    eprintln!("there was room after {:?}", begin.elapsed());
    Took::since(begin).assert_within(hurried_wait(Duration::from_secs(45)) + SLOW_MACHINE, "the answer");
    drop(stalled);
    w.check().await;
}

#[tokio::test]
async fn closed_streams_end_the_subscription() {
    let w = World::plan().hurried().start().await;
    let count = async || {
        let (_, n): (String, u64) = w.engine.run("PUBSUB NUMSUB intray:{default}:2:hints").await;
        n
    };
    let mut listeners = Vec::new();
    for _ in 0..20 {
        listeners.push(w.listen("").await);
    }
    assert_eq!(count().await, 1, "one subscription for all streams");
    drop(listeners);
    // The subscription ends some time after the last stream.
    let begin = Instant::now();
    eventually("the subscription ends", async || (count().await == 0).then_some(())).await;
    eprintln!("after {:?}", begin.elapsed());
    sleep(Duration::from_millis(10)).await;
    w.enqueue(1).await;
    let mut listener = w.listen("").await;
    w.enqueue(2).await;
    assert_eq!(listener.read_events(1).await.len(), 1);
    w.check().await;
}
