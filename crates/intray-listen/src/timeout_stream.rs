//! A connection that waits for its peer, but not for ever. By hand, because what a lingering end needs passes every call on
//! anyway, and tokio-io-timeout would keep a timer for each connection where this has one for those that stall.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Sleep, sleep},
};
use tokio_util::sync::CancellationToken;

/// A peer that takes nothing of its answer for so long is gone.
pub(super) const STALL_TIME: Duration = Duration::from_millis(if cfg!(test) { 1_000 } else { 30_000 });
/// For a peer that is answered before it has sent all: its system throws the answer away if we hang up on what it sends.
const LINGER_TIME: Duration = Duration::from_secs(3);

pub(super) struct Impatient {
    stream: TcpStream,
    stop: CancellationToken,
    /// Runs while the peer takes nothing.
    stalled: Option<Pin<Box<Sleep>>>,
    /// Runs when all is said and the peer is only listened to.
    lingering: Option<Pin<Box<Sleep>>>,
}

impl Impatient {
    pub(super) fn new(stream: TcpStream, stop: CancellationToken) -> Self {
        Self { stream, stop, stalled: None, lingering: None }
    }

    fn patiently<T>(&mut self, cx: &mut Context<'_>, progress: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if progress.is_ready() {
            self.stalled = None;
            return progress;
        }
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(STALL_TIME)));
        stalled.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }

    /// Throws away what still comes. Ready when nothing does any more.
    fn poll_rest(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut scratch = [0; 8 << 10];
        loop {
            let mut into = ReadBuf::new(&mut scratch);
            match Pin::new(&mut self.stream).poll_read(cx, &mut into) {
                Poll::Ready(Ok(())) if !into.filled().is_empty() => {}
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

impl AsyncRead for Impatient {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}

impl AsyncWrite for Impatient {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let progress = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.patiently(cx, progress)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let progress = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.patiently(cx, progress)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.lingering.is_none() {
            std::task::ready!(Pin::new(&mut self.stream).poll_shutdown(cx))?;
        }
        if self.stop.is_cancelled() || self.poll_rest(cx).is_ready() {
            return Poll::Ready(Ok(()));
        }
        let lingering = self.lingering.get_or_insert_with(|| Box::pin(sleep(LINGER_TIME)));
        lingering.as_mut().poll(cx).map(Ok)
    }
}
