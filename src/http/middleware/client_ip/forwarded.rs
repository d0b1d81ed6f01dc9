//! Reads `X-Forwarded-For`, which has no standard, in the forms that proxies write.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use axum::http::HeaderMap;

const FORWARDED_FOR: &str = "x-forwarded-for";

/// The addresses from right to left; `Err` with the text of one that cannot be read.
pub(super) fn named(headers: &HeaderMap) -> impl Iterator<Item = Result<IpAddr, String>> {
    let values: Vec<_> = headers.get_all(FORWARDED_FOR).iter().map(|value| value.as_bytes()).collect();
    let parts = values.into_iter().rev().flat_map(|value| value.rsplit(|byte| *byte == b',')).map(<[u8]>::trim_ascii);
    parts.filter(|part| !part.is_empty()).map(|part| {
        let text = String::from_utf8_lossy(part);
        address(&text).ok_or_else(|| text.into_owned())
    })
}

/// An address, with or without a port, IPv6 also in brackets, each also in double quotes as in `Forwarded`.
fn address(text: &str) -> Option<IpAddr> {
    let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
    if let Some((inside, after)) = text.strip_prefix('[').and_then(|text| text.split_once(']')) {
        let is_port = after.is_empty() || after.strip_prefix(':')?.parse::<u16>().is_ok();
        return v6(inside).filter(|_| is_port);
    }
    let plain = text.parse().ok().or_else(|| v6(text));
    plain.or_else(|| text.parse::<SocketAddr>().ok().map(|place| place.ip()))
}

/// Ignores a zone, which has a meaning on the proxy only.
fn v6(text: &str) -> Option<IpAddr> {
    let address = text.split_once('%').map_or(text, |(address, _)| address);
    address.parse::<Ipv6Addr>().ok().map(IpAddr::V6)
}
