//! `X-Forwarded-For`, which no standard describes, in the forms that proxies write it.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use axum::http::HeaderMap;

const FORWARDED_FOR: &str = "x-forwarded-for";

/// The addresses from right to left, as they were added; `Err` with the text of one that is none.
pub(super) fn named(headers: &HeaderMap) -> impl Iterator<Item = Result<IpAddr, String>> {
    let values: Vec<_> = headers.get_all(FORWARDED_FOR).iter().map(|value| value.as_bytes()).collect();
    let parts = values.into_iter().rev().flat_map(|value| value.rsplit(|byte| *byte == b',')).map(<[u8]>::trim_ascii);
    parts.filter(|part| !part.is_empty()).map(|part| {
        let text = String::from_utf8_lossy(part);
        address(&text).ok_or_else(|| text.into_owned())
    })
}

/// An address alone, with a port, of IPv6 in brackets, each also in double quotes as `Forwarded` has it.
fn address(text: &str) -> Option<IpAddr> {
    let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
    if let Some((inside, behind)) = text.strip_prefix('[').and_then(|text| text.split_once(']')) {
        let is_port = behind.is_empty() || behind.strip_prefix(':')?.parse::<u16>().is_ok();
        return v6(inside).filter(|_| is_port);
    }
    let plain = text.parse().ok().or_else(|| v6(text));
    plain.or_else(|| text.parse::<SocketAddr>().ok().map(|place| place.ip()))
}

/// A zone is the proxy's own name for one of its links.
fn v6(text: &str) -> Option<IpAddr> {
    let address = text.split_once('%').map_or(text, |(address, _)| address);
    address.parse::<Ipv6Addr>().ok().map(IpAddr::V6)
}
