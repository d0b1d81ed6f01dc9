//! What is sent, and which answers count.

use std::time::{Duration, Instant, SystemTime};

use tokio::{io::AsyncWriteExt, sync::mpsc, time::sleep};

use super::{
    BODY, IMPATIENCE, PATIENCE, post,
    receiver::{Receiver, header, request},
    sender,
};
use crate::{Sender, Target, WebhookSecret, sign};

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
const GIBIBYTE: usize = 1 << 30;

#[tokio::test]
async fn attempt_is_posted_with_its_signature() {
    let (requests, mut received) = mpsc::unbounded_channel();
    let receiver = Receiver::start(move |mut stream| {
        let requests = requests.clone();
        async move {
            while let Some(request) = request(&mut stream).await {
                requests.send(request).expect("the test listens");
                stream.write_all(OK.as_bytes()).await?;
            }
            Ok(())
        }
    })
    .await;
    let secrets = [WebhookSecret::random(), WebhookSecret::random()];
    let target = Target::parse(&receiver.url(), false).expect("a URL");
    let attempt = sender(PATIENCE).send(&target, &secrets, "msg_abc", BODY.into()).await;
    assert_eq!((attempt.status, attempt.error, attempt.is_taken()), (Some(200), None, true));
    let request = received.recv().await.expect("a request");
    assert!(request.starts_with("POST /services/secret?token=secret HTTP/1.1\r\n"), "{request}");
    assert!(request.ends_with(std::str::from_utf8(BODY).expect("UTF-8")), "{request}");
    assert_eq!(header(&request, "host"), format!("127.0.0.1:{}", receiver.port));
    assert_eq!(header(&request, "content-type"), "application/json");
    assert_eq!(header(&request, "user-agent"), concat!("intray/", env!("CARGO_PKG_VERSION")));
    assert_eq!(header(&request, "webhook-id"), "msg_abc");
    let seconds: u64 = header(&request, "webhook-timestamp").parse().expect("seconds");
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("a time").as_secs();
    assert!(now.abs_diff(seconds) < 30, "{seconds} is not about {now}");
    assert_eq!(header(&request, "webhook-signature"), sign(&secrets, "msg_abc", seconds, BODY));
}

#[tokio::test]
async fn attempt_is_taken_by_2xx_alone() {
    let sender = sender(PATIENCE);
    for (status, is_taken) in
        [(200, true), (204, true), (299, true), (300, false), (304, false), (400, false), (410, false), (500, false)]
    {
        let receiver = Receiver::answering(format!("HTTP/1.1 {status} x\r\ncontent-length: 0\r\n\r\n")).await;
        let attempt = post(&sender, &receiver.url()).await;
        assert_eq!((attempt.status, attempt.is_taken(), attempt.error), (Some(status), is_taken, None));
    }
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let other = Receiver::answering(OK).await;
    for status in [301, 302, 303, 307, 308] {
        let location = format!("HTTP/1.1 {status} x\r\nlocation: {}\r\ncontent-length: 0\r\n\r\n", other.url());
        let attempt = post(&sender(PATIENCE), &Receiver::answering(location).await.url()).await;
        assert_eq!((attempt.status, attempt.is_taken()), (Some(status), false));
    }
    assert_eq!(other.connections(), 0);
}

#[tokio::test]
async fn retry_after_is_read_from_any_answer() {
    for (value, seconds) in [("120", Some(120)), ("31536000", Some(86_400)), ("tomorrow", None)] {
        let answer = format!("HTTP/1.1 503 x\r\nretry-after: {value}\r\ncontent-length: 0\r\n\r\n");
        let attempt = post(&sender(PATIENCE), &Receiver::answering(answer).await.url()).await;
        assert_eq!((attempt.status, attempt.retry_after), (Some(503), seconds.map(Duration::from_secs)), "{value}");
    }
}

