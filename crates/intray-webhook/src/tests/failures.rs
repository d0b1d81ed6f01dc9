//! Attempts without an answer, each with its reason.

use std::time::{Duration, Instant};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    time::sleep,
};

use super::{
    IMPATIENCE, PATIENCE, post,
    receiver::{Receiver, request},
    sender,
};
use crate::{AttemptError, sender::ATTEMPT_TIMEOUT};

async fn error_of(answer: impl Into<String>) -> Option<AttemptError> {
    let attempt = post(&sender(PATIENCE), &Receiver::answering(answer).await.url()).await;
    assert_eq!((attempt.status, attempt.retry_after), (None, None));
    attempt.error
}

#[tokio::test]
async fn unknown_name_is_not_resolved() {
    // No label has 64 characters, so that no server of names is asked.
    for scheme in ["http", "https"] {
        let url = format!("{scheme}://{}.invalid/secret", "a".repeat(64));
        assert_eq!(post(&sender(PATIENCE), &url).await.error, Some(AttemptError::NameNotResolved), "{scheme}");
    }
}

#[tokio::test]
async fn closed_port_refuses_the_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    drop(listener);
    for scheme in ["http", "https"] {
        let attempt = post(&sender(PATIENCE), &format!("{scheme}://127.0.0.1:{port}/secret")).await;
        assert_eq!((attempt.status, attempt.error), (None, Some(AttemptError::ConnectionRefused)), "{scheme}");
    }
}

#[tokio::test]
async fn answer_after_the_timeout_does_not_count() {
    let receiver = Receiver::start(async |mut stream| {
        request(&mut stream).await.expect("a request");
        // Until the sender has given up.
        assert_eq!(stream.read(&mut [0]).await?, 0);
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await
    })
    .await;
    let attempt = post(&sender(IMPATIENCE), &receiver.url()).await;
    assert_eq!((attempt.status, attempt.error), (None, Some(AttemptError::Timeout)));
    assert!(attempt.took >= IMPATIENCE && !attempt.is_taken(), "{attempt:?}");
    let seconds = ATTEMPT_TIMEOUT.as_secs();
    assert_eq!(AttemptError::Timeout.to_string(), format!("no answer within {seconds} s"));
    assert_eq!(seconds, 15);
}

#[tokio::test]
async fn headers_of_one_byte_at_a_time_end_at_the_timeout() {
    let receiver = Receiver::start(async |mut stream| {
        request(&mut stream).await.expect("a request");
        stream.write_all(b"HTTP/1.1 200 OK\r\nx: ").await?;
        loop {
            stream.write_all(b"x").await?;
            sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    let begin = Instant::now();
    assert_eq!(post(&sender(IMPATIENCE), &receiver.url()).await.error, Some(AttemptError::Timeout));
    assert!(begin.elapsed() < IMPATIENCE * 10, "{:?}", begin.elapsed());
}

#[tokio::test]
async fn closed_connection_is_an_error_of_its_own() {
    let silent = Receiver::start(async |mut stream| {
        request(&mut stream).await.expect("a request");
        Ok(())
    });
    let halfway = Receiver::start(async |mut stream| {
        request(&mut stream).await.expect("a request");
        stream.write_all(b"HTTP/1.1 200 OK\r\nx").await
    });
    for receiver in [silent.await, halfway.await] {
        let attempt = post(&sender(PATIENCE), &receiver.url()).await;
        assert_eq!((attempt.status, attempt.error), (None, Some(AttemptError::Closed)));
    }
}

#[tokio::test]
async fn answer_that_is_not_http_is_an_error() {
    for answer in
        ["SSH-2.0-OpenSSH_9.6\r\n", "220 mail.example ESMTP\r\n", "HTTP/1.1 abc\r\n\r\n", "\x15\x03\x01\0\x02\x02\x16"]
    {
        assert_eq!(error_of(answer).await, Some(AttemptError::NotHttp), "{answer}");
    }
}

#[tokio::test]
async fn very_long_headers_are_an_error() {
    let answer = format!("HTTP/1.1 200 OK\r\nx: {}\r\ncontent-length: 0\r\n\r\n", "x".repeat(300_000));
    assert_eq!(error_of(answer).await, Some(AttemptError::NotHttp));
}
