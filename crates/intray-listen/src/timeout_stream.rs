//! A stream with timeouts for writes and for the lingering close. tokio-io-timeout would keep a timer for each connection, where
//! this has one for those that stall, and the lingering close needs a wrapper anyway.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use intray_base::waits::hurried;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Sleep, sleep},
};
use tokio_util::sync::CancellationToken;

/// A peer that reads nothing of its answer for this long is cut.
pub(super) const WRITE_STALL_TIMEOUT: Duration = Duration::from_millis(if cfg!(test) { 1_000 } else { 30_000 });
/// For a peer that is answered before it has sent all: its system throws the answer away if we hang up on what it sends.
const LINGER_TIMEOUT: Duration = Duration::from_secs(3);

pub(super) struct TimeoutStream {
    stream: TcpStream,
    stop: CancellationToken,
    /// Runs while the peer reads nothing.
    stalled: Option<Pin<Box<Sleep>>>,
    /// Runs after the last write, while unread input is discarded.
    lingering: Option<Pin<Box<Sleep>>>,
}

impl TimeoutStream {
    pub(super) fn new(stream: TcpStream, stop: CancellationToken) -> Self {
        Self { stream, stop, stalled: None, lingering: None }
    }

    fn with_timeout<T>(&mut self, cx: &mut Context<'_>, progress: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if progress.is_ready() {
            self.stalled = None;
            return progress;
        }
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(hurried(WRITE_STALL_TIMEOUT))));
        stalled.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }

    /// Discards input. Ready at its end.
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

impl AsyncRead for TimeoutStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}

impl AsyncWrite for TimeoutStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let progress = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.with_timeout(cx, progress)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let progress = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.with_timeout(cx, progress)
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
        let lingering = self.lingering.get_or_insert_with(|| Box::pin(sleep(LINGER_TIMEOUT)));
        lingering.as_mut().poll(cx).map(Ok)
    }
}
