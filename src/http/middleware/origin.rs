//! Which hosts the service answers to, and which pages may call it from a browser. Any page can make a browser send requests anywhere, so these checks
//! come before everything else.

use std::net::IpAddr;

use axum::{
    extract::Request,
    http::{HeaderName, HeaderValue, Method, header},
};
use tower_http::cors::{AllowOrigin, CorsLayer};

use crate::{
    access::RequiredRole,
    http::{
        middleware::policy::{Origins, Policy},
        names::{IDEMPOTENCY_KEY, LAST_EVENT_ID, REQUEST_ID, TRACEPARENT, single_value},
        response::problem::{Problem, ProblemType},
    },
};

/// Where a browser says that a request comes from: `cross-site`, `same-site`, `same-origin` or `none`.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Headers that the browser module sends, and those that a tracing library adds by itself (W3C Trace Context and
/// Baggage): a browser does not send a call with any other.
const ALLOWED_HEADERS: [HeaderName; 8] = [
    header::CONTENT_TYPE,
    header::AUTHORIZATION,
    IDEMPOTENCY_KEY,
    LAST_EVENT_ID,
    TRACEPARENT,
    HeaderName::from_static("tracestate"),
    HeaderName::from_static("baggage"),
    REQUEST_ID,
];

/// Two hours, more than any browser caches a preflight.
const PREFLIGHT_MAX_AGE: std::time::Duration = std::time::Duration::from_secs(7_200);

/// Lets pages of the listed origins read answers, never with cookies. `None` when none are listed.
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
        .allow_headers(ALLOWED_HEADERS.into_iter().chain(named).collect::<Vec<_>>())
        .expose_headers([header::RETRY_AFTER, header::LOCATION, REQUEST_ID])
        .max_age(PREFLIGHT_MAX_AGE);
    Some(cors)
}

/// Refuses hosts and origins that are not allowed. `open`: no credential is needed.
///
/// # Errors
/// A problem.
pub fn check(policy: &Policy, open: bool, required_role: RequiredRole, request: &mut Request) -> Result<(), Problem> {
    if let Err(problem) = check_host(&policy.allowed_hosts, open, request) {
        if !is_for_any(request.uri().path()) {
            return Err(problem);
        }
        request.extensions_mut().insert(UnknownHost);
    }
    check_change(policy, request)?;
    check_reading(policy, open, required_role, request)
}

/// Browsers send `Origin` with every request that may change something.
///
/// `tower_http::csrf` is another rule: it refuses `Host: desk.example:443` and `Host: DESK.example`, takes the first of two origins,
/// accepts any origin together with `Sec-Fetch-Site: same-origin`, gives its refusal no origin to name, and knows no `check_reading`.
fn check_change(policy: &Policy, request: &Request) -> Result<(), Problem> {
    let headers = request.headers();
    let reads = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    if reads || !headers.contains_key(header::ORIGIN) {
        return Ok(());
    }
    let origin = single_value(headers, &header::ORIGIN).unwrap_or("more than one origin");
    if policy.cors.allow(origin) || host_of(request).is_some_and(|host| is_same_host(origin, host)) {
        return Ok(());
    }
    Err(Problem::new(ProblemType::OriginNotAllowed, format!("pages of {origin} may not call this service")))
}

/// Without access control, an image or a frame of any page could start work here. Browsers mark requests from other
/// sites; a link from there may still open public pages.
fn check_reading(policy: &Policy, open: bool, required_role: RequiredRole, request: &Request) -> Result<(), Problem> {
    let (headers, method) = (request.headers(), request.method());
    let reads = matches!(*method, Method::GET | Method::HEAD);
    let foreign = headers.get(SEC_FETCH_SITE).is_some_and(|site| site == "cross-site");
    if !(open && reads && foreign) {
        return Ok(());
    }
    // An image request has no `Origin` to compare.
    if required_role == RequiredRole::Public
        || policy.cors.allow(single_value(headers, &header::ORIGIN).unwrap_or_default())
    {
        return Ok(());
    }
    Err(Problem::new(ProblemType::OriginNotAllowed, "pages of this site may not read from this service"))
}

/// The service does not know its own scheme behind a proxy, so the host alone decides. Both leave out the default port.
fn is_same_host(origin: &str, host: &str) -> bool {
    let usual = |scheme: &str| if scheme == "https" { ":443" } else { ":80" };
    origin.split_once("://").is_some_and(|(scheme, place)| {
        let host = host.strip_suffix(usual(scheme)).unwrap_or(host);
        !host.is_empty() && place.eq_ignore_ascii_case(host)
    })
}

/// The entry that allows any host.
const ANY: &str = "*";

/// Marks a request for an unknown host, which may learn only whether the service is up.
#[derive(Clone, Copy)]
pub struct UnknownHost;

