//! A connection of HTTP/2: many requests at a time, each a stream of its own, and what one peer may do with them.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
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
use tokio::{
    sync::Notify,
    time::{Instant, timeout},
};
use tower::Service;

use super::{
    HEAD,
    connection_limit::Place,
    delivery::{Hears, Outbox, Piece, Writes},
    goaway::Frames,
    request_body::{Arriving, Rest, is_soon_over},
    timeout_stream::STALL_TIME,
};
use intray_base::shares::{By, Connection};

/// Open at a time: the waits and streams of a person's tabs, and whatever else these do meanwhile.
const MOST_STREAMS: u32 = 100;
/// Bytes that a peer may send of a body before a handler reads it, and of all its bodies.
const WINDOW: u32 = 64 << 10;
const WINDOW_OF_ALL: u32 = 256 << 10;
/// Bytes of an answer that are handed over at a time. Of the rest, the next is handed over when the peer has room for some.
const PIECE: usize = 16 << 10;
/// Bytes that are thrown away of a body that nobody wants, before its call is answered. An answer that is over before its
/// request resets the stream: that is allowed, and yet some clients, curl among them, then tell of an error and not of the
/// answer. More than a connection of HTTP/1 needs, which lingers at its end.
const MOST_REST: usize = 1 << 20;
/// Streams that a peer may give up, beyond those that it lets end. Each costs a request's work and is over at once, so that
/// their number at a time bounds nothing.
const MOST_RESETS: usize = 100;
/// A peer that says nothing for so long is asked whether it is there, and has so long to answer.
const ASK: Duration = Duration::from_secs(30);
const REPLY: Duration = Duration::from_secs(10);
/// How often it is looked whether a peer takes its answers.
const LOOK: Duration = Duration::from_millis(if cfg!(test) { 50 } else { 5_000 });
/// A peer that has said goodbye takes what is still there for it, or is gone after so long.
const FAREWELL: Duration = Duration::from_secs(1);

pub(super) fn builder() -> http2::Builder<TokioExecutor> {
    let mut http2 = http2::Builder::new(TokioExecutor::new());
    http2
        .timer(TokioTimer::new())
        .max_concurrent_streams(MOST_STREAMS)
        .max_header_list_size(HEAD as u32)
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW_OF_ALL)
        .max_send_buf_size(PIECE)
        .keep_alive_interval(ASK)
        .keep_alive_timeout(REPLY);
    http2
}

/// What the requests of a connection have in common.
pub(super) struct Streams {
    pub place: Place,
    pub peer: SocketAddr,
    pub router: Router,
    open: Mutex<Open>,
    outbox: Outbox,
    frames: Mutex<Frames>,
    goodbye: Notify,
}

#[derive(Default)]
struct Open {
    next: u64,
    unsent: BTreeMap<u64, Unsent>,
    resets: usize,
    is_goodbye: bool,
}

/// What was handed over of an answer, and the peer has had no room for yet.
struct Unsent {
    bytes: usize,
    /// When the peer took some, or had taken all before these.
    since: Instant,
}

impl Streams {
    pub(super) fn new(place: Place, peer: SocketAddr, router: Router) -> Self {
        let (open, outbox, frames, goodbye) = Default::default();
        Self { place, peer, router, open, outbox, frames, goodbye }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The place is busy as long as there is a stream; both change together.
    fn begin(self: &Arc<Self>) -> Arc<Stream> {
        let mut open = self.open();
        if open.unsent.is_empty() {
            self.place.is_busy();
        }
        open.next += 1;
        let number = open.next;
        open.unsent.insert(number, Unsent { bytes: 0, since: Instant::now() });
        Arc::new(Stream { streams: self.clone(), number, is_done: AtomicBool::new(false) })
    }

    fn end(&self, number: u64, is_done: bool) {
        let mut open = self.open();
        open.unsent.remove(&number);
        open.resets = if is_done { open.resets.saturating_sub(1) } else { open.resets + 1 };
        if open.resets > MOST_RESETS {
            tracing::debug!(peer = %self.peer, "a peer gives up stream after stream");
            self.place.leave();
        }
        if open.unsent.is_empty() {
            self.place.is_answered();
        }
    }

    /// Resolves when a peer takes nothing of an answer, though it is there.
    pub(super) async fn stalled(&self) {
        loop {
            let look = if self.open().is_goodbye { LOOK.min(FAREWELL / 4) } else { LOOK };
            let _ = timeout(look, self.goodbye.notified()).await;
            if self.open().is_stalled() {
                return;
            }
        }
    }
}

impl Open {
    /// Any of the answers; of a peer that has said goodbye all that there are.
    fn is_stalled(&self) -> bool {
        let longer = |unsent: &&Unsent, time| unsent.since.elapsed() >= time;
        let mut unsent = self.unsent.values().filter(|unsent| unsent.bytes > 0).peekable();
        let is_gone = self.is_goodbye && unsent.peek().is_some() && unsent.clone().all(|some| longer(&some, FAREWELL));
        is_gone || unsent.any(|some| longer(&some, STALL_TIME))
    }
}

impl Connection for Streams {
    fn peer(&self) -> SocketAddr {
        self.peer
    }

