//! What can be seen of a request from outside: an id, a figure, a line in the log. Never a query, a payload or a key.

use std::{
    sync::{PoisonError, RwLock},
    time::Instant,
};

use axum::{
    extract::{MatchedPath, Request},
    http::{HeaderValue, Method, StatusCode, header},
    response::Response,
};
use foldhash::HashMap;
use metrics::Histogram;

use crate::{
    http::{middleware::audit::Act, names::REQUEST_ID},
    job::ids::random_code,
};

/// Every answer but those that say something else: pages, files and streams of events.
const NOT_KEPT: HeaderValue = HeaderValue::from_static("no-store");
/// Longer ones are not echoed into logs and answers.
const REQUEST_ID_BYTES: usize = 128;

/// What is seen of a request before it is answered.
pub struct Sight {
    start: Instant,
    method: &'static str,
    route: Option<MatchedPath>,
    id: Option<HeaderValue>,
}

impl Sight {
    /// Keeps the caller's request id if it is fit to be repeated, or gives one.
    pub fn of(request: &Request) -> Self {
        let fit = |id: &&HeaderValue| (1..=REQUEST_ID_BYTES).contains(&id.len()) && id.to_str().is_ok();
        let own = request.headers().get(REQUEST_ID).filter(fit).cloned();
        Self {
            start: Instant::now(),
            method: word(request.method()),
            route: request.extensions().get::<MatchedPath>().cloned(),
            id: own.or_else(|| HeaderValue::from_bytes(random_code().as_bytes()).ok()),
        }
    }

    fn route(&self) -> &str {
        self.route.as_ref().map_or("unmatched", MatchedPath::as_str)
    }
}

/// The histograms of each route, kept by method and status: to look one up by its labels costs more than the rest of this.
#[derive(Default)]
pub struct Figures(RwLock<HashMap<String, Vec<Kept>>>);

struct Kept {
    method: &'static str,
    status: StatusCode,
    took: Histogram,
}

impl Figures {
    /// Measures a request that is answered, logs it, and gives the answer its id.
    pub fn note(&self, sight: Sight, response: &mut Response) {
        let (route, method, status, took) = (sight.route(), sight.method, response.status(), sight.start.elapsed());
        self.histogram(route, method, status).record(took.as_secs_f64());
        let request_id = sight.id.as_ref().and_then(|id| id.to_str().ok()).unwrap_or_default();
        let ms = took.as_secs_f64() * 1e3;
        if let Some(act) = response.extensions().get::<Act>() {
            act.log(request_id);
        }
        tracing::debug!(method, route, status = status.as_u16(), ms, request_id, "request");
        let headers = response.headers_mut();
        // RFC 9111, section 4.2.2: an answer that says nothing of caches may be kept, and given to others.
        headers.entry(header::CACHE_CONTROL).or_insert(NOT_KEPT);
        if let Some(id) = sight.id {
            headers.insert(REQUEST_ID, id);
        }
    }

    fn histogram(&self, route: &str, method: &'static str, status: StatusCode) -> Histogram {
        let is_it = |kept: &&Kept| kept.status == status && kept.method == method;
        let routes = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = routes.get(route).and_then(|route| route.iter().find(is_it)) {
            return kept.took.clone();
        }
        drop(routes);
        let took = metrics::histogram!(
            "http_request_duration_seconds",
            "method" => method, "route" => route.to_owned(), "status" => status.as_str().to_owned(),
        );
        let mut routes = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let kept = Kept { method, status, took: took.clone() };
        routes.entry(route.to_owned()).or_default().push(kept);
        took
    }
}

/// Anybody can invent methods; they must not make figures of their own.
fn word(method: &Method) -> &'static str {
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
