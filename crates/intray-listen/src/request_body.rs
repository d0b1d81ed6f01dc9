//! A body on its way in, and what becomes of it when its reader has left before the end.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::time::timeout;

/// For what is left of a body that nobody wants: so long an answer waits for its end.
const REST_TIME: Duration = Duration::from_millis(250);

/// Where a body is that its reader has left before the end.
#[derive(Default)]
pub(super) struct Rest(Mutex<Option<Incoming>>);

impl Rest {
    pub(super) fn take(&self) -> Option<Incoming> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn put(&self, body: Incoming) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(body);
    }
}

/// Who hears how far a body has come, and keeps what is left of it.
pub(super) trait Hears {
    fn rest(&self) -> &Rest;
    /// Some of it has come, and more is to come.
    fn is_heard(&self) {}
    /// Nothing more is to come.
    fn is_whole(&self) {}
}

impl Hears for Rest {
    fn rest(&self) -> &Rest {
        self
    }
}

/// Throws away the rest of a body, if it is soon there and has so many bytes at most.
pub(super) async fn is_soon_over(mut rest: Incoming, most: usize) -> bool {
    let mut room = most;
    let read = async {
        while let Some(frame) = rest.frame().await {
            let bytes = frame.ok()?.data_ref().map_or(0, Bytes::len);
            room = room.checked_sub(bytes)?;
        }
        Some(())
    };
    matches!(timeout(REST_TIME, read).await, Ok(Some(())))
}

pub(super) struct Arriving<H: Hears> {
    body: Option<Incoming>,
    hears: Arc<H>,
}

impl<H: Hears> Arriving<H> {
    pub(super) fn new(body: Incoming, hears: Arc<H>) -> Self {
        Self { body: Some(body), hears }
    }
}

impl<H: Hears> http_body::Body for Arriving<H> {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let frame = ready!(Pin::new(&mut *body).poll_frame(cx));
        let is_whole = http_body::Body::is_end_stream(&*body);
        match &frame {
            Some(Ok(_)) if !is_whole => self.hears.is_heard(),
            Some(Ok(_)) => self.hears.is_whole(),
            Some(Err(_)) | None => {
                self.body = None;
                self.hears.is_whole();
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

impl<H: Hears> Drop for Arriving<H> {
    fn drop(&mut self) {
        if let Some(body) = self.body.take().filter(|body| !http_body::Body::is_end_stream(body)) {
            self.hears.rest().put(body);
        }
    }
}