    fn charge(&self, payer: &Arc<str>, has_parts: &dyn Fn() -> bool) -> bool {
        self.place.charge(payer, has_parts)
    }
}

pub(super) async fn answer(
    streams: Arc<Streams>,
    mut request: Request<Incoming>,
) -> Result<Response<Sending>, Infallible> {
    let stream = streams.begin();
    request.extensions_mut().insert(By(streams.clone()));
    // Who asks whether to send sends nothing before the answer.
    let is_asked_for = request.headers().contains_key(header::EXPECT);
    let rest = Arc::new(Rest::default());
    let request = request.map(|body| Body::new(Arriving::new(body, rest.clone())));
    let Ok(response) = streams.router.clone().call(request).await;
    if let Some(rest) = rest.take().filter(|_| !is_asked_for) {
        Box::pin(is_soon_over(rest, MOST_REST)).await;
    }
    if http_body::Body::is_end_stream(response.body()) {
        stream.is_done();
    }
    Ok(response.map(|body| Sending { body: Some(body), rest: Bytes::new(), stream }))
}

/// A request on its way, until all of its answer is sent. If it is dropped before it is done, its peer gave it up.
pub(super) struct Stream {
    streams: Arc<Streams>,
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

    fn counts(&self, change: impl FnOnce(&mut Unsent)) {
        if let Some(unsent) = self.streams.open().unsent.get_mut(&self.number) {
            change(unsent);
        }
    }

    fn is_done(&self) {
        self.is_done.store(true, Ordering::Relaxed);
    }
}

/// The protocol consumes what it has room for, by the windows of the stream and of the connection.
impl Hears for Stream {
    fn takes(&self, bytes: usize) {
        self.counts(|unsent| *unsent = Unsent { bytes: unsent.bytes.saturating_sub(bytes), since: Instant::now() });
    }

    fn takes_last(&self, body: Body) {
        self.is_done();
        self.streams.outbox.put(body);
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.streams.end(self.number, self.is_done.load(Ordering::Relaxed));
    }
}

impl Writes for Streams {
    fn outbox(&self) -> &Outbox {
        &self.outbox
    }

    fn hears(&self, bytes: &[u8]) {
        if self.frames.lock().unwrap_or_else(PoisonError::into_inner).say_goodbye(bytes) {
            self.open().is_goodbye = true;
            self.goodbye.notify_one();
        }
    }
}

/// An answer on its way out, piece by piece.
pub(super) struct Sending {
    /// Until its last piece has it.
    body: Option<Body>,
    rest: Bytes,
    stream: Arc<Stream>,
}

impl http_body::Body for Sending {
    type Data = Piece<Stream>;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Piece<Stream>>, axum::Error>>> {
        let Self { body: whole, rest, stream } = &mut *self;
        let Some(body) = whole else { return Poll::Ready(None) };
        if rest.is_empty() {
            match ready!(Pin::new(&mut *body).poll_frame(cx)).map(|frame| frame.map(Frame::into_data)) {
                Some(Ok(Ok(data))) => *rest = data,
                Some(Ok(Err(other))) => {
                    return Poll::Ready(Some(Ok(other.map_data(|bytes| Piece::new(bytes, None, stream)))));
                }
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => {
                    stream.is_done();
                    return Poll::Ready(None);
                }
            }
        }
        let piece = rest.split_to(rest.len().min(PIECE));
        stream.hands_over(piece.len());
        let last = if rest.is_empty() && body.is_end_stream() { whole.take() } else { None };
        Poll::Ready(Some(Ok(Frame::data(Piece::new(piece, last, stream)))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(|body| self.rest.is_empty() && body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        let Some(body) = &self.body else { return SizeHint::with_exact(0) };
        let (of_body, here) = (body.size_hint(), self.rest.len() as u64);
        let mut hint = SizeHint::new();
        hint.set_lower(of_body.lower() + here);
        if let Some(most) = of_body.upper() {
            hint.set_upper(most + here);
        }
        hint
    }
}
