//! The requests of an HTTP/2 connection, each a stream, and the limits of a peer.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    http::{Request, Response, header},
};
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use hyper::{body::Incoming, server::conn::http2};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use parking_lot::Mutex;
use tokio::{
    sync::Notify,
    time::{Instant, timeout},
};
use tower::Service;

use super::{
    MAX_HEAD_BYTES,
    connection_limit::Permit,
    goaway::GoawayScanner,
    progress::{BodyChunk, ChunkObserver, FlushObserver, Outbox, TrackedBody, UnreadBody, discard_rest},
    timeout_stream::WRITE_STALL_TIMEOUT,
};
use intray_base::{
    shares::{ClientConnection, RequestConnection},
    waits::hurried,
};

/// Open at a time: the long polls and event streams of a person's tabs, and their other calls.
const MAX_STREAMS: u32 = 100;
/// Bytes that a peer may send of a body before it is read, and of all its bodies.
const STREAM_WINDOW_BYTES: u32 = 64 << 10;
const CONNECTION_WINDOW_BYTES: u32 = 256 << 10;
/// Bytes of an answer that hyper gets at a time; it gets the next when the peer's window has room.
const CHUNK_BYTES: usize = 16 << 10;
/// Bytes of an unread body that are discarded before its call is answered. An answer that ends before its request resets the
/// stream: that is allowed, but some clients, curl among them, then report an error in place of the answer.
const MAX_DISCARDED_BYTES: usize = 1 << 20;
/// Streams that a peer may reset, beyond those that it lets end: each costs work, and `MAX_STREAMS` does not limit them.
const MAX_RESETS: usize = 100;
/// A peer that is silent for this long gets a PING, and has this long to answer.
const PING_INTERVAL: Duration = Duration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(10);
const CHECK_INTERVAL: Duration = Duration::from_millis(if cfg!(test) { 50 } else { 5_000 });
/// A peer that has sent GOAWAY reads its answers within this time, or is cut.
const GOAWAY_GRACE: Duration = Duration::from_secs(1);

pub(super) fn builder() -> http2::Builder<TokioExecutor> {
    let mut http2 = http2::Builder::new(TokioExecutor::new());
    http2
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(MAX_HEAD_BYTES as u32)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_send_buf_size(CHUNK_BYTES)
        .keep_alive_interval(hurried(PING_INTERVAL))
        .keep_alive_timeout(hurried(PING_TIMEOUT));
    http2
}

/// Shared by the requests of a connection.
pub(super) struct Http2Connection {
    pub permit: Permit,
    pub peer: SocketAddr,
    pub router: Router,
    open: Mutex<StreamTable>,
    outbox: Outbox,
    frames: Mutex<GoawayScanner>,
    goaway: Notify,
}

#[derive(Default)]
struct StreamTable {
    next: u64,
    unsent: BTreeMap<u64, UnsentBytes>,
    resets: usize,
    has_goaway: bool,
}

/// Bytes of an answer that hyper has and the peer has not read yet.
struct UnsentBytes {
    bytes: usize,
    /// The last time that the peer read some, or had read all before these.
    since: Instant,
}

impl Http2Connection {
    pub(super) fn new(permit: Permit, peer: SocketAddr, router: Router) -> Self {
        let (open, outbox, frames, goaway) = Default::default();
        Self { permit, peer, router, open, outbox, frames, goaway }
    }

    /// A request is open as long as there is a stream; both change together.
    fn begin(self: &Arc<Self>) -> Arc<Stream> {
        let mut open = self.open.lock();
        if open.unsent.is_empty() {
            self.permit.begin_request();
        }
        open.next += 1;
        let number = open.next;
        open.unsent.insert(number, UnsentBytes { bytes: 0, since: Instant::now() });
        Arc::new(Stream { streams: self.clone(), number, is_done: AtomicBool::new(false) })
    }

    fn end(&self, number: u64, is_done: bool) {
        let mut open = self.open.lock();
        open.unsent.remove(&number);
        open.resets = if is_done { open.resets.saturating_sub(1) } else { open.resets + 1 };
        if open.resets > MAX_RESETS {
            tracing::debug!(peer = %self.peer, "a peer resets stream after stream");
            self.permit.close();
        }
        if open.unsent.is_empty() {
            self.permit.end_request();
        }
    }

    /// Resolves when a peer reads nothing of an answer for too long.
    pub(super) async fn stalled(&self) {
        loop {
            let check = hurried(CHECK_INTERVAL);
            let look = if self.open.lock().has_goaway { check.min(GOAWAY_GRACE / 4) } else { check };
            let _ = timeout(look, self.goaway.notified()).await;
            if self.open.lock().is_stalled() {
                return;
            }
        }
    }
}

