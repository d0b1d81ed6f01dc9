//! What of the past is kept, what a reader is told who wants more, and what becomes of one who does not read.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{Instant, sleep},
};

use crate::{
    events::stream::as_in_redis,
    world::{Client, World, eventually, http::Listener, keyspace},
};

/// So many jobs, each an event.
async fn enqueue(client: &Client, queue: &str, n: usize) {
    for from in (0..n).step_by(500) {
        let jobs = (from..n.min(from + 500)).map(|n| json!({ "queue": queue, "payload": n, "dedupe": false }));
        client.enqueue_many(jobs).await;
    }
}

/// All that is kept of a queue, as it is.
async fn kept(w: &World, queue: &str) -> Vec<keyspace::Event> {
    keyspace::events(&w.engine, queue).await
}

fn of(told: &[Value], queue: &str) -> Vec<keyspace::Event> {
    told.iter().filter(|event| event["queue"] == queue).map(as_in_redis).collect()
}

/// Gaps and events of some queues, up to the mark that the story sets in each.
async fn hear_all(w: &World, listener: &mut Listener, queues: &[&str]) -> (Vec<Value>, Vec<Value>) {
    for queue in queues {
        w.patch(&format!("/queues/{queue}"), json!({ "paused": true })).await.is(200);
    }
    let (mut gaps, mut told, mut marks) = (Vec::new(), Vec::new(), 0);
    while marks < queues.len() {
        let message = listener.next_event().await.expect("the stream goes on");
        match message.kind.as_str() {
            "gap" => gaps.push(message.data),
            "paused" => marks += 1,
            _ => told.push(message.data),
        }
    }
    (gaps, told)
}

#[tokio::test]
async fn who_comes_back_for_more_than_is_kept_is_told_of_the_gap_and_then_what_is_there() {
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
        "before anything of it"
    );
    let mut last = w.listen_after(query, &id).await;
    let (gaps, told) = hear_all(&w, &mut last, &["default", "small"]).await;
    assert_eq!(gaps, [json!({ "queue": "default" })], "of this queue, and once");
    assert_eq!(of(&told, "default"), before, "all that is there");
    assert_eq!(of(&told, "small").len(), 1, "of the other queue everything was there");
    w.check().await;
}

/// The place of one who came before anything had happened is a place as well.
#[tokio::test]
async fn who_was_there_from_the_very_beginning_is_told_of_a_gap_like_anybody() {
    let w = World::start().await;
    let mut listener = w.listen("").await;
    listener.next().await.expect("a heartbeat");
    let id = listener.last_id.clone();
    drop(listener);
    w.enqueue_many((0..3).map(|n| json!({ "payload": n }))).await;
    let mut again = w.listen_after("", &id).await;
    let (gaps, told) = hear_all(&w, &mut again, &["default"]).await;
    assert_eq!((gaps.len(), told.len()), (0, 3), "nothing is missing yet");
    w.update_settings(json!({ "paused": false })).await;
    enqueue(&w, "default", 12_500).await;
    w.sweep().await;
    let before = kept(&w, "default").await;
    let mut again = w.listen_after("", &id).await;
    let (gaps, told) = hear_all(&w, &mut again, &["default"]).await;
    assert_eq!(of(&told, "default"), before);
    assert_eq!(gaps, [json!({ "queue": "default" })], "more than two thousand are missing");
    w.check().await;
}

/// The instance could not read for a while, and what it missed is not kept: its readers cannot know unless they are told.
#[tokio::test]
async fn a_reader_whose_instance_was_cut_off_for_too_long_is_told_of_the_gap() {
    let w = World::start().await;
    let wired = w.start_wired_instance().await;
    let mut listener = wired.listen("").await;
    w.enqueue("heard").await;
    listener.read_events(1).await;
    wired.freeze(true);
    for n in 0..60 {
        w.enqueue(n).await;
    }
    // As the sweep does when there are ten thousand.
    let _: u64 = w.engine.run("XTRIM intray:{default}:2:events MAXLEN 20").await;
    wired.freeze(false);
    let (mut gap, mut told) = (false, Vec::new());
    while told.len() < 20 {
        match listener.next_event().await {
            Some(message) if message.kind == "gap" => gap = true,
            Some(message) => {
                assert!(gap || told.len() > 20, "{} comes 40 too late and nobody says so", message.data);
                told.push(message.data);
            }
            None => listener = wired.listen_after("", &listener.last_id.clone()).await,
        }
    }
    assert!(gap);
    assert_eq!(of(&told, "default"), kept(&w, "default").await);
}