/// Checks `Host` against DNS rebinding: a page's owner can point a name at this machine, and the page then counts as
/// the service's own origin. This matters without access control (`open`), where no key stops such a page.
fn check_host(allowed: &[String], open: bool, request: &Request) -> Result<(), Problem> {
    let any = if allowed.is_empty() { !open } else { allowed.iter().any(|host| host == ANY) };
    let host = host_of(request);
    let known = |host: &str| {
        let name = without_port(host);
        // Comparing names is cheaper than parsing an address.
        allowed.iter().any(|allowed| allowed.eq_ignore_ascii_case(name)) || is_loopback(name)
    };
    if any || host.is_some_and(known) {
        return Ok(());
    }
    let host = host.unwrap_or("a request without one host");
    let detail = format!("this service does not answer to {host}: name it by --allowed-host (INTRAY_ALLOWED_HOST)");
    Err(Problem::new(ProblemType::HostNotAllowed, detail))
}

/// Probes know an address and no name.
fn is_for_any(path: &str) -> bool {
    matches!(path, "/livez" | "/readyz")
}

/// The host that a request names, maybe with a port. An absolute target takes precedence over `Host` (RFC 9112, section
/// 3.2.2).
fn host_of(request: &Request) -> Option<&str> {
    let by_target = request.uri().authority().map(|authority| authority.as_str());
    let after_the_user = |target: &'_ str| target.rfind('@').map_or(0, |at| at + 1);
    match by_target {
        Some(target) => Some(&target[after_the_user(target)..]),
        None => single_value(request.headers(), &header::HOST),
    }
}

fn without_port(host: &str) -> &str {
    let name = host.trim_end_matches(|digit: char| digit.is_ascii_digit());
    match name.strip_suffix(':') {
        Some(before) if name.len() < host.len() => before,
        _ => host,
    }
}

fn is_loopback(name: &str) -> bool {
    // The usual names first.
    if matches!(name, "127.0.0.1" | "localhost") {
        return true;
    }
    let inner = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(name);
    let is_local = |name: &str| name.rsplit('.').next().is_some_and(|last| last.eq_ignore_ascii_case("localhost"));
    inner.parse::<IpAddr>().map_or_else(|_| is_local(name), |ip| ip.to_canonical().is_loopback())
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
            desk: Default::default(),
        }
    }

    fn request(method: &str, headers: &[(&str, &str)]) -> Request {
        let request =
            headers.iter().fold(Request::builder().method(method), |r, (name, value)| r.header(*name, *value));
        request.body(Body::empty()).expect("a request")
    }

    #[test]
    fn changes_are_accepted_from_allowed_origins_only() {
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
    fn default_port_may_be_left_out() {
        assert!(is_same_host("https://desk.example", "desk.example:443"));
        assert!(is_same_host("http://desk.example", "desk.example"));
        assert!(!is_same_host("https://desk.example", "desk.example:80"));
        assert!(!is_same_host("http://", ":80"));
    }

    fn passes(allowed: &[&str], open: bool, target: &str, hosts: &[&str]) -> bool {
        let request = hosts.iter().fold(Request::builder().uri(target), |r, host| r.header("host", *host));
        let allowed: Vec<_> = allowed.iter().map(|&host| host.to_owned()).collect();
        check_host(&allowed, open, &request.body(Body::empty()).expect("a request")).is_ok()
    }

    #[test]
    fn without_keys_only_known_hosts_are_accepted() {
        for own in [
            "127.0.0.1:7070",
            "localhost",
            "LOCALHOST:1",
            "a.localhost:80",
            "[::1]:7070",
            "127.9.9.9",
            "Desk.Example:443",
        ] {
            assert!(passes(&["desk.example"], true, "/", &[own]), "{own}");
        }
        for foreign in
            ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "10.0.0.1", "", ":80", "evil:"]
        {
            assert!(!passes(&["desk.example"], true, "/", &[foreign]), "{foreign}");
            assert!(!passes(&["desk.example"], false, "/", &[foreign]), "with keys too, where names are given");
            assert!(passes(&[], false, "/", &[foreign]) && passes(&["desk.example", "*"], true, "/", &[foreign]));
        }
        assert!(!passes(&[], true, "/", &[]) && !passes(&[], true, "/", &["localhost", "localhost"]));
    }

    #[test]
    fn host_of_an_absolute_target_takes_precedence() {
        for (target, own) in [
            ("http://localhost:7070/", true),
            ("http://u:p@localhost/", true),
            ("http://evil.example/", false),
            ("http://localhost@evil.example:80/", false),
        ] {
            assert_eq!(passes(&[], true, target, &["evil.example"]), own, "{target}");
            assert_eq!(passes(&[], true, target, &["localhost"]), own, "{target}");
        }
    }
}
