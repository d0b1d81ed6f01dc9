//! Calls refused before their body is read, from clients that send head and body separately.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::world::{Client, World, access::key};

/// The answer's status, and whether it closes the connection. `None`: no answer.
async fn answer(socket: &mut TcpStream) -> Option<(u16, bool)> {
    let (mut heard, mut byte) = (Vec::new(), [0]);
    while !heard.ends_with(b"\r\n\r\n") {
        match socket.read(&mut byte).await {
            Ok(1..) => heard.push(byte[0]),
            _ => return None,
        }
    }
    let head = String::from_utf8(heard).expect("ASCII").to_ascii_lowercase();
    let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
    let mut body = vec![0; length.and_then(|length| length.parse().ok()).expect("a length")];
    socket.read_exact(&mut body).await.expect("a body");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    Some((status, head.contains("connection: close")))
}

/// Sends a head, after a pause its body, and then another call on the same connection.
async fn send_separately(w: &Client, head: &str, announced: usize, body: &str, status: u16) {
    let name = format!("{head} {announced}");
    let mut socket = TcpStream::connect(w.address()).await.expect("the service listens");
    let head = head.replace('\n', "\r\n");
    let sent = format!("{head}\r\nhost: localhost\r\ncontent-length: {announced}\r\n\r\n");
    socket.write_all(sent.as_bytes()).await.expect("the head goes out");
    tokio::time::sleep(Duration::from_millis(20)).await;
    // The connection may be closed while the body is sent.
    let _ = socket.write_all(body.as_bytes()).await;
    let (found, closes) = answer(&mut socket).await.unwrap_or_else(|| panic!("{name}: no answer"));
    assert_eq!(found, status, "{name}");
    let _ = socket.write_all(b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    match answer(&mut socket).await {
        Some((next, _)) => assert_eq!(next, 200, "{name}: the next call on the connection"),
        None => assert!(closes, "{name}: the connection was closed without a word"),
    }
}

#[tokio::test]
async fn refusal_announces_a_closed_connection() {
    let mut w = World::plan().with_keys(&[("web", "producer", "*")]).flag("--rate-limit", "0").start().await;
    let bearer = format!("authorization: Bearer {}", key("web"));
    let json = "content-type: application/json";
    let producer = format!("POST /jobs?x=1 HTTP/1.1\n{bearer}\n{json}");
    let refusals = [
        (format!("POST /jobs HTTP/1.1\n{json}"), 401),
        (format!("POST /jobs/complete HTTP/1.1\norigin: https://evil.example\n{json}"), 403),
        (format!("POST /nowhere HTTP/1.1\n{json}"), 404),
        (format!("POST /jobs/complete?x=1 HTTP/1.1\n{json}"), 422),
        ("POST /jobs/complete HTTP/1.1\ncontent-type: text/html".to_owned(), 415),
    ];
    for (head, status) in refusals {
        for (announced, body) in [(30, "x".repeat(30)), (40_000, "x".repeat(40_000)), (200_000, "x".repeat(200_000))] {
            send_separately(&w, &head, announced, &body, status).await;
        }
        send_separately(&w, &head, 30, "x", status).await;
        send_separately(&w, &format!("{head}\nexpect: 100-continue"), 30, "", status).await;
    }
    w.set_flag("--rate-limit", "1");
    let (_limited, limited) = w.start_instance().await;
    send_separately(&limited, &producer, 30, &"x".repeat(30), 422).await;
    send_separately(&limited, &producer, 30, &"x".repeat(30), 429).await;
    send_separately(&w, &format!("POST /jobs/complete HTTP/1.1\n{json}"), 9 << 20, &"x".repeat(1_000), 413).await;
    send_separately(
        &w,
        &format!("PUT /livez HTTP/1.1\nauthorization: Bearer {}\n{json}", key("root")),
        30,
        &"x".repeat(30),
        405,
    )
    .await;
    w.check().await;
}

#[tokio::test]
async fn refusal_after_the_whole_body_keeps_the_connection() {
    let w = World::plan().with_keys(&[]).start().await;
    let mut socket = TcpStream::connect(w.address()).await.expect("the service listens");
    for _ in 0..3 {
        let call = "POST /jobs HTTP/1.1\r\nhost: localhost\r\ncontent-length: 3\r\n\r\n123";
        socket.write_all(call.as_bytes()).await.expect("the connection is open");
        assert_eq!(answer(&mut socket).await, Some((401, false)));
    }
    w.check().await;
}