/// A socket that listens to the queue, and is not read.
async fn listen_and_do_not_read(client: &Client) -> TcpStream {
    let mut stream = TcpStream::connect(client.address()).await.expect("the service listens");
    let call = b"GET /events HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    stream.write_all(call).await.expect("open");
    let mut head = [0; 64];
    assert!(stream.read(&mut head).await.expect("an answer") > 0);
    assert!(head.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&head));
    stream
}

/// Large events, many of them: more than any socket takes.
async fn make_noise(client: &Client, n: usize) {
    let noise = "\"".repeat(128);
    for from in (0..n).step_by(250) {
        let job = |n: usize| json!({ "payload": n, "client": noise, "dedupe": false });
        client.enqueue_many((from..from + 250).map(job)).await;
    }
}

#[tokio::test]
async fn a_reader_who_is_too_slow_is_cut_and_has_everything_when_they_come_back() {
    const NOISE: usize = 25_000;
    let w = World::start().await;
    let mut slow = listen_and_do_not_read(&w).await;
    let mut quick = w.listen("").await;
    let begin = Instant::now();
    let noisy = make_noise(&w, NOISE);
    let heard = quick.read_events(NOISE);
    let (_, heard) = tokio::join!(noisy, heard);
    eprintln!("{NOISE} events were heard by one who reads in {:?}", begin.elapsed());
    // Now it reads what the sockets hold, and finds the end of the stream there.
    let mut text = Vec::new();
    tokio::time::timeout(Duration::from_secs(20), slow.read_to_end(&mut text))
        .await
        .expect("an end")
        .unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let ids: Vec<_> = text.match_indices("\nid: ").map(|(at, _)| text[at + 5..].lines().next().unwrap_or("")).collect();
    let told = text.matches("event: enqueued").count();
    eprintln!("{told} of them by one who did not read");
    assert!(told > 0 && told < NOISE - 4_000, "{told}: it was not kept for them");
    // The last message may have been cut in the middle.
    let last = ids[ids.len() - 2];
    let mut again = w.listen_after("", last).await;
    let rest = again.read_events(1).await.remove(0);
    let at = heard.iter().position(|event| *event == rest).expect("an event");
    assert!(at >= told - 2 && at <= told, "it goes on where it was: {at}, {told}");
    w.check().await;
}

/// Such a reader is not waited for, and not paid for: the place is free again, and the memory with it.
#[tokio::test]
async fn a_reader_who_never_reads_loses_their_place() {
    let w = World::plan().flag("--max-connections", "2").start().await;
    let (_second, other) = w.start_instance().await;
    let stalled = [listen_and_do_not_read(&other).await, listen_and_do_not_read(&other).await];
    make_noise(&w, 25_000).await;
    let begin = Instant::now();
    // Both places are taken until the service gives them up on its own.
    let answer = other.get("/livez").await;
    assert_eq!(answer.status, 200);
    eprintln!("there was room after {:?}", begin.elapsed());
    assert!(begin.elapsed() < Duration::from_secs(45), "{:?}", begin.elapsed());
    drop(stalled);
    w.check().await;
}

#[tokio::test]
async fn readers_who_have_gone_leave_nothing_behind() {
    let w = World::start().await;
    let count = async || {
        let (_, n): (String, u64) = w.engine.run("PUBSUB NUMSUB intray:{default}:2:hints").await;
        n
    };
    let mut listeners = Vec::new();
    for _ in 0..20 {
        listeners.push(w.listen("").await);
    }
    assert_eq!(count().await, 1, "one connection for all of them");
    drop(listeners);
    // Once everybody has gone and not come back for a while.
    let begin = Instant::now();
    eventually("nobody listens any more", async || (count().await == 0).then_some(())).await;
    eprintln!("after {:?}", begin.elapsed());
    sleep(Duration::from_millis(10)).await;
    w.enqueue(1).await;
    let mut listener = w.listen("").await;
    w.enqueue(2).await;
    assert_eq!(listener.read_events(1).await.len(), 1);
    w.check().await;
}
