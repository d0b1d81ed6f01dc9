//! By which names the service is asked. A page's owner can point a name of his at this machine: then the page is the
//! service's own, but for `Host`. Whoever needs a key has none there, so this matters where nobody needs one.

use std::net::IpAddr;

use axum::{extract::Request, http::header};

use crate::http::{
    names::single_value,
    response::problem::{Failure, Problem},
};

/// Among the allowed hosts: any will do.
const ANY: &str = "*";

/// Comes by a name that is not ours, and may learn no more than whether we are well.
#[derive(Clone, Copy)]
pub struct Stranger;

/// `open`: nobody needs a credential.
///
/// # Errors
/// A problem, when the service does not answer to the name that the request is for.
pub fn check(allowed: &[String], open: bool, request: &Request) -> Result<(), Problem> {
    let any = if allowed.is_empty() { !open } else { allowed.iter().any(|host| host == ANY) };
    let host = of(request);
    let known = |host: &str| {
        let name = without_port(host);
        // To read a name as an address costs more than to compare it.
        allowed.iter().any(|allowed| allowed.eq_ignore_ascii_case(name)) || is_loopback(name)
    };
    if any || host.is_some_and(known) {
        return Ok(());
    }
    let host = host.unwrap_or("a request without one host");
    let detail = format!("this service does not answer to {host}: name it by --allowed-host (INTRAY_ALLOWED_HOST)");
    Err(Problem::new(Failure::HostNotAllowed, detail))
}

/// What probes ask, who know an address and no name.
pub fn is_for_any(path: &str) -> bool {
    matches!(path, "/livez" | "/readyz")
}

/// Whom a request is for, maybe with a port. A target that says so itself wins over `Host` (RFC 9112, 3.2.2).
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
    // As nearly everybody writes it.
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
    fn without_keys_only_names_that_nobody_else_can_have_are_answered_to() {
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
    fn a_target_that_names_its_host_is_for_that_one() {
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
