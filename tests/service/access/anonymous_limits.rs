//! Limits for callers without a credential.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
};

use crate::world::{Client, World, access::key, calls::calls_of, eventually};

const KEYS: [(&str, &str, &str); 2] = [("web", "producer", "*"), ("desk", "worker", "*")];

/// A well-formed reservation that does not exist.
fn made_up(queue: &str, n: usize) -> String {
    format!("{queue}-{n:026}.{n:026}")
}

fn complete(reservation: &str) -> Value {
    json!({ "reservation": reservation, "result": 1 })
}

/// Calls of the library, by whichever way; the plain EVAL of the look at the restart marker is none.
async fn scripts_run(w: &World) -> u64 {
    calls_of(&w.engine.calls().await, &["fcall", "evalsha"])
}

/// Opens a connection and sends a head of a settle call, and so much of its body.
async fn half_a_body(w: &Client, announced: usize, sent: usize, header: &str) -> TcpStream {
    let mut socket = TcpStream::connect(w.address()).await.expect("the service listens");
    let head = format!(
        "POST /jobs/complete HTTP/1.1\r\nhost: localhost\r\ncontent-type: text/plain\r\n{header}content-length: {announced}\r\n\r\n"
    );
    socket.write_all(head.as_bytes()).await.expect("open");
    // A refused caller may be disconnected while it still sends.
    let _ = socket.write_all(&vec![b' '; sent]).await;
    socket
}

/// The status of an answer that arrives within 500 ms.
async fn status(socket: &mut TcpStream) -> Option<u16> {
    status_within(Duration::from_millis(500), socket).await
}

/// One that comes for certain: before the body is given up, after 30 s.
async fn certain_status(socket: &mut TcpStream) -> Option<u16> {
    status_within(Duration::from_secs(20), socket).await
}

async fn status_within(limit: Duration, socket: &mut TcpStream) -> Option<u16> {
    let mut received = [0; 12];
    let read = tokio::time::timeout(limit, socket.read_exact(&mut received)).await;
    read.ok()?.ok()?;
    std::str::from_utf8(&received[9..]).ok()?.parse().ok()
}

#[tokio::test]
async fn anonymous_settle_of_unknown_queues_runs_no_script() {
    let w = World::plan().own_process().with_keys(&KEYS).start().await;
    w.enqueue(1).await;
    let held = w.reserve().await;
    let stranger = w.without_credential();
    let before = scripts_run(&w).await;
    for call in ["extend", "complete", "abandon", "fail"] {
        let items: Vec<_> = (0..100).map(|n| json!({ "reservation": made_up(&format!("{call}-{n}"), n) })).collect();
        let answer = stranger.post(&format!("/jobs/{call}"), json!(items)).await;
        if answer.status == 200 {
            for item in answer.json()["jobs"].as_array().expect("jobs") {
                assert_eq!(item["error"]["reason"], "unknown", "{item}");
            }
        }
    }
    assert_eq!(scripts_run(&w).await, before, "no script runs for unknown queues");
    let figures = w.get("/metrics").await.text();
    assert!(!figures.contains("complete-1") && !figures.contains("extend-1"), "{figures}");
    assert!(figures.contains("intray_transitions_total{queue=\"default\",transition=\"reserved\"}"), "{figures}");
    let (_fresh, fresh) = w.start_instance().await;
    fresh.without_credential().complete(&held).await.is(200);
    w.check().await;
}

#[tokio::test]
async fn settle_works_when_the_registry_lost_the_queue() {
    let w = World::start().await;
    w.enqueue(1).await;
    let held = w.reserve().await;
    let (_fresh, fresh) = w.start_instance().await;
    let _: u64 = w.engine.run("ZREM intray:2:queues default").await;
    fresh.complete(&held).await.is(200);
    w.enqueue(2).await;
    let _: String = w.engine.run("ZADD intray:2:queues NX 1 default").await;
    w.check().await;
}

