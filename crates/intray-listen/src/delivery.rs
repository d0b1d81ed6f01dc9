//! When an answer is out. Two contracts say so, and not the moments at which a library happens to poll: the protocol has
//! consumed the last byte of its text (`Buf`), for which it had room, and a flush behind that has ended (`AsyncWrite`). Then
//! the body is polled once behind its end, which says to it that its text was written. A body that is dropped before was not
//! delivered.

use std::{
    io,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker, ready},
};

use axum::body::Body;
use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bodies whose text the protocol has consumed, before it is written.
#[derive(Default)]
pub(super) struct Outbox(Mutex<Vec<Body>>);

impl Outbox {
    fn bodies(&self) -> MutexGuard<'_, Vec<Body>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn put(&self, body: Body) {
        self.bodies().push(body);
    }

    /// Everything that was consumed is written.
    pub(super) fn is_written(&self) {
        let mut cx = Context::from_waker(Waker::noop());
        for mut body in self.bodies().drain(..) {
            let _ = http_body::Body::poll_frame(Pin::new(&mut body), &mut cx);
        }
    }

    /// Nothing more is written.
    fn is_lost(&self) {
        self.bodies().clear();
    }
}

/// What hears how far answers have come.
pub(super) trait Hears {
    /// The protocol has consumed so many bytes of an answer.
    fn takes(&self, _bytes: usize) {}
    /// The protocol has consumed all of this answer.
    fn takes_last(&self, body: Body);
}

/// A part of an answer on its way into the protocol.
pub(super) struct Piece<H: Hears> {
    bytes: Bytes,
    /// With the last bytes of an answer.
    body: Option<Body>,
    hears: Arc<H>,
}

impl<H: Hears> Piece<H> {
    pub(super) fn new(bytes: Bytes, body: Option<Body>, hears: &Arc<H>) -> Self {
        Self { bytes, body, hears: hears.clone() }
    }
}

impl<H: Hears> Buf for Piece<H> {
    fn remaining(&self) -> usize {
        self.bytes.len()
    }

    fn chunk(&self) -> &[u8] {
        &self.bytes
    }

    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
        self.hears.takes(count);
        if self.bytes.is_empty()
            && let Some(body) = self.body.take()
        {
            self.hears.takes_last(body);
        }
    }
}

/// A connection whose answers are told when they are written.
pub(super) trait Writes {
    fn outbox(&self) -> &Outbox;
    /// These bytes have come.
    fn hears(&self, _bytes: &[u8]) {}
    /// A flush has ended.
    fn is_written(&self) {
        self.outbox().is_written();
    }
}

/// The stream that the protocol writes to.
pub(super) struct Outlet<S, W: Writes> {
    stream: S,
    writes: Arc<W>,
}

impl<S, W: Writes> Outlet<S, W> {
    pub(super) fn new(stream: S, writes: &Arc<W>) -> Self {
        Self { stream, writes: writes.clone() }
    }
}

impl<S, W: Writes> Drop for Outlet<S, W> {
    fn drop(&mut self) {
        self.writes.outbox().is_lost();
    }
}

impl<S: AsyncRead + Unpin, W: Writes> AsyncRead for Outlet<S, W> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, into))?;
        self.writes.hears(&into.filled()[before..]);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin, W: Writes> AsyncWrite for Outlet<S, W> {
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
        self.writes.is_written();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
