//! Hosts and ports, as URLs and headers write them.

use std::net::{IpAddr, Ipv6Addr};

/// Strips the brackets of an IPv6 address, and checks names and IPv4 addresses. `None` when the host is invalid.
pub fn unbracketed(host: &str) -> Option<&str> {
    if let Some(inner) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return inner.parse::<Ipv6Addr>().is_ok().then_some(inner);
    }
    let clean = host.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_'));
    (!host.is_empty() && host.len() <= 253 && clean).then_some(host)
}

/// Whether a host is a loopback name or address. An IPv6 address has no brackets here.
pub fn is_loopback(host: &str) -> bool {
    let named = host.eq_ignore_ascii_case("localhost");
    named || host.parse::<IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback())
}

/// Splits `host[:port]`; the host may be a bracketed IPv6 address. `None` when the port is invalid.
pub fn split_port(place: &str) -> Option<(&str, Option<u16>)> {
    match place.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => port.parse().ok().map(|port| (host, Some(port))),
        _ => Some((place, None)),
    }
}
