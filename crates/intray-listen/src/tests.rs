//! Tests answers on connections whose client reads a given number of bytes.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use axum::{http::Request, response::Response, routing::get};
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex},
    task::JoinHandle,
    time::sleep,
};

use super::{connection_limit::MIN_IDLE_BEFORE_CUT, *};

const LENGTH: usize = 2_000;
const ASK: &[u8] = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";

/// The number of answers that were made, written, and dropped before they were written.
#[derive(Default)]
struct Ends {
    made: AtomicUsize,
    written: AtomicUsize,
    dropped: AtomicUsize,
}

impl Ends {
    fn all(&self) -> [usize; 2] {
        [self.written.load(Ordering::SeqCst), self.dropped.load(Ordering::SeqCst)]
    }
}

/// An answer that counts whether it was written.
struct Text {
    text: Option<Bytes>,
    is_written: bool,
    ends: Arc<Ends>,
}

impl http_body::Body for Text {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let text = self.text.take();
        self.is_written |= text.is_none();
        std::task::Poll::Ready(text.map(|text| Ok(Frame::data(text))))
    }

    fn is_end_stream(&self) -> bool {
        self.text.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.text.as_ref().map_or(0, Bytes::len) as u64)
    }
}

impl Drop for Text {
    fn drop(&mut self) {
        let ends = if self.is_written { &self.ends.written } else { &self.ends.dropped };
        ends.fetch_add(1, Ordering::SeqCst);
    }
}

/// A service on one connection with a buffer of a given size in bytes.
struct Pipe {
    client: DuplexStream,
    serving: JoinHandle<()>,
    ends: Arc<Ends>,
    limit: Arc<ConnectionLimit>,
}

fn pipe(room: usize, is_http2: bool) -> Pipe {
    let ends = Arc::new(Ends::default());
    let of_route = ends.clone();
    let text = move || {
        of_route.made.fetch_add(1, Ordering::SeqCst);
        let text = Text { text: Some(vec![b'x'; LENGTH].into()), is_written: false, ends: of_route.clone() };
        async { Response::new(axum::body::Body::new(text)) }
    };
    let end = Shutdown { draining: CancellationToken::new(), stop: CancellationToken::new() };
    let router = Router::new().route("/", get(text));
    let service = HttpServer { router, certificate: None, end, cut: CancellationToken::new() };
    let limit = ConnectionLimit::new(1, CancellationToken::new());
    let (client, server) = duplex(room);
    let entered = limit.clone();
    let serving = tokio::spawn(async move {
        let (permit, peer) = (entered.acquire().await, SocketAddr::from(([127, 0, 0, 1], 1)));
        match is_http2 {
            true => service.by_http2(server, peer, permit).await,
            false => service.by_http1(server, peer, permit).await,
        }
    });
    Pipe { client, serving, ends, limit }
}

async fn eventually(holds: impl Fn() -> bool) {
    let holds = async {
        while !holds() {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_secs(10), holds).await.expect("soon");
}

impl Pipe {
    async fn reads(&mut self, bytes: usize) {
        self.client.read_exact(&mut vec![0; bytes]).await.expect("so much is there");
    }

    /// Reads one complete HTTP/1 answer.
    async fn hears(&mut self) {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(self.client.read_u8().await.expect("a head"));
        }
        self.reads(LENGTH).await;
    }

    async fn has_made(&self, answers: usize) {
        eventually(|| self.ends.made.load(Ordering::SeqCst) == answers).await;
    }

    /// The numbers of written and dropped answers after the client has closed the connection.
    async fn ends(self) -> [usize; 2] {
        drop(self.client);
        self.serving.await.expect("no panic");
        self.ends.all()
    }
}

#[tokio::test]
async fn http1_answers_count_as_written_when_all_bytes_are() {
    let mut pipe = pipe(1_000, false);
    pipe.client.write_all(ASK).await.expect("sent");
    pipe.hears().await;
    pipe.client.write_all(ASK).await.expect("sent");
    pipe.hears().await;
    assert_eq!(pipe.ends().await, [2, 0], "on a connection that continues");
    for end in ["GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"] {
        let mut pipe = self::pipe(1_000, false);
        pipe.client.write_all(end.as_bytes()).await.expect("sent");
        pipe.hears().await;
        assert_eq!(pipe.ends().await, [1, 0], "{end}");
    }
}

#[tokio::test]
async fn http1_answers_written_in_part_are_dropped() {
    for read in [0, 1, 500] {
        let mut pipe = pipe(1_000, false);
        pipe.client.write_all(ASK).await.expect("sent");
        pipe.has_made(1).await;
        pipe.reads(read).await;
        assert_eq!(pipe.ends().await, [0, 1], "{read} bytes were read");
    }
}

#[tokio::test]
async fn http1_answers_in_a_pipeline_are_kept_apart() {
    let mut pipe = pipe(1_000, false);
    pipe.client.write_all(&ASK.repeat(3)).await.expect("sent");
    pipe.hears().await;
    pipe.has_made(2).await;
    pipe.reads(1).await;
    let made = pipe.ends.clone();
    let [written, dropped] = pipe.ends().await;
    assert_eq!(written, 1, "the one that was read");
    assert_eq!(dropped, made.made.load(Ordering::SeqCst) - 1, "all after it");
}

/// A connection with an unwritten answer is not idle, so it is not cut to make room.
#[tokio::test]
async fn unwritten_answers_keep_their_connection() {
    let mut pipe = pipe(1_000, false);
    pipe.client.write_all(ASK).await.expect("sent");
    pipe.reads(1).await;
    sleep(MIN_IDLE_BEFORE_CUT).await;
    pipe.limit.make_room();
    pipe.hears().await;
    assert_eq!(pipe.ends().await, [1, 0]);
}

/// Sends requests over HTTP/2. Returns the answers after reading only their heads.
async fn ask(client: DuplexStream, method: &str, many: usize, window: usize) -> Vec<Response<h2::RecvStream>> {
    let mut settings = h2::client::Builder::new();
    settings.initial_window_size(u32::try_from(window).expect("a window"));
    let (mut send, connection) = settings.handshake::<_, Bytes>(client).await.expect("HTTP/2");
    tokio::spawn(connection);
    let mut answers = Vec::new();
    for _ in 0..many {
        send = send.ready().await.expect("it is open");
        let request = Request::builder().method(method).uri("https://localhost/").body(()).expect("a request");
        answers.push(send.send_request(request, true).expect("sent").0.await.expect("a head"));
    }
    answers
}

/// An answer without a body does not count as a stream that the client has reset.
#[tokio::test]
async fn bodyless_answers_do_not_reset() {
    let Pipe { client, .. } = pipe(64 << 10, true);
    assert_eq!(ask(client, "HEAD", 300, 0).await.len(), 300);
}

#[tokio::test]
async fn stalled_connections_drop_their_answers() {
    let stalled = [0, 1, LENGTH - 1].map(async |window| {
        let Pipe { client, serving, ends, .. } = pipe(64 << 10, true);
        let _answers = ask(client, "GET", 5, window).await;
        serving.await.expect("no panic");
        eventually(|| ends.all() == [0, 5]).await;
    });
    futures_util::future::join_all(stalled).await;
}
