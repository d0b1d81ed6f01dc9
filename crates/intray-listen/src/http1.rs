//! One request and its answer, seen from the connection: when it is in hand, and when the connection goes on behind it.

use std::{
    convert::Infallible,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
};

use axum::{
    Router,
    body::Body,
    http::{HeaderValue, Request, Response, header},
};
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use tokio_util::sync::CancellationToken;
use tower::Service;

use super::{
    connection_limit::Place,
    delivery::{self, Outbox, Piece, Writes},
    request_body::{Arriving, Hears, Rest, is_soon_over},
};
use intray_base::shares::{By, Connection};

/// What is left of a body that nobody wants is thrown away up to this, so that the connection can go on. Beyond it the answer
/// says that the connection is closed.
const MOST_REST: usize = 64 << 10;

/// What the requests of a connection have in common.
pub(super) struct Talk {
    pub place: Place,
    peer: SocketAddr,
    router: Router,
    /// The end of the service is.
    near: CancellationToken,
    /// A body that its reader has left before the end. There is one request at a time.
    rest: Rest,
    outbox: Outbox,
    /// From a request's head until the protocol has its answer.
    is_asked: AtomicBool,
    /// The protocol has an answer that is not written yet.
    is_unwritten: AtomicBool,
}

impl Talk {
    pub(super) fn new(place: Place, peer: SocketAddr, router: Router, near: CancellationToken) -> Self {
        let (rest, outbox, is_asked, is_unwritten) = Default::default();
        Self { place, peer, router, near, rest, outbox, is_asked, is_unwritten }
    }
}

impl delivery::Hears for Talk {
    fn takes_last(&self, body: Body) {
        self.outbox.put(body);
    }
}

impl Writes for Talk {
    fn outbox(&self) -> &Outbox {
        &self.outbox
    }

    /// Nothing is in hand any more, unless the next request has come meanwhile. All of this is on one task.
    fn is_written(&self) {
        self.outbox.is_written();
        if self.is_unwritten.swap(false, Ordering::Relaxed) && !self.is_asked.load(Ordering::Relaxed) {
            self.place.is_answered();
        }
    }
}

impl Connection for Talk {
    fn peer(&self) -> SocketAddr {
        self.peer
    }

    fn charge(&self, payer: &Arc<str>, has_parts: &dyn Fn() -> bool) -> bool {
        self.place.charge(payer, has_parts)
    }
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
    request.extensions_mut().insert(By(talk.clone()));
    let is_asked_for = request.headers().contains_key(header::EXPECT);
    talk.is_asked.store(true, Ordering::Relaxed);
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
    if is_left || talk.near.is_cancelled() || talk.place.is_refused() {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    Ok(response.map(|body| Leaving { body: Some(body), talk }))
}

/// An answer on its way out. When it is written, nothing is in hand any more.
pub(super) struct Leaving {
    /// Until its last piece has it.
    body: Option<Body>,
    talk: Arc<Talk>,
}

impl http_body::Body for Leaving {
    type Data = Piece<Talk>;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Piece<Talk>>, axum::Error>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let frame = ready!(Pin::new(&mut *body).poll_frame(cx));
        let last = if body.is_end_stream() { self.body.take() } else { None };
        Poll::Ready(frame.map(|frame| frame.map(|frame| frame.map_data(|bytes| Piece::new(bytes, last, &self.talk)))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(http_body::Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or(SizeHint::with_exact(0), http_body::Body::size_hint)
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        // An answer may have read the body while it was said. What it left of that keeps the connection waiting for a reader.
        self.body = None;
        drop(self.talk.rest.take());
        self.talk.is_asked.store(false, Ordering::Relaxed);
        self.talk.is_unwritten.store(true, Ordering::Relaxed);
    }
}
