//! Follows a request while it arrives, and its answer while it is written.
//!
//! The body of a request reports its progress, and is drained when its reader drops it before the end.
//!
//! An answer is delivered when it was written. It relies on two contracts, not on the moments at which hyper polls: hyper has consumed the
//! last byte (`Buf`), and a later flush has ended (`AsyncWrite`). Then the body is polled once more after its end, which shows it
//! that it was written. A body that is dropped before was not delivered.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker, ready},
    time::Duration,
};

use axum::body::Body;
use bytes::{Buf, Bytes};
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use parking_lot::Mutex;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::timeout,
};

/// An answer waits this long for the end of an unread body.
const DISCARD_TIMEOUT: Duration = Duration::from_millis(250);

/// A body that its reader has dropped before the end.
#[derive(Default)]
pub(super) struct UnreadBody(Mutex<Option<Incoming>>);

impl UnreadBody {
    pub(super) fn take(&self) -> Option<Incoming> {
        self.0.lock().take()
    }

    fn put(&self, body: Incoming) {
        *self.0.lock() = Some(body);
    }
}

/// Follows the progress of a body, and keeps an unread one.
pub(super) trait BodyObserver {
    fn rest(&self) -> &UnreadBody;
    /// A part has arrived, and more follows.
    fn on_progress(&self) {}
    /// The body is complete.
    fn on_complete(&self) {}
}

impl BodyObserver for UnreadBody {
    fn rest(&self) -> &UnreadBody {
        self
    }
}

/// Discards the rest of a body. False: it is longer than `max` bytes, or does not arrive in time.
pub(super) async fn discard_rest(mut rest: Incoming, max: usize) -> bool {
    let mut room = max;
    let read = async {
        while let Some(frame) = rest.frame().await {
            let bytes = frame.ok()?.data_ref().map_or(0, Bytes::len);
            room = room.checked_sub(bytes)?;
        }
        Some(())
    };
    matches!(timeout(DISCARD_TIMEOUT, read).await, Ok(Some(())))
}

pub(super) struct TrackedBody<H: BodyObserver> {
    body: Option<Incoming>,
    observer: Arc<H>,
}

impl<H: BodyObserver> TrackedBody<H> {
    pub(super) fn new(body: Incoming, observer: Arc<H>) -> Self {
        Self { body: Some(body), observer }
    }
}

impl<H: BodyObserver> http_body::Body for TrackedBody<H> {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let frame = ready!(Pin::new(&mut *body).poll_frame(cx));
        let is_whole = http_body::Body::is_end_stream(&*body);
        match &frame {
            Some(Ok(_)) if !is_whole => self.observer.on_progress(),
            Some(Ok(_)) => self.observer.on_complete(),
            Some(Err(_)) | None => {
                self.body = None;
                self.observer.on_complete();
            }
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(http_body::Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or(SizeHint::with_exact(0), http_body::Body::size_hint)
    }
}

impl<H: BodyObserver> Drop for TrackedBody<H> {
    fn drop(&mut self) {
        if let Some(body) = self.body.take().filter(|body| !http_body::Body::is_end_stream(body)) {
            self.observer.rest().put(body);
        }
    }
}

/// Bodies that hyper has consumed and that are not written yet.
#[derive(Default)]
pub(super) struct Outbox(Mutex<Vec<Body>>);

impl Outbox {
    pub(super) fn put(&self, body: Body) {
        self.0.lock().push(body);
    }

    /// All consumed bodies are written: they are let go.
    pub(super) fn on_flushed(&self) {
        let mut cx = Context::from_waker(Waker::noop());
        for mut body in self.0.lock().drain(..) {
            let _ = http_body::Body::poll_frame(Pin::new(&mut body), &mut cx);
        }
    }

    /// Nothing more will be written.
    fn is_lost(&self) {
        self.0.lock().clear();
    }
}

/// Follows how much of an answer hyper has consumed.
pub(super) trait ChunkObserver {
    /// hyper has consumed this many bytes of an answer.
    fn on_consumed(&self, _bytes: usize) {}
    /// hyper has consumed all of this answer.
    fn on_last(&self, body: Body);
}

/// A part of an answer, handed to hyper.
pub(super) struct BodyChunk<H: ChunkObserver> {
    bytes: Bytes,
    /// With the last bytes of an answer.
    body: Option<Body>,
    observer: Arc<H>,
}

impl<H: ChunkObserver> BodyChunk<H> {
    pub(super) fn new(bytes: Bytes, body: Option<Body>, observer: &Arc<H>) -> Self {
        Self { bytes, body, observer: observer.clone() }
    }
}

impl<H: ChunkObserver> Buf for BodyChunk<H> {
    fn remaining(&self) -> usize {
        self.bytes.len()
    }

    fn chunk(&self) -> &[u8] {
        &self.bytes
    }

    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
        self.observer.on_consumed(count);
        if self.bytes.is_empty()
            && let Some(body) = self.body.take()
        {
            self.observer.on_last(body);
        }
    }
}

/// Follows the reads and flushes of a connection.
pub(super) trait FlushObserver {
    fn outbox(&self) -> &Outbox;
    /// These bytes were read.
    fn on_read(&self, _bytes: &[u8]) {}
    /// A flush has ended.
    fn on_flushed(&self) {
        self.outbox().on_flushed();
    }
}

/// The stream that the protocol writes to.
pub(super) struct ObservedStream<S, W: FlushObserver> {
    stream: S,
    writes: Arc<W>,
}

impl<S, W: FlushObserver> ObservedStream<S, W> {
    pub(super) fn new(stream: S, writes: &Arc<W>) -> Self {
        Self { stream, writes: writes.clone() }
    }
}

impl<S, W: FlushObserver> Drop for ObservedStream<S, W> {
    fn drop(&mut self) {
        self.writes.outbox().is_lost();
    }
}

impl<S: AsyncRead + Unpin, W: FlushObserver> AsyncRead for ObservedStream<S, W> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, into))?;
        self.writes.on_read(&into.filled()[before..]);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin, W: FlushObserver> AsyncWrite for ObservedStream<S, W> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
        self.writes.on_flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
