//! Slow clients and too many connections.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
};

use crate::world::{Client, SLOW_MACHINE, World, eventually, hurried_wait};

/// Opens a socket, sends `hello`, keeps sending `drip`, and returns all received bytes when the service closes it.
async fn send_slowly(address: String, hello: String, drip: &'static str) -> String {
    let mut socket = TcpStream::connect(address).await.expect("the service listens");
    socket.write_all(hello.as_bytes()).await.expect("open");
    let (mut reading, mut writing) = socket.into_split();
    let dripping = tokio::spawn(async move {
        while !drip.is_empty() && writing.write_all(drip.as_bytes()).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        std::future::pending::<()>().await;
    });
    let mut heard = Vec::new();
    let begin = Instant::now();
    let closed =
        tokio::time::timeout(hurried_wait(Duration::from_secs(75)) + SLOW_MACHINE, reading.read_to_end(&mut heard))
            .await;
    dripping.abort();
    assert!(closed.is_ok(), "still open after {:?}: {hello:?}", begin.elapsed());
    String::from_utf8_lossy(&heard).into_owned()
}

/// One complete call on a connection that stays open.
async fn call_livez(socket: &mut TcpStream) {
    socket.write_all(b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n").await.expect("open");
    let mut heard = Vec::new();
    while !heard.ends_with(b"\r\n\r\nok") {
        assert!(socket.read_buf(&mut heard).await.expect("open") > 0, "{}", String::from_utf8_lossy(&heard));
    }
}

/// All cases run together, for as long as the longest timeout of the service.
#[tokio::test]
async fn slow_and_silent_connections_time_out() {
    let w = World::plan().hurried().start().await;
    let address = w.address().to_owned();
    let mut sockets = JoinSet::new();
    let mut open = |name: &'static str, hello: &str, drip: &'static str| {
        let slow_client = send_slowly(address.clone(), hello.to_owned(), drip);
        sockets.spawn(async move { (name, slow_client.await) });
    };
    open("mute", "", "");
    open("slow head", "GET /livez HTTP/1.1\r\nhost: localhost\r\n", "x-a: b\r\n");
    open("half a head", "POST /jobs HT", "");
    let body =
        "POST /jobs HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{";
    open("slow body", body, " ");
    open("no body", body, "");
    let chunked = "POST /jobs HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
    open("slow chunks", chunked, "1\r\n \r\n");
    let mut idle = TcpStream::connect(w.address()).await.expect("the service listens");
    call_livez(&mut idle).await;
    while let Some(ended) = sockets.join_next().await {
        let (name, heard) = ended.expect("no panic");
        match name {
            "slow body" | "no body" | "slow chunks" => {
                assert!(heard.starts_with("HTTP/1.1 408"), "{name}: {heard}");
                assert!(heard.contains("/problems/request-timeout"), "{name}: {heard}");
            }
            _ => assert!(!heard.contains(" 200 "), "{name}: {heard}"),
        }
    }
    call_livez(&mut idle).await;
    w.check().await;
}

/// A client that the backlog refuses retries after one, two, and four seconds.
#[tokio::test]
async fn burst_of_connections_is_queued_while_busy() {
    const CROWD: usize = 500;
    let w = World::start_process().await;
    w.service.signal(libc::SIGSTOP);
    let mut connecting = JoinSet::new();
    for _ in 0..CROWD {
        let address = w.address().to_owned();
        connecting
            .spawn(async move { tokio::time::timeout(Duration::from_secs(10), TcpStream::connect(address)).await });
    }
    let connected = connecting.join_all().await;
    w.service.signal(libc::SIGCONT);
    let accepted = connected.iter().filter(|connected| matches!(connected, Ok(Ok(_)))).count();
    assert_eq!(accepted, CROWD, "the system queues them until they are accepted");
    w.check().await;
}

#[tokio::test]
async fn caller_over_max_connections_waits_its_turn() {
    let w = World::plan().flag("--max-connections", "2").start().await;
    let wait = |queue: &str| {
        let client = Client::new(w.base());
        let body = json!({ "queues": [queue], "wait_ms": 30_000 });
        tokio::spawn(async move { client.post("/jobs/reserve", body).await.is(200) })
    };
    let (first, second) = (wait("a"), wait("b"));
    eventually("both wait", async || {
        (w.engine.hint_subscribers("a").await + w.engine.hint_subscribers("b").await == 2).then_some(())
    })
    .await;
    let fresh = Client::new(w.base());
    let third = tokio::spawn(async move { fresh.get("/livez").await.status });
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert!(!third.is_finished(), "the third waits");
    assert!(!first.is_finished() && !second.is_finished(), "a caller that waits for an answer is not cut");
    first.abort();
    assert_eq!(third.await.expect("answered"), 200);
    second.abort();
    eventually("a connection is free", async || Some(w.get("/livez").await)).await;
    w.check().await;
}

#[tokio::test]
async fn silent_sockets_do_not_block_other_callers() {
    let w = World::plan().flag("--max-connections", "20").start().await;
    let waiting = Client::new(w.base());
    let held =
        tokio::spawn(async move { waiting.send_reserve(json!({ "wait_ms": 30_000, "worker": "ann" })).await.is(200) });
    eventually("a caller waits", async || (w.engine.hint_subscribers("default").await == 1).then_some(())).await;
    let mut mute = Vec::new();
    let half = "POST /jobs HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{";
    for hello in ["", "GET /liv", half].repeat(15) {
        let mut socket = TcpStream::connect(w.address()).await.expect("the service listens");
        socket.write_all(hello.as_bytes()).await.expect("open");
        mute.push(socket);
    }
    let fresh = Client::new(w.base());
    let honest = tokio::time::timeout(Duration::from_secs(20), fresh.enqueue(1));
    honest.await.expect("an honest caller is served next to silent ones");
    assert_eq!(held.await.expect("answered")["jobs"][0]["worker"], "ann", "earlier callers are still served");
    drop(mute);
    w.check().await;
}

#[tokio::test]
async fn max_connections_beyond_the_system_limit_warns() {
    let w = World::plan().own_process().flag("--max-connections", "5000").start().await;
    let (asked, _) = w.start_instance_after("ulimit -n 4096").await;
    let output = asked.output();
    let line = output.lines().find(|line| line.contains("open files")).expect("a warning");
    assert!(line.contains("WARN") && line.contains("max_connections=5000") && line.contains("served=4032"), "{line}");
}

#[tokio::test]
async fn connections_leave_files_free_within_the_system_limit() {
    let w = World::start_process().await;
    let figure = async |client: &Client, name: &str| {
        let text = client.get("/metrics").await.text();
        let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no {name}"));
        line.rsplit(' ').next().and_then(|n| n.parse::<f64>().ok()).expect("a number")
    };
    let (_soft, client) = w.start_instance_after("ulimit -Sn 128; ulimit -Hn 1024").await;
    assert!((figure(&client, "process_max_fds ").await - 1_024.0).abs() < 0.5, "the hard limit is used");
    let (hard, client) = w.start_instance_after("ulimit -n 160").await;
    assert_eq!(hard.output().matches("--max-connections").count(), 1, "{}", hard.output());
    let (usual, _) = w.start_instance_after("ulimit -n 4096").await;
    assert!(!usual.output().contains("open files"), "4,032 are enough unless more are asked for: {}", usual.output());
    let mut mute = Vec::new();
    for _ in 0..300 {
        mute.push(TcpStream::connect(client.address()).await.expect("the service listens"));
    }
    let fresh = Client::new(client.base());
    let honest = tokio::time::timeout(Duration::from_secs(20), fresh.enqueue(1));
    honest.await.expect("an honest caller is served");
    assert!(figure(&client, "process_open_fds ").await < 150.0, "some files are left for other uses");
    assert!(!hard.output().contains("cannot accept"), "{}", hard.output());
    drop(mute);
    w.check().await;
}

#[tokio::test]
async fn hundreds_of_concurrent_calls_get_their_own_answers() {
    let w = World::start().await;
    let mut calls = JoinSet::new();
    for n in 0..400 {
        let client = (*w).clone();
        calls.spawn(async move {
            let id = client.enqueue(n).await;
            (n, id)
        });
    }
    let mut mine = std::collections::BTreeMap::new();
    while let Some(call) = calls.join_next().await {
        let (n, id) = call.expect("answered");
        mine.insert(id, n);
    }
    assert_eq!(mine.len(), 400);
    for _ in 0..4 {
        for held in w.reserve_all(json!({ "limit": 100 })).await {
            assert_eq!(held.body["payload"], mine[&held.id], "each caller got its own answer");
        }
    }
    w.check().await;
}

/// A proxy could use the other length, and take a part of this request for a request of another caller.
#[tokio::test]
async fn request_with_two_lengths_closes_its_connection() {
    let w = World::start().await;
    for lengths in
        ["content-length: 4\r\ntransfer-encoding: chunked\r\n", "transfer-encoding: chunked\r\ncontent-length: 4\r\n"]
    {
        let head = "POST /jobs HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
        let body = r#"{"payload":1,"dedupe":false}"#;
        let hidden = "GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n";
        let hello = format!("{head}{lengths}\r\n{:x}\r\n{body}\r\n0\r\n\r\n{hidden}", body.len());
        let heard = send_slowly(w.address().to_owned(), hello, "").await;
        assert_eq!(heard.matches("HTTP/1.1 ").count(), 1, "{lengths}: {heard}");
        assert!(heard.starts_with("HTTP/1.1 201") && heard.contains("connection: close"), "{lengths}: {heard}");
    }
    w.check().await;
}
