//! What can be seen of a request from outside: an id, a figure, a line in the log. Never a query, a payload or a key.

use std::time::Instant;

use axum::{
    extract::{MatchedPath, Request},
    http::{HeaderName, HeaderValue, Method},
    middleware::Next,
    response::Response,
};
use tower_http::request_id::{MakeRequestId, PropagateRequestIdLayer, RequestId, SetRequestIdLayer};
use ulid::Ulid;

pub const REQUEST_ID: &str = "x-request-id";
/// Longer ones are not echoed into logs and answers.
const REQUEST_ID_BYTES: usize = 128;

/// Keeps the caller's request id, or gives one.
#[derive(Clone, Copy)]
pub(super) struct NewId;

impl MakeRequestId for NewId {
    fn make_request_id<B>(&mut self, _: &axum::http::Request<B>) -> Option<RequestId> {
        HeaderValue::from_str(&Ulid::new().to_string()).ok().map(RequestId::new)
    }
}

pub(super) fn request_ids() -> (SetRequestIdLayer<NewId>, PropagateRequestIdLayer) {
    let name = HeaderName::from_static(REQUEST_ID);
    (SetRequestIdLayer::new(name.clone(), NewId), PropagateRequestIdLayer::new(name))
}

/// Drops a request id that is not fit to be repeated.
pub(super) fn drop_odd_ids<B>(mut request: axum::http::Request<B>) -> axum::http::Request<B> {
    let fit = |id: &HeaderValue| (1..=REQUEST_ID_BYTES).contains(&id.len()) && id.to_str().is_ok();
    if !request.headers().get(REQUEST_ID).is_none_or(fit) {
        request.headers_mut().remove(REQUEST_ID);
    }
    request
}

/// The layer that measures requests and logs them.
pub(super) async fn observe(request: Request, next: Next) -> Response {
    let start = Instant::now();
    let method = method(request.method());
    let route = request.extensions().get::<MatchedPath>().cloned();
    let id = request.headers().get(REQUEST_ID).cloned();
    let response = next.run(request).await;

    let route = route.as_ref().map_or("unmatched", MatchedPath::as_str);
    let status = response.status();
    let took = start.elapsed();
    metrics::histogram!(
        "http_request_duration_seconds",
        "method" => method, "route" => route.to_owned(), "status" => status.as_str().to_owned(),
    )
    .record(took.as_secs_f64());
    let request_id = id.as_ref().and_then(|id| id.to_str().ok()).unwrap_or_default();
    let ms = took.as_secs_f64() * 1e3;
    tracing::debug!(method, route, status = status.as_u16(), ms, request_id, "request");
    response
}

/// Anybody can invent methods; they must not make figures of their own.
fn method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PATCH => "PATCH",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}
