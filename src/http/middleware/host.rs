//! Checks `Host` against DNS rebinding: a page's owner can point a name at this machine, and the page then counts as
//! the service's own origin. This matters without access control, where no key stops such a page.

use std::net::IpAddr;

use axum::{extract::Request, http::header};

use crate::http::{
    names::single_value,
    response::problem::{Problem, ProblemType},
};

/// The entry that allows any host.
const ANY: &str = "*";

/// Marks a request for an unknown host, which may learn only whether the service is up.
#[derive(Clone, Copy)]
pub struct UnknownHost;

/// `open`: no credential is needed.
///
/// # Errors
/// A problem, when the request names a host that is not allowed.
pub fn check(allowed: &[String], open: bool, request: &Request) -> Result<(), Problem> {
    let any = if allowed.is_empty() { !open } else { allowed.iter().any(|host| host == ANY) };
    let host = of(request);
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
pub fn is_for_any(path: &str) -> bool {
    matches!(path, "/livez" | "/readyz")
}

/// The host that a request names, maybe with a port. An absolute target takes precedence over `Host` (RFC 9112, section
/// 3.2.2).
pub fn of(request: &Request) -> Option<&str> {
    let by_target = request.uri().authority().map(|authority| authority.as_str());
    let behind_the_user = |target: &'_ str| target.rfind('@').map_or(0, |at| at + 1);
    match by_target {
        Some(target) => Some(&target[behind_the_user(target)..]),
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

    fn passes(allowed: &[&str], open: bool, target: &str, hosts: &[&str]) -> bool {
        let request = hosts.iter().fold(Request::builder().uri(target), |r, host| r.header("host", *host));
        let allowed: Vec<_> = allowed.iter().map(|&host| host.to_owned()).collect();
        check(&allowed, open, &request.body(Body::empty()).expect("a request")).is_ok()
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
