//! Lines that are refused because the server of their queue is away.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use super::*;

/// Refuses the second of two lines in the first `times` calls, and counts all calls.
fn refuses(times: usize) -> (Service, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let service = Service::open(listener.local_addr().expect("bound"));
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = calls.clone();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let is_refused = counter.fetch_add(1, Ordering::SeqCst) < times;
            answer(stream.expect("a caller"), if is_refused { REFUSED } else { TAKEN });
        }
    });
    (service, calls)
}

const REFUSED: &str = r#"{"line":2,"queue":"a","error":{"status":503,"detail":"Redis does not answer"}}
{"lines":2,"created":1,"known":0,"duplicates":0,"errors":1,"retryable":1,"complete":true}
"#;
const TAKEN: &str = "{\"lines\":2,\"created\":2,\"known\":0,\"duplicates\":0,\"errors\":0,\"complete\":true}\n";

fn answer(mut stream: TcpStream, body: &str) {
    stream.read_exact(&mut [0; 4]).expect("a call");
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {NDJSON}\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all([head.as_bytes(), body.as_bytes()].concat().as_slice()).expect("a reader");
    thread::spawn(move || std::io::copy(&mut stream, &mut std::io::sink()));
}

async fn delivered(service: &Service, away: &mut RetryBudget) -> ImportSummary {
    let summary = deliver(service, "key", 1, Bytes::from_static(b"{}\n{}\n"), (&Bar::new(None), away)).await;
    summary.expect("an answer")
}

#[tokio::test]
async fn retryable_lines_are_sent_again_until_they_are_taken() {
    let (service, calls) = refuses(1);
    let summary = delivered(&service, &mut RetryBudget::new()).await;
    assert_eq!((summary.created, summary.errors, calls.load(Ordering::SeqCst)), (2, 0, 2));
    assert!(finished(&summary, "key").is_ok_and(|refused| refused == 0));
}

#[tokio::test]
async fn retryable_lines_end_the_import_as_not_finished() {
    let (service, calls) = refuses(usize::MAX);
    let mut away = RetryBudget::lasting(Duration::from_millis(50));
    let summary = delivered(&service, &mut away).await;
    assert_eq!((summary.created, summary.retryable, calls.load(Ordering::SeqCst)), (1, 1, 2));
    // The next batch does not wait for the same queue again.
    delivered(&service, &mut away).await;
    assert_eq!(calls.load(Ordering::SeqCst), 3);
    let error = finished(&summary, "key").expect_err("a line is missing").to_string();
    assert!(error.contains("not finished: 1 of the lines") && error.contains("--idempotency-key key"), "{error}");
}