#[tokio::test]
async fn anonymous_bodies_are_limited_to_their_memory_share() {
    let w = World::plan().with_keys(&KEYS).start().await;
    w.enqueue_many((0..3).map(|n| json!({ "payload": n }))).await;
    let held = w.reserve_as("ann").await;
    let mut sockets = Vec::new();
    for _ in 0..40 {
        sockets.push(half_a_body(&w, 1 << 20, (1 << 20) - 1, "").await);
    }
    // Refused callers get an answer; the others get none yet.
    let mut taken: Vec<_> = sockets.iter_mut().collect();
    eventually("bodies over the limit are refused", async || {
        let mut silent = Vec::new();
        for socket in std::mem::take(&mut taken) {
            match status(socket).await {
                None => silent.push(socket),
                Some(status) => assert_eq!(status, 503),
            }
        }
        taken = silent;
        (taken.len() <= 8).then_some(())
    })
    .await;
    assert!(taken.len() >= 4, "{} taken", taken.len());
    // Large bodies that grew together may all be refused, so smaller ones fill the rest.
    let mut smaller = Vec::new();
    eventually("there is no room for a small one", async || {
        for _ in 0..8 {
            smaller.push(half_a_body(&w, 100 << 10, (100 << 10) - 1, "").await);
        }
        let last = smaller.last_mut().expect("eight");
        (status(last).await? == 503).then_some(())
    })
    .await;
    let stranger = w.without_credential();
    let large = json!({ "reservation": held.reservation, "result": "x".repeat(100 << 10) });
    let problem = stranger.post("/jobs/complete", large.clone()).await.refused("unavailable");
    assert_eq!(problem["applied"], false);
    assert!(problem["retry_after_ms"].is_u64(), "{problem}");
    stranger.extend(&held).await.is(200);
    let of_worker = w.with_credential(&key("desk")).reserve_as("bob").await;
    let known = json!({ "reservation": of_worker.reservation, "result": "x".repeat(100 << 10) });
    w.with_credential(&key("desk")).post("/jobs/complete", known).await.is(200);
    drop((sockets, smaller));
    eventually("there is room again", async || {
        let answer = stranger.post("/jobs/complete", large.clone()).await;
        (answer.status == 200).then_some(())
    })
    .await;
    w.check().await;
}

#[tokio::test]
async fn anonymous_bodies_and_heads_have_size_limits() {
    let w = World::plan().with_keys(&KEYS).start().await;
    let announced = certain_status(&mut half_a_body(&w, (1 << 20) + 1, 10, "").await).await;
    assert_eq!(announced, Some(413), "refused before it comes");
    let mut chunked = TcpStream::connect(w.address()).await.expect("the service listens");
    let head =
        "POST /jobs/fail HTTP/1.1\r\nhost: localhost\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n";
    chunked.write_all(head.as_bytes()).await.expect("open");
    for _ in 0..9 {
        let chunk = format!("20000\r\n{}\r\n", " ".repeat(0x20000));
        let _ = chunked.write_all(chunk.as_bytes()).await;
    }
    let logged = eventually("it is refused", async || status(&mut chunked).await).await;
    assert_eq!(logged, 413);
    let bearer = format!("authorization: Bearer {}\r\n", key("desk"));
    let known = certain_status(&mut half_a_body(&w, 2 << 20, 2 << 20, &bearer).await).await;
    assert_eq!(known, Some(400), "it is read, and no JSON");
    let mut long = TcpStream::connect(w.address()).await.expect("the service listens");
    let head = format!("GET /livez HTTP/1.1\r\nhost: localhost\r\nx-a: {}", "x".repeat(66 << 10));
    let _ = long.write_all(head.as_bytes()).await;
    assert_eq!(certain_status(&mut long).await, Some(431), "of an unfinished head no more than 64 KiB is kept");
    w.check().await;
}

/// Sends unknown reservations until the rate limit; answers the number of calls.
async fn guess(client: &Client) -> usize {
    for n in 0..5_000 {
        let items: Vec<_> = (0..20).map(|i| complete(&made_up("default", n * 20 + i))).collect();
        let answer = client.post("/jobs/complete", json!(items)).await;
        if answer.status == 429 {
            assert!(answer.refused("rate-limited")["retry_after_ms"].is_u64());
            return n;
        }
        answer.is(200);
    }
    panic!("100,000 guesses were not limited");
}

