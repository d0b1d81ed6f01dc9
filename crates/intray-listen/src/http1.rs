//! The requests of an HTTP/1 connection: when one is open, and whether the connection is kept after its answer.

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
    http::{HeaderValue, Request, Response, StatusCode, header},
};
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use tokio_util::sync::CancellationToken;
use tower::Service;

use super::{
    connection_limit::Permit,
    framing,
    progress::{BodyChunk, BodyObserver, ChunkObserver, FlushObserver, Outbox, TrackedBody, UnreadBody, discard_rest},
};
use intray_base::shares::{ClientConnection, RequestConnection};

/// An unread body up to this size is discarded, to keep the connection; after a longer one the connection is closed.
const MAX_DISCARDED_BYTES: usize = 64 << 10;

/// Shared by the requests of a connection.
pub(super) struct Http1Connection {
    pub permit: Permit,
    peer: SocketAddr,
    router: Router,
    /// The service is shutting down.
    draining: CancellationToken,
    /// There is one request at a time.
    rest: UnreadBody,
    outbox: Outbox,
    /// From a request's head until hyper has its answer.
    is_asked: AtomicBool,
    /// hyper has an answer that is not written yet.
    is_unwritten: AtomicBool,
}

impl Http1Connection {
    pub(super) fn new(permit: Permit, peer: SocketAddr, router: Router, draining: CancellationToken) -> Self {
        let (rest, outbox, is_asked, is_unwritten) = Default::default();
        Self { permit, peer, router, draining, rest, outbox, is_asked, is_unwritten }
    }
}

impl ChunkObserver for Http1Connection {
    fn on_last(&self, body: Body) {
        self.outbox.put(body);
    }
}

impl FlushObserver for Http1Connection {
    fn outbox(&self) -> &Outbox {
        &self.outbox
    }

    /// The request is over, unless the next one has begun meanwhile. All of this runs on one task.
    fn on_flushed(&self) {
        self.outbox.on_flushed();
        if self.is_unwritten.swap(false, Ordering::Relaxed) && !self.is_asked.load(Ordering::Relaxed) {
            self.permit.end_request();
        }
    }
}

impl ClientConnection for Http1Connection {
    fn peer(&self) -> SocketAddr {
        self.peer
    }

    fn charge(&self, payer: &Arc<str>, has_parts: &dyn Fn() -> bool) -> bool {
        self.permit.charge(payer, has_parts)
    }
}

/// A request is open once its body is complete.
impl BodyObserver for Http1Connection {
    fn rest(&self) -> &UnreadBody {
        &self.rest
    }

    fn on_progress(&self) {
        self.permit.on_progress();
    }

    fn on_complete(&self) {
        self.permit.begin_request();
    }
}

pub(super) async fn answer(
    connection: Arc<Http1Connection>,
    mut request: Request<Incoming>,
) -> Result<Response<ResponseBody>, Infallible> {
    request.extensions_mut().insert(RequestConnection(connection.clone()));
    let is_asked_for = request.headers().contains_key(header::EXPECT);
    connection.is_asked.store(true, Ordering::Relaxed);
    connection.permit.has_head();
    if http_body::Body::is_end_stream(request.body()) {
        connection.permit.begin_request();
    }
    let refusal = framing::refusal(&request);
    let request = request.map(|body| Body::new(TrackedBody::new(body, connection.clone())));
    let mut response = match refusal {
        None => {
            let Ok(response) = connection.router.clone().call(request).await;
            response
        }
        Some(status) => refused(status),
    };
    connection.permit.begin_request();
    // A client that was answered early and sent no body yet, because it asked whether it may, must not be asked for it now.
    let is_left = match connection.rest.take() {
        Some(rest) => is_asked_for || !Box::pin(discard_rest(rest, MAX_DISCARDED_BYTES)).await,
        None => false,
    };
    if refusal.is_some() || is_left || connection.draining.is_cancelled() || connection.permit.is_refused() {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    Ok(response.map(|body| ResponseBody { body: Some(body), connection }))
}

/// As hyper answers what it cannot read.
fn refused(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// The body of an answer. The request is over when it is written.
pub(super) struct ResponseBody {
    /// `None` once its last chunk holds it.
    body: Option<Body>,
    connection: Arc<Http1Connection>,
}

impl http_body::Body for ResponseBody {
    type Data = BodyChunk<Http1Connection>;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<BodyChunk<Http1Connection>>, axum::Error>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let frame = ready!(Pin::new(&mut *body).poll_frame(cx));
        let last = if body.is_end_stream() { self.body.take() } else { None };
        Poll::Ready(
            frame.map(|frame| frame.map(|frame| frame.map_data(|bytes| BodyChunk::new(bytes, last, &self.connection)))),
        )
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(http_body::Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or(SizeHint::with_exact(0), http_body::Body::size_hint)
    }
}

impl Drop for ResponseBody {
    fn drop(&mut self) {
        // A streamed answer may have read the request body. An unread rest would keep the connection waiting for a reader.
        self.body = None;
        drop(self.connection.rest.take());
        self.connection.is_asked.store(false, Ordering::Relaxed);
        self.connection.is_unwritten.store(true, Ordering::Relaxed);
    }
}
