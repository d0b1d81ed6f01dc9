//! Who may talk to the service through a browser. A page can make its visitor's browser send requests anywhere; these checks
//! come before anything runs.

use axum::{
    extract::Request,
    http::{HeaderName, HeaderValue, Method, header},
};
use tower_http::cors::{AllowOrigin, CorsLayer};

use crate::{
    access::RequiredRole,
    http::{
        middleware::{
            host::{self, Stranger},
            policy::{Origins, Policy},
        },
        names::{IDEMPOTENCY_KEY, LAST_EVENT_ID, REQUEST_ID, TRACEPARENT, single_value},
        response::problem::{Failure, Problem},
    },
};

/// How a browser says from where a page asks: `cross-site`, `same-site`, `same-origin`, `none`.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// What a page of ours sends, and what a tracing library adds by itself (W3C Trace Context and Baggage): a browser that may not
/// send one of them does not send the call.
const SENT: [HeaderName; 8] = [
    header::CONTENT_TYPE,
    header::AUTHORIZATION,
    IDEMPOTENCY_KEY,
    LAST_EVENT_ID,
    TRACEPARENT,
    HeaderName::from_static("tracestate"),
    HeaderName::from_static("baggage"),
    REQUEST_ID,
];

/// Two hours: longer than any browser keeps a preflight.
const PREFLIGHT: std::time::Duration = std::time::Duration::from_secs(7_200);

/// Lets listed pages read answers; `None` when there are none. Never with credentials.
pub fn cors(origins: &Origins, headers: &[String]) -> Option<CorsLayer> {
    let allowed = match origins {
        Origins::Any => AllowOrigin::any(),
        Origins::Listed(list) if list.is_empty() => return None,
        Origins::Listed(list) => AllowOrigin::list(list.iter().filter_map(|origin| HeaderValue::from_str(origin).ok())),
    };
    let named = headers.iter().filter_map(|name| HeaderName::from_bytes(name.as_bytes()).ok());
    let cors = CorsLayer::new()
        .allow_origin(allowed)
        .allow_methods([Method::GET, Method::POST, Method::PATCH, Method::DELETE])
        .allow_headers(SENT.into_iter().chain(named).collect::<Vec<_>>())
        .expose_headers([header::RETRY_AFTER, header::LOCATION, REQUEST_ID])
        .max_age(PREFLIGHT);
    Some(cors)
}

/// Refuses foreign hosts and origins. `open`: nobody needs a credential.
///
/// # Errors
/// A problem.
pub fn check(policy: &Policy, open: bool, who: RequiredRole, request: &mut Request) -> Result<(), Problem> {
    if let Err(problem) = host::check(&policy.allowed_hosts, open, request) {
        if !host::is_for_any(request.uri().path()) {
            return Err(problem);
        }
        request.extensions_mut().insert(Stranger);
    }
    check_change(policy, request)?;
    check_reading(policy, open, who, request)
}

/// A browser names the page's origin with every request that may change something.
fn check_change(policy: &Policy, request: &Request) -> Result<(), Problem> {
    let headers = request.headers();
    let reads = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    if reads || !headers.contains_key(header::ORIGIN) {
        return Ok(());
    }
    let origin = single_value(headers, &header::ORIGIN).unwrap_or("more than one origin");
    if policy.cors.allow(origin) || host::of(request).is_some_and(|host| is_own(origin, host)) {
        return Ok(());
    }
    Err(Problem::new(Failure::OriginNotAllowed, format!("pages of {origin} may not call this service")))
}

/// Where nobody needs a credential, a picture or a frame of any page could have the service work. Browsers say when that
/// page is of another site; a link from there may still open what is no secret.
fn check_reading(policy: &Policy, open: bool, who: RequiredRole, request: &Request) -> Result<(), Problem> {
    let (headers, method) = (request.headers(), request.method());
    let reads = matches!(*method, Method::GET | Method::HEAD);
    let foreign = headers.get(SEC_FETCH_SITE).is_some_and(|site| site == "cross-site");
    if !(open && reads && foreign) {
        return Ok(());
    }
    // A browser names no origin for a picture: whose it is, nobody knows.
    if who == RequiredRole::Public || policy.cors.allow(single_value(headers, &header::ORIGIN).unwrap_or_default()) {
        return Ok(());
    }
    Err(Problem::new(Failure::OriginNotAllowed, "pages of this site may not read from this service"))
}

/// Behind a proxy the service does not know its own scheme, so the host alone decides. Both leave out the usual port.
fn is_own(origin: &str, host: &str) -> bool {
    let usual = |scheme: &str| if scheme == "https" { ":443" } else { ":80" };
    origin.split_once("://").is_some_and(|(scheme, place)| {
        let host = host.strip_suffix(usual(scheme)).unwrap_or(host);
        !host.is_empty() && place.eq_ignore_ascii_case(host)
    })
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    fn policy(cors: &[&str]) -> Policy {
        let cors = Origins::Listed(cors.iter().map(|&origin| origin.to_owned()).collect());
        Policy {
            allowed_hosts: vec!["desk.example".to_owned()],
            cors,
            cors_headers: Vec::new(),
            max_payload: 1,
            demo: false,
        }
    }

    fn request(method: &str, headers: &[(&str, &str)]) -> Request {
        let request =
            headers.iter().fold(Request::builder().method(method), |r, (name, value)| r.header(*name, *value));
        request.body(Body::empty()).expect("a request")
    }

    #[test]
    fn only_pages_of_ours_change_anything() {
        let origin = |method: &str, origin: &str| {
            let request = request(method, &[("host", "desk.example:7070"), ("origin", origin)]);
            check_change(&policy(&["https://spa.example"]), &request).is_ok()
        };
        for ours in ["https://spa.example", "http://desk.example:7070", "https://desk.example:7070"] {
            assert!(origin("POST", ours), "{ours}");
        }
        for foreign in
            ["null", "", "https://evil.example", "http://desk.example", "https://spa.example.evil.example", "://"]
        {
            assert!(!origin("POST", foreign) && !origin("DELETE", foreign), "{foreign}");
            assert!(origin("GET", foreign), "reading changes nothing");
        }
        assert!(check_change(&policy(&[]), &request("POST", &[("host", "x")])).is_ok(), "no browser");
    }

    #[test]
    fn the_usual_port_goes_without_saying() {
        assert!(is_own("https://desk.example", "desk.example:443"));
        assert!(is_own("http://desk.example", "desk.example"));
        assert!(!is_own("https://desk.example", "desk.example:80"));
        assert!(!is_own("http://", ":80"));
    }
}
