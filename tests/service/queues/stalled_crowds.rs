//! Readers that take nothing of their answers, by several credentials of one tenant: another tenant reads all the time.

use futures_util::future::join_all;
use serde_json::json;
use tokio::{
    io::AsyncWriteExt,
    net::{TcpSocket, TcpStream},
};

use crate::world::{
    Client, World,
    access::{SECRET, key, signed},
    contract::NDJSON,
    eventually,
};

const LIST: &str = "/queues/a-big/jobs?state=waiting";

/// Large jobs of both tenants.
async fn world() -> World {
    let keys = [("a1", "viewer", "a-*"), ("a2", "viewer", "a-*"), ("ap", "producer", "a-*"), ("b", "viewer", "b-*")];
    let w = World::plan().own_process().with_keys(&keys).flag("--token-secret", SECRET).start().await;
    for (queue, many) in [("a-big", 40), ("b-big", 8)] {
        for n in 0..many {
            let payload = format!("{n}{}", "x".repeat(262_000));
            w.enqueue_with(json!({ "queue": queue, "payload": payload, "dedupe": false })).await;
        }
    }
    w.configure("a-big", json!({ "browse": true })).await;
    w
}

/// Exports of the list with these credentials; each takes nothing.
async fn stall(w: &World, credentials: &[String], of_each: usize, path: &str) -> Vec<TcpStream> {
    let address = w.address().parse().expect("an address");
    let mut stalled = Vec::new();
    for credential in credentials.iter().cycle().take(credentials.len() * of_each) {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.set_recv_buffer_size(4_096).expect("a small buffer");
        let mut socket = socket.connect(address).await.expect("the service listens");
        let call = format!(
            "GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {credential}\r\naccept: {NDJSON}\r\n\r\n"
        );
        socket.write_all(call.as_bytes()).await.expect("open");
        stalled.push(socket);
    }
    stalled
}

/// Until these credentials have all that they get. A reader that takes nothing is cut off in time, so more come until then.
async fn exhaust(w: &World, credentials: &[String], of_each: usize, path: &str) -> Vec<TcpStream> {
    let mut stalled = stall(w, credentials, of_each, path).await;
    eventually("all credentials whose readers take nothing are refused", async || {
        let looks = credentials.iter().map(async |own| w.with_credential(own).get(path).await.status);
        let statuses = join_all(looks).await;
        let mut all = Some(());
        for (credential, _) in credentials.iter().zip(statuses).filter(|(_, status)| *status != 429) {
            stalled.extend(stall(w, std::slice::from_ref(credential), of_each, path).await);
            all = None;
        }
        all
    })
    .await;
    stalled
}

async fn reads_all(client: &Client) {
    for _ in 0..5 {
        client.get("/queues/b-big/jobs?state=waiting").await.is(200);
        let export = client.request("GET", "/queues/b-big/jobs?state=waiting").header("accept", NDJSON).open().await;
        assert_eq!(export.status(), 200);
        let text = export.text().await.expect("all of it");
        assert_eq!(text.lines().count(), 8);
    }
}

#[tokio::test]
async fn stalled_keys_of_one_pattern_leave_room_to_others() {
    let w = world().await;
    let keys = [key("a1"), key("a2")];
    let stalled = exhaust(&w, &keys, 60, LIST).await;
    reads_all(&w.with_credential(&key("b"))).await;
    drop(stalled);
    w.check().await;
}

/// A producer's tokens are one payer, however many they are, and none of them has all of its part.
#[tokio::test]
async fn stalled_tokens_of_one_producer_leave_room_to_others() {
    let w = world().await;
    let producer = w.with_credential(&key("ap"));
    let mut tokens = Vec::new();
    for n in 0..17 {
        let call = json!({ "worker": format!("w{n}"), "queues": ["a-*"] });
        let token = producer.post("/tokens", call).await.is(200)["token"].clone();
        tokens.push(token.as_str().expect("a token").to_owned());
    }
    let (path, honest) = (format!("{LIST}&mine=true"), tokens.pop().expect("the last"));
    let (first, later) = tokens.split_at(4);
    let stalled = exhaust(&w, first, 30, &path).await;
    w.with_credential(&honest).get(&path).await.is(200);
    let more_stalled = exhaust(&w, later, 4, &path).await;
    reads_all(&w.with_credential(&key("b"))).await;
    let outside = signed(SECRET, json!({ "sub": "w9", "queues": ["b-*"] }));
    w.with_credential(&outside).get("/queues/b-big/jobs?state=waiting&mine=true").await.is(200);
    drop((stalled, more_stalled));
    w.check().await;
}
