//! Sockets of those who dawdle, and of too many at once.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
};

use crate::world::{Client, World, eventually};

/// Opens a socket, says something, goes on saying `drip`, and answers what came until the service closed it.
async fn dawdle(address: String, hello: String, drip: &'static str) -> String {
    let mut socket = TcpStream::connect(address).await.expect("the service listens");
    socket.write_all(hello.as_bytes()).await.expect("open");
    let (mut reading, mut writing) = socket.into_split();
    let dripping = tokio::spawn(async move {
        while !drip.is_empty() && writing.write_all(drip.as_bytes()).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        std::future::pending::<()>().await;
    });
    let mut heard = Vec::new();
    let begin = Instant::now();
    let closed = tokio::time::timeout(Duration::from_secs(75), reading.read_to_end(&mut heard)).await;
    dripping.abort();
    assert!(closed.is_ok(), "still open after {:?}: {hello:?}", begin.elapsed());
    String::from_utf8_lossy(&heard).into_owned()
}

/// All of them at once: it takes as long as the longest patience of the service.
#[tokio::test]
async fn nobody_keeps_a_socket_by_being_slow() {
    let w = World::start().await;
    let address = w.address().to_owned();
    let mut sockets = JoinSet::new();
    let mut open = |name: &'static str, hello: &str, drip: &'static str| {
        let dawdling = dawdle(address.clone(), hello.to_owned(), drip);
        sockets.spawn(async move { (name, dawdling.await) });
    };
    open("mute", "", "");
    open("slow head", "GET /livez HTTP/1.1\r\nhost: localhost\r\n", "x-a: b\r\n");
    open("half a head", "POST /jobs HT", "");
    open("idle", "GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n", "");
    let body =
        "POST /jobs HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{";
    open("slow body", body, " ");
    open("no body", body, "");
    let chunked = "POST /jobs HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
    open("slow chunks", chunked, "1\r\n \r\n");
    while let Some(ended) = sockets.join_next().await {
        let (name, heard) = ended.expect("no panic");
        match name {
            "idle" => assert!(heard.starts_with("HTTP/1.1 200"), "{heard}"),
            "slow body" | "no body" | "slow chunks" => {
                assert!(heard.starts_with("HTTP/1.1 408"), "{name}: {heard}");
                assert!(heard.contains("/problems/request-timeout"), "{name}: {heard}");
            }
            _ => assert!(!heard.contains(" 200 "), "{name}: {heard}"),
        }
    }
    w.check().await;
}

#[tokio::test]
async fn a_caller_beyond_the_cap_waits_for_its_turn() {
    let w = World::plan().flag("--max-connections", "2").start().await;
    let first = TcpStream::connect(w.address()).await.expect("room");
    let second = TcpStream::connect(w.address()).await.expect("room");
    tokio::time::sleep(Duration::from_millis(50)).await;
    let fresh = Client::new(w.base());
    let third = tokio::spawn(async move { fresh.get("/livez").await.status });
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!third.is_finished(), "two are two");
    drop((first, second));
    assert_eq!(third.await.expect("answered"), 200);
    eventually("there is room", async || Some(w.get("/livez").await)).await;
}

#[tokio::test]
async fn hundreds_of_calls_at_once_each_have_their_own_answer() {
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
            assert_eq!(held.said["payload"], mine[&held.id], "nobody's answer is somebody else's");
        }
    }
    w.check().await;
}
