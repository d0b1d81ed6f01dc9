//! One request and its answer, seen from the connection: when it is in hand, and what becomes of a body that nobody read.

use std::{
    convert::Infallible,
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    extract::ConnectInfo,
    http::{HeaderValue, Request, Response, header},
};
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tower::Service;

use super::places::Place;

/// What is left of a body that nobody wants is thrown away up to this, so that the connection can go on; and for so long.
/// Beyond either the answer says that the connection is closed.
const REST: usize = 64 << 10;
const REST_TIME: Duration = Duration::from_millis(250);

/// What the requests of a connection have in common.
pub(super) struct Talk {
    pub place: Place,
    pub peer: SocketAddr,
    pub router: Router,
    /// The end of the service is.
    pub near: CancellationToken,
    /// A body that its reader has left before the end. There is one request at a time.
    pub rest: Mutex<Option<Incoming>>,
}

impl Talk {
    fn rest(&self) -> Option<Incoming> {
        self.rest.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

pub(super) async fn answer(talk: Arc<Talk>, mut request: Request<Incoming>) -> Result<Response<Leaving>, Infallible> {
    request.extensions_mut().insert(ConnectInfo(talk.peer));
    let is_asked_for = request.headers().contains_key(header::EXPECT);
    talk.place.has_head();
    if http_body::Body::is_end_stream(request.body()) {
        talk.place.is_busy();
    }
    let request = request.map(|body| Body::new(Arriving { body: Some(body), talk: talk.clone() }));
    let Ok(mut response) = talk.router.clone().call(request).await;
    talk.place.is_busy();
    // A client that was answered early and sent no body yet, because it asked whether it may, must not be asked for it now.
    let is_left = match talk.rest() {
        Some(rest) => is_asked_for || !Box::pin(is_soon_over(rest)).await,
        None => false,
    };
    if is_left || talk.near.is_cancelled() {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    Ok(response.map(|body| Leaving { body, talk }))
}

/// Throws away the rest of a body, if it is short and soon there.
async fn is_soon_over(mut rest: Incoming) -> bool {
    let mut room = REST;
    let read = async {
        while let Some(frame) = rest.frame().await {
            let bytes = frame.ok()?.data_ref().map_or(0, Bytes::len);
            room = room.checked_sub(bytes)?;
        }
        Some(())
    };
    matches!(timeout(REST_TIME, read).await, Ok(Some(())))
}

/// A body on its way in. Until it is there, nothing is in hand yet.
struct Arriving {
    body: Option<Incoming>,
    talk: Arc<Talk>,
}

impl http_body::Body for Arriving {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let frame = ready!(Pin::new(&mut *body).poll_frame(cx));
        let is_whole = http_body::Body::is_end_stream(&*body);
        match &frame {
            Some(Ok(_)) if !is_whole => self.talk.place.is_heard(),
            Some(Ok(_)) => self.talk.place.is_busy(),
            Some(Err(_)) | None => {
                self.body = None;
                self.talk.place.is_busy();
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

impl Drop for Arriving {
    fn drop(&mut self) {
        if let Some(body) = self.body.take().filter(|body| !http_body::Body::is_end_stream(body)) {
            *self.talk.rest.lock().unwrap_or_else(PoisonError::into_inner) = Some(body);
        }
    }
}

/// An answer on its way out. When the connection has taken it, nothing is in hand any more.
pub(super) struct Leaving {
    body: Body,
    talk: Arc<Talk>,
}

impl http_body::Body for Leaving {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        // An answer may have read the body while it was said. What it left of that keeps the connection waiting for a reader.
        self.body = Body::empty();
        drop(self.talk.rest());
        self.talk.place.is_answered();
    }
}
