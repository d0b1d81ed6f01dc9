//! Request ids, metrics and the request log; never a query, a payload or a key.

use std::time::Instant;

use axum::{
    extract::{MatchedPath, Request},
    http::{HeaderValue, Method, header},
    response::Response,
};
use intray_metrics::HTTP_REQUEST_DURATION_SECONDS;

use crate::{
    http::{middleware::audit::AuditEntry, names::REQUEST_ID},
    job::ids::random_code,
};

/// For each answer without a `Cache-Control` of its own.
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
/// Longer ones are replaced, not echoed into logs and answers.
const MAX_REQUEST_ID_BYTES: usize = 128;

/// What is recorded of a request before it is answered.
pub struct RequestInfo {
    start: Instant,
    method: &'static str,
    route: Option<MatchedPath>,
    id: Option<HeaderValue>,
}

impl RequestInfo {
    /// Keeps the caller's request id if it is printable and short, or generates one.
    pub fn of(request: &Request) -> Self {
        let fit = |id: &&HeaderValue| (1..=MAX_REQUEST_ID_BYTES).contains(&id.len()) && id.to_str().is_ok();
        let own = request.headers().get(REQUEST_ID).filter(fit).cloned();
        Self {
            start: Instant::now(),
            method: method_label(request.method()),
            route: request.extensions().get::<MatchedPath>().cloned(),
            id: own.or_else(|| HeaderValue::from_bytes(random_code().as_bytes()).ok()),
        }
    }

    fn route(&self) -> &str {
        self.route.as_ref().map_or("unmatched", MatchedPath::as_str)
    }

    /// Measures and logs an answered request, and adds the request id to the answer.
    pub fn record(self, response: &mut Response) {
        let (route, method, status, took) = (self.route(), self.method, response.status(), self.start.elapsed());
        HTTP_REQUEST_DURATION_SECONDS.of(&[method, route, status.as_str()]).observe(took.as_secs_f64());
        let request_id = self.id.as_ref().and_then(|id| id.to_str().ok()).unwrap_or_default();
        let ms = took.as_secs_f64() * 1e3;
        if let Some(act) = response.extensions().get::<AuditEntry>() {
            act.log(request_id);
        }
        tracing::debug!(method, route, status = status.as_u16(), ms, request_id, "request");
        let headers = response.headers_mut();
        // A cache may keep an answer that does not mention caching, and give it to others (RFC 9111, section 4.2.2).
        headers.entry(header::CACHE_CONTROL).or_insert(NO_STORE);
        if let Some(id) = self.id {
            headers.insert(REQUEST_ID, id);
        }
    }
}

/// Unknown methods share one label, because callers can invent any number.
fn method_label(method: &Method) -> &'static str {
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