/// Several attempts, each after the connection of the one before has returned to the pool: its task has seen the end of the body.
async fn post_in_turn(sender: &Sender, receiver: &Receiver, count: usize) {
    for _ in 0..count {
        assert!(post(sender, &receiver.url()).await.status.is_some());
        sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn one_connection_serves_attempts_with_bodies_up_to_64_kib() {
    for bytes in [0, 2, 65_536] {
        let answer = format!("HTTP/1.1 200 x\r\ncontent-length: {bytes}\r\n\r\n{}", "x".repeat(bytes));
        let receiver = Receiver::answering(answer).await;
        post_in_turn(&sender(PATIENCE), &receiver, 5).await;
        assert_eq!(receiver.connections(), 1, "{bytes} bytes");
    }
}

#[tokio::test]
async fn connection_ends_with_an_answer_that_is_no_2xx() {
    for status in [300, 307, 400, 404, 410, 429, 500, 503] {
        let receiver = Receiver::answering(format!("HTTP/1.1 {status} x\r\ncontent-length: 2\r\n\r\nno")).await;
        post_in_turn(&sender(PATIENCE), &receiver, 3).await;
        assert_eq!(receiver.connections(), 3, "{status}");
    }
}

#[tokio::test]
async fn connection_is_not_used_after_its_lifetime() {
    let (receiver, mut sender) = (Receiver::answering(OK).await, sender(PATIENCE));
    sender.pool_lifetime = Duration::from_millis(200);
    post_in_turn(&sender, &receiver, 2).await;
    sleep(sender.pool_lifetime).await;
    post_in_turn(&sender, &receiver, 1).await;
    assert_eq!(receiver.connections(), 2);
}

#[tokio::test]
async fn reconnect_gives_clones_new_connections() {
    let (receiver, sender) = (Receiver::answering(OK).await, sender(PATIENCE));
    post_in_turn(&sender, &receiver, 2).await;
    sender.clone().reconnect();
    post_in_turn(&sender, &receiver, 2).await;
    assert_eq!(receiver.connections(), 2);
}

#[tokio::test]
async fn answer_of_a_gibibyte_is_taken_and_its_connection_closed() {
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_owned();
    let counted = format!("HTTP/1.1 200 OK\r\ncontent-length: {GIBIBYTE}\r\n\r\n");
    for (head, piece) in [(counted, "x".repeat(65_536)), (chunked, format!("10000\r\n{}\r\n", "x".repeat(65_536)))] {
        let (sizes, mut sent) = mpsc::unbounded_channel();
        let receiver = Receiver::start(move |mut stream| {
            let (head, piece, sizes) = (head.clone(), piece.clone(), sizes.clone());
            async move {
                request(&mut stream).await.expect("a request");
                stream.write_all(head.as_bytes()).await?;
                let mut count = 0;
                while count < GIBIBYTE && stream.write_all(piece.as_bytes()).await.is_ok() {
                    count += piece.len();
                }
                sizes.send(count).expect("the test listens");
                Ok(())
            }
        })
        .await;
        let attempt = post(&sender(PATIENCE), &receiver.url()).await;
        assert!(attempt.is_taken(), "{attempt:?}");
        let count = sent.recv().await.expect("an end");
        assert!(count < 64 << 20, "{count} bytes were sent, more than sockets hold");
    }
}

#[tokio::test]
async fn body_of_one_byte_at_a_time_ends_with_the_attempt() {
    let receiver = Receiver::start(async |mut stream| {
        request(&mut stream).await.expect("a request");
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n").await?;
        loop {
            stream.write_all(b"x").await?;
            sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    let begin = Instant::now();
    let attempt = post(&sender(IMPATIENCE), &receiver.url()).await;
    assert!(attempt.is_taken() && attempt.took < IMPATIENCE, "{attempt:?}");
    assert!(begin.elapsed() < IMPATIENCE * 10, "{:?}", begin.elapsed());
}
