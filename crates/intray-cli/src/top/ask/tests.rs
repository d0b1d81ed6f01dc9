//! Services with very many queues, and answers that do not come from intray.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    thread,
};

use serde_json::json;

use super::super::queues::QueueRows;
use super::*;

/// A service that answers each request line, until the client disconnects.
fn service(answer: impl Fn(&str) -> (&'static str, String) + Send + 'static) -> Service {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    thread::spawn(move || {
        let (stream, _) = listener.accept().expect("a caller");
        let mut lines = BufReader::new(stream.try_clone().expect("once more")).lines();
        let mut stream = stream;
        loop {
            let head: Vec<_> = lines.by_ref().map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
            let Some(request) = head.first() else { return };
            let (status, body) = answer(request);
            let length = body.len();
            let sent = write!(stream, "HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n{body}");
            if sent.is_err() {
                return;
            }
        }
    });
    Service::open(address)
}

/// The page of a thousand queues that a request line asks for, out of so many pages.
fn page(request: &str, pages: usize) -> (&'static str, String) {
    if !request.starts_with("GET /queues?") {
        return ("404 Not Found", String::new());
    }
    let after = request.split_once("after=queue-").and_then(|(_, name)| name.split_once('-'));
    let nth = after.map_or(0, |(page, _)| page.parse::<usize>().expect("the number of a page") + 1);
    let queues: Vec<_> = (0..1_000).map(|at| queue(&format!("queue-{nth}-{at}"))).collect();
    let next = (nth + 1 < pages).then(|| format!("queue-{nth}-999"));
    ("200 OK", json!({ "queues": queues, "next": next }).to_string())
}

fn queue(name: &str) -> serde_json::Value {
    json!({
        "name": name,
        "counts": { "waiting": 1, "reserved": 0, "delayed": 0, "blocked": 0, "dead": 0 },
        "oldest_waiting_ms": null,
        "reservations": { "overdue": 0 },
        "settings": { "paused": false },
        "totals": { "enqueued": 1, "handed_out": 0, "completed": 0 },
    })
}

#[tokio::test]
async fn ten_thousand_queues_are_read_page_by_page() {
    let seen = QueueRows::look(&service(|request| page(request, 10))).await.expect("all of them");
    assert_eq!(seen.after(None).summary(), "queues: 10000; waiting: 10000, held: 0");
}

#[tokio::test]
async fn refresh_of_very_many_queues_ends() {
    let seen = QueueRows::look(&service(|request| page(request, usize::MAX))).await.expect("some of them");
    assert!(seen.after(None).summary().starts_with("queues: 20000, and more that are not shown"));
}

#[tokio::test]
async fn foreign_answers_cannot_control_the_terminal() {
    let asked = |status, body: &'static str| async move {
        QueueRows::look(&service(move |_| (status, body.to_owned()))).await.err().expect("a refusal")
    };
    let message = asked("503 Service Unavailable", r#"{"detail":"away\u001b[2J"}"#).await;
    assert!(message.ends_with("answered 503 Service Unavailable: away\u{fffd}[2J"), "{message}");
    assert!(asked("200 OK", "<html>").await.ends_with("is no service that this program knows"));
    assert!(asked("404 Not Found", "<html>").await.ends_with("it is none of intray's answers"));
}
