//! One request and its answer, seen from the connection: when it is in hand, and when the connection goes on behind it.

use std::{
    convert::Infallible,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use axum::{
    Router,
    body::Body,
    extract::ConnectInfo,
    http::{HeaderValue, Request, Response, header},
};
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use tokio_util::sync::CancellationToken;
use tower::Service;

use super::{
    arriving::{Arriving, Hears, Rest, is_soon_over},
    places::Place,
};

/// What is left of a body that nobody wants is thrown away up to this, so that the connection can go on. Beyond it the answer
/// says that the connection is closed.
const MOST_REST: usize = 64 << 10;

/// What the requests of a connection have in common.
pub(super) struct Talk {
    pub place: Place,
    pub peer: SocketAddr,
    pub router: Router,
    /// The end of the service is.
    pub near: CancellationToken,
    /// A body that its reader has left before the end. There is one request at a time.
    pub rest: Rest,
}

/// Until a body is there, nothing is in hand yet.
impl Hears for Talk {
    fn rest(&self) -> &Rest {
        &self.rest
    }

    fn is_heard(&self) {
        self.place.is_heard();
    }

    fn is_whole(&self) {
        self.place.is_busy();
    }
}

pub(super) async fn answer(talk: Arc<Talk>, mut request: Request<Incoming>) -> Result<Response<Leaving>, Infallible> {
    request.extensions_mut().insert(ConnectInfo(talk.peer));
    let is_asked_for = request.headers().contains_key(header::EXPECT);
    talk.place.has_head();
    if http_body::Body::is_end_stream(request.body()) {
        talk.place.is_busy();
    }
    let request = request.map(|body| Body::new(Arriving::new(body, talk.clone())));
    let Ok(mut response) = talk.router.clone().call(request).await;
    talk.place.is_busy();
    // A client that was answered early and sent no body yet, because it asked whether it may, must not be asked for it now.
    let is_left = match talk.rest.take() {
        Some(rest) => is_asked_for || !Box::pin(is_soon_over(rest, MOST_REST)).await,
        None => false,
    };
    if is_left || talk.near.is_cancelled() {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    Ok(response.map(|body| Leaving { body, talk }))
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
        drop(self.talk.rest.take());
        self.talk.place.is_answered();
    }
}
