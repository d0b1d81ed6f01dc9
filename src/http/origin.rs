//! Who may talk to the service through a browser. A page can make its visitor's browser send requests anywhere; these checks
//! come before anything runs.

use std::{net::IpAddr, sync::Arc};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use tower_http::cors::{AllowOrigin, CorsLayer};

use super::{
    Policy,
    headers::{IDEMPOTENCY_KEY, LAST_EVENT_ID, TRACEPARENT},
    observe::REQUEST_ID,
    problem::{Failure, Problem},
};

/// Whose pages may call, besides the service's own.
#[derive(Debug, Clone)]
pub enum Origins {
    /// Everybody's.
    Any,
    /// As browsers write them: `scheme://host[:port]` in lower case, without the scheme's usual port.
    Listed(Vec<String>),
}

/// Two hours: longer than any browser keeps a preflight.
const PREFLIGHT: std::time::Duration = std::time::Duration::from_secs(7_200);

/// Lets listed pages read answers; `None` when there are none. Never with credentials.
pub(super) fn cors(origins: &Origins) -> Option<CorsLayer> {
    let allowed = match origins {
        Origins::Any => AllowOrigin::any(),
        Origins::Listed(list) if list.is_empty() => return None,
        Origins::Listed(list) => AllowOrigin::list(list.iter().filter_map(|origin| HeaderValue::from_str(origin).ok())),
    };
    let custom = [IDEMPOTENCY_KEY, LAST_EVENT_ID, TRACEPARENT, REQUEST_ID].map(HeaderName::from_static);
    let cors = CorsLayer::new()
        .allow_origin(allowed)
        .allow_methods([Method::GET, Method::POST, Method::PATCH, Method::DELETE])
        .allow_headers([header::CONTENT_TYPE, header::AUTHORIZATION].into_iter().chain(custom).collect::<Vec<_>>())
        .expose_headers([header::RETRY_AFTER, header::LOCATION, HeaderName::from_static(REQUEST_ID)])
        .max_age(PREFLIGHT);
    Some(cors)
}

/// The layer that refuses foreign hosts and origins.
pub(super) async fn check(State(policy): State<Arc<Policy>>, request: Request, next: Next) -> Response {
    match check_host(&policy, request.headers()).and_then(|()| check_origin(&policy, &request)) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

/// On a loopback listener: a name that an attacker points at 127.0.0.1 makes his page the service's own, but for `Host`.
fn check_host(policy: &Policy, headers: &HeaderMap) -> Result<(), Problem> {
    let host = lone(headers, &header::HOST);
    let known = |host: &str| {
        let name = without_port(host);
        is_loopback(name) || policy.allowed_hosts.iter().any(|allowed| allowed.eq_ignore_ascii_case(name))
    };
    if !policy.loopback || host.is_some_and(known) {
        return Ok(());
    }
    let detail = format!("this service does not answer to {}", host.unwrap_or("a request without one host"));
    Err(Problem::new(Failure::HostNotAllowed, detail))
}

/// A browser names the page's origin with every request that may change something.
fn check_origin(policy: &Policy, request: &Request) -> Result<(), Problem> {
    let headers = request.headers();
    let reads = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    if reads || !headers.contains_key(header::ORIGIN) {
        return Ok(());
    }
    let origin = lone(headers, &header::ORIGIN).unwrap_or("more than one origin");
    let allowed = match &policy.cors {
        Origins::Any => true,
        Origins::Listed(list) => list.iter().any(|listed| listed.eq_ignore_ascii_case(origin)),
    };
    if allowed || lone(headers, &header::HOST).is_some_and(|host| is_own(origin, host)) {
        return Ok(());
    }
    Err(Problem::new(Failure::OriginNotAllowed, format!("pages of {origin} may not call this service")))
}

fn lone<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

/// Behind a proxy the service does not know its own scheme, so the host alone decides. Both leave out the usual port.
fn is_own(origin: &str, host: &str) -> bool {
    let usual = |scheme: &str| if scheme == "https" { ":443" } else { ":80" };
    origin.split_once("://").is_some_and(|(scheme, place)| {
        let host = host.strip_suffix(usual(scheme)).unwrap_or(host);
        !host.is_empty() && place.eq_ignore_ascii_case(host)
    })
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

fn is_loopback(name: &str) -> bool {
    let inner = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(name);
    let by_name = name.eq_ignore_ascii_case("localhost") || name.to_ascii_lowercase().ends_with(".localhost");
    by_name || inner.parse::<IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    fn policy(cors: &[&str]) -> Policy {
        let cors = Origins::Listed(cors.iter().map(|&origin| origin.to_owned()).collect());
        Policy { loopback: true, allowed_hosts: vec!["desk.example".to_owned()], cors, max_payload: 1, demo: false }
    }

    fn request(method: &str, headers: &[(&str, &str)]) -> Request {
        let request =
            headers.iter().fold(Request::builder().method(method), |r, (name, value)| r.header(*name, *value));
        request.body(Body::empty()).expect("a request")
    }

    #[test]
    fn only_names_that_nobody_else_can_have_reach_a_loopback_listener() {
        let host = |hosts: &[&str]| {
            let headers: Vec<_> = hosts.iter().map(|&host| ("host", host)).collect();
            check_host(&policy(&[]), request("GET", &headers).headers()).is_ok()
        };
        for own in [
            "127.0.0.1:7070",
            "localhost",
            "LOCALHOST:1",
            "a.localhost:80",
            "[::1]:7070",
            "127.9.9.9",
            "Desk.Example:443",
        ] {
            assert!(host(&[own]), "{own}");
        }
        for foreign in
            ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "10.0.0.1", "", ":80", "evil:"]
        {
            assert!(!host(&[foreign]), "{foreign}");
        }
        assert!(!host(&[]) && !host(&["localhost", "localhost"]));
        let open = Policy { loopback: false, ..policy(&[]) };
        assert!(check_host(&open, &HeaderMap::new()).is_ok());
    }

    #[test]
    fn only_pages_of_ours_change_anything() {
        let origin = |method: &str, origin: &str| {
            let request = request(method, &[("host", "desk.example:7070"), ("origin", origin)]);
            check_origin(&policy(&["https://spa.example"]), &request).is_ok()
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
        assert!(check_origin(&policy(&[]), &request("POST", &[("host", "x")])).is_ok(), "no browser");
    }

    #[test]
    fn the_usual_port_goes_without_saying() {
        assert!(is_own("https://desk.example", "desk.example:443"));
        assert!(is_own("http://desk.example", "desk.example"));
        assert!(!is_own("https://desk.example", "desk.example:80"));
        assert!(!is_own("http://", ":80"));
    }
}