impl StreamTable {
    /// Whether any answer stalls; after GOAWAY, whether all do.
    fn is_stalled(&self) -> bool {
        let longer = |unsent: &&UnsentBytes, time| unsent.since.elapsed() >= time;
        let mut unsent = self.unsent.values().filter(|unsent| unsent.bytes > 0).peekable();
        let is_gone =
            self.has_goaway && unsent.peek().is_some() && unsent.clone().all(|some| longer(&some, GOAWAY_GRACE));
        is_gone || unsent.any(|some| longer(&some, hurried(WRITE_STALL_TIMEOUT)))
    }
}

impl ClientConnection for Http2Connection {
    fn peer(&self) -> SocketAddr {
        self.peer
    }

    fn charge(&self, payer: &Arc<str>, has_parts: &dyn Fn() -> bool) -> bool {
        self.permit.charge(payer, has_parts)
    }
}

pub(super) async fn answer(
    streams: Arc<Http2Connection>,
    mut request: Request<Incoming>,
) -> Result<Response<PacedBody>, Infallible> {
    let stream = streams.begin();
    request.extensions_mut().insert(RequestConnection(streams.clone()));
    // A client that sent `Expect` sends no body before the answer.
    let is_asked_for = request.headers().contains_key(header::EXPECT);
    let rest = Arc::new(UnreadBody::default());
    let request = request.map(|body| Body::new(TrackedBody::new(body, rest.clone())));
    let Ok(response) = streams.router.clone().call(request).await;
    if let Some(rest) = rest.take().filter(|_| !is_asked_for) {
        Box::pin(discard_rest(rest, MAX_DISCARDED_BYTES)).await;
    }
    if http_body::Body::is_end_stream(response.body()) {
        stream.is_done();
    }
    Ok(response.map(|body| PacedBody { body: Some(body), rest: Bytes::new(), stream }))
}

/// A request, until all of its answer is sent. The peer has reset it if it is dropped before it is done.
pub(super) struct Stream {
    streams: Arc<Http2Connection>,
    number: u64,
    is_done: AtomicBool,
}

impl Stream {
    fn hands_over(&self, bytes: usize) {
        self.counts(|unsent| {
            if unsent.bytes == 0 {
                unsent.since = Instant::now();
            }
            unsent.bytes += bytes;
        });
    }

    fn counts(&self, change: impl FnOnce(&mut UnsentBytes)) {
        if let Some(unsent) = self.streams.open.lock().unsent.get_mut(&self.number) {
            change(unsent);
        }
    }

    fn is_done(&self) {
        self.is_done.store(true, Ordering::Relaxed);
    }
}

/// hyper consumes what fits into the windows of the stream and of the connection.
impl ChunkObserver for Stream {
    fn on_consumed(&self, bytes: usize) {
        self.counts(|unsent| {
            *unsent = UnsentBytes { bytes: unsent.bytes.saturating_sub(bytes), since: Instant::now() }
        });
    }

    fn on_last(&self, body: Body) {
        self.is_done();
        self.streams.outbox.put(body);
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.streams.end(self.number, self.is_done.load(Ordering::Relaxed));
    }
}

impl FlushObserver for Http2Connection {
    fn outbox(&self) -> &Outbox {
        &self.outbox
    }

    fn on_read(&self, bytes: &[u8]) {
        if self.frames.lock().finds_goaway(bytes) {
            self.open.lock().has_goaway = true;
            self.goaway.notify_one();
        }
    }
}

/// The body of an answer, chunk by chunk.
pub(super) struct PacedBody {
    /// `None` once its last chunk holds it.
    body: Option<Body>,
    rest: Bytes,
    stream: Arc<Stream>,
}

impl http_body::Body for PacedBody {
    type Data = BodyChunk<Stream>;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<BodyChunk<Stream>>, axum::Error>>> {
        let Self { body: whole, rest, stream } = &mut *self;
        let Some(body) = whole else { return Poll::Ready(None) };
        if rest.is_empty() {
            match ready!(Pin::new(&mut *body).poll_frame(cx)).map(|frame| frame.map(Frame::into_data)) {
                Some(Ok(Ok(data))) => *rest = data,
                Some(Ok(Err(other))) => {
                    return Poll::Ready(Some(Ok(other.map_data(|bytes| BodyChunk::new(bytes, None, stream)))));
                }
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => {
                    stream.is_done();
                    return Poll::Ready(None);
                }
            }
        }
        let piece = rest.split_to(rest.len().min(CHUNK_BYTES));
        stream.hands_over(piece.len());
        let last = if rest.is_empty() && body.is_end_stream() { whole.take() } else { None };
        Poll::Ready(Some(Ok(Frame::data(BodyChunk::new(piece, last, stream)))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(|body| self.rest.is_empty() && body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        // hyper asks before the first chunk only.
        let size = self.body.as_ref().map_or(SizeHint::with_exact(0), http_body::Body::size_hint);
        if self.rest.is_empty() { size } else { SizeHint::default() }
    }
}
