//! A request body that reports its progress, and is drained when its reader drops it before the end.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use parking_lot::Mutex;
use tokio::time::timeout;

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
    fn is_heard(&self) {}
    /// The body is complete.
    fn is_whole(&self) {}
}

impl BodyObserver for UnreadBody {
    fn rest(&self) -> &UnreadBody {
        self
    }
}

/// Discards the rest of a body. False: it is longer than `most` bytes, or does not arrive in time.
pub(super) async fn discard_rest(mut rest: Incoming, most: usize) -> bool {
    let mut room = most;
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
            Some(Ok(_)) if !is_whole => self.observer.is_heard(),
            Some(Ok(_)) => self.observer.is_whole(),
            Some(Err(_)) | None => {
                self.body = None;
                self.observer.is_whole();
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