#[tokio::test]
async fn guesses_from_an_address_do_not_block_valid_settles() {
    let w = World::plan().with_keys(&KEYS).start().await;
    w.enqueue_many((0..200).map(|n| json!({ "payload": n }))).await;
    let mut people = Vec::new();
    for n in 0..200 {
        people.push(w.reserve_as(&format!("person {n}")).await);
    }
    let stranger = w.without_credential();
    guess(&stranger).await;
    let guessing = tokio::spawn({
        let stranger = stranger.clone();
        async move {
            loop {
                stranger.post("/jobs/complete", json!([complete(&made_up("default", 1))])).await;
                stranger.post_text("/jobs/complete", "nonsense").await;
            }
        }
    });
    let mut calls = JoinSet::new();
    for held in people {
        let client = stranger.clone();
        calls.spawn(async move {
            client.extend(&held).await.is(200);
            let sent = json!([complete(&held.reservation), complete(&made_up("default", 7))]);
            let answer = client.post("/jobs/complete", sent).await.is(200);
            assert_eq!(answer["jobs"][0]["state"], "completed", "{answer}");
        });
    }
    while let Some(call) = calls.join_next().await {
        call.expect("a valid reservation is never refused");
    }
    guessing.abort();
    let operator = w.post("/jobs/complete", json!([complete(&made_up("default", 1))])).await;
    operator.is(200);
    w.check().await;
}

#[tokio::test]
async fn forwarded_addresses_count_only_from_trusted_proxies() {
    let mut w = World::plan().with_keys(&KEYS).flag("--trusted-proxy", "127.0.0.0/8").start().await;
    let miss = |client: &Client, from: &str, n: usize| {
        let items: Vec<_> = (0..100).map(|i| complete(&made_up("default", n * 100 + i))).collect();
        let request = client.without_credential().request("POST", "/jobs/complete");
        request.header("x-forwarded-for", from).json(json!(items).to_string()).send()
    };
    eventually("the rate limit applies", async || (miss(&w, "192.0.2.1", 1).await.status == 429).then_some(())).await;
    assert_eq!(miss(&w, "192.0.2.1, 192.0.2.2", 2).await.status, 200, "the last forwarded address counts");
    w.set_flag("--trusted-proxy", "192.0.2.77");
    let (_plain, plain) = w.start_instance().await;
    let mut limited = false;
    for n in 0..100 {
        limited |= miss(&plain, &format!("192.0.2.{n}"), n).await.status == 429;
    }
    assert!(limited, "an untrusted header is ignored");
    w.check().await;
}

/// Proxies write addresses in several forms; an invalid form is logged once and not at every call.
#[tokio::test]
async fn invalid_forwarded_address_is_logged_once() {
    let w = World::plan().own_process().with_keys(&KEYS).flag("--trusted-proxy", "127.0.0.1").start().await;
    let stranger = w.without_credential();
    let call = async |forwarded: &str| {
        let request = stranger.request("POST", "/jobs/complete").header("x-forwarded-for", forwarded);
        request.json(json!([complete(&made_up("default", 1))]).to_string()).send().await
    };
    let logged = || w.service.output().matches("X-Forwarded-For").count();
    for understood in ["8.8.8.8:4711", "[2001:db8::1]", "[2001:db8::1]:443", "\"[2001:db8::1]:443\""] {
        call(understood).await;
    }
    for _ in 0..3 {
        for odd in ["unknown", "_hidden", "desk.example"] {
            call(odd).await;
        }
    }
    eventually("it is logged", async || (logged() > 0).then_some(())).await;
    assert_eq!(logged(), 1, "{}", w.service.output());
    assert!(w.service.output().contains("\"unknown\""), "{}", w.service.output());
    w.check().await;
}

/// Failed attempts count for the address without its port.
#[tokio::test]
async fn forwarded_addresses_are_compared_without_ports() {
    let w = World::plan().with_keys(&KEYS).flag("--trusted-proxy", "127.0.0.1").start().await;
    let stranger = w.without_credential();
    let miss = async |forwarded: &str, times: usize| {
        let items: Vec<_> = (0..times).map(|n| complete(&made_up("default", n))).collect();
        let request = stranger.request("POST", "/jobs/complete").header("x-forwarded-for", forwarded);
        request.json(json!(items).to_string()).send().await.status
    };
    for port in 0..4 {
        miss(&format!("8.8.8.8:{port}"), 100).await;
    }
    assert_eq!(miss("8.8.8.8:9", 100).await, 429, "another port is the same caller");
    assert_eq!(miss("[2001:db8::1]:443", 1).await, 200);
    assert_eq!(miss("9.9.9.9:1", 1).await, 200);
    w.check().await;
}
