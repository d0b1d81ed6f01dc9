//! The types of what can be set, each made by a parser that says its rule.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    str::FromStr,
};

use intray_base::hosts::{is_loopback, split_port, unbracketed};
use ipnet::IpNet;

use crate::job::Invalid;

/// Where to listen. The host may be a name: it is looked up when the listener is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listen {
    host: String,
    port: u16,
}

impl Listen {
    pub const DEFAULT: &str = "127.0.0.1:7070";
    const RULE: Invalid = Invalid("must be host:port, like 127.0.0.1:7070 or [::1]:7070");

    /// Host, an IPv6 one without its brackets, and port, as `ToSocketAddrs` takes them.
    pub fn address(&self) -> (&str, u16) {
        (&self.host, self.port)
    }

    /// Whether only this machine can reach it. A name other than `localhost` is taken to be reachable.
    pub fn is_loopback(&self) -> bool {
        is_loopback(&self.host)
    }

    /// The address to connect to from this machine: a listener on every address is met on loopback.
    #[must_use]
    pub fn from_here(&self) -> Self {
        let host = match self.host.parse() {
            Ok(IpAddr::V4(Ipv4Addr::UNSPECIFIED)) => Ipv4Addr::LOCALHOST.to_string(),
            Ok(IpAddr::V6(Ipv6Addr::UNSPECIFIED)) => Ipv6Addr::LOCALHOST.to_string(),
            _ => self.host.clone(),
        };
        Self { host, port: self.port }
    }
}

impl FromStr for Listen {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let (host, port) = text.rsplit_once(':').ok_or(Self::RULE)?;
        let host = unbracketed(host).ok_or(Self::RULE)?;
        let port = port.parse().map_err(|_| Self::RULE)?;
        Ok(Self { host: host.to_owned(), port })
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

/// Bytes of memory, at least what a server needs to work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemorySize(pub u64);

impl MemorySize {
    const LEAST: u64 = 1 << 20;
    const RULE: Invalid = Invalid("must be bytes, or a number followed by K, M or G, and at least 1M; 0: no limit");
}

impl FromStr for MemorySize {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let text = text.trim().to_ascii_uppercase();
        let (number, power) = match text.strip_suffix(['K', 'M', 'G']) {
            Some(number) if text.ends_with('K') => (number, 10),
            Some(number) if text.ends_with('M') => (number, 20),
            Some(number) => (number, 30),
            None => (text.as_str(), 0),
        };
        let clean = number.bytes().all(|byte| byte.is_ascii_digit());
        let bytes = number.parse::<u64>().ok().and_then(|number| number.checked_mul(1 << power));
        bytes.filter(|bytes| clean && (*bytes == 0 || *bytes >= Self::LEAST)).map(Self).ok_or(Self::RULE)
    }
}

/// What every key begins with. Braces are Redis Cluster's: they say which part of a key chooses the slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prefix(String);

impl Prefix {
    const RULE: Invalid = Invalid("must be 1 to 64 characters of A-Z, a-z, 0-9, '.', '_', ':' and '-'");

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Prefix {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let clean = text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b':' | b'-'));
        if (1..=64).contains(&text.len()) && clean { Ok(Self(text.to_owned())) } else { Err(Self::RULE) }
    }
}

/// The name of a header (RFC 9110, section 5.1), in lower case as browsers ask for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderName(String);

impl HeaderName {
    const MAX_LENGTH: usize = 128;
    const RULE: Invalid = Invalid("must be the name of a header, 1 to 128 characters; * is none: name each");

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for HeaderName {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        // `*` is a valid header name, but browsers read it as a wildcard.
        let clean = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'+-.^_`|~".contains(&byte));
        let fits = (1..=Self::MAX_LENGTH).contains(&text.len());
        if clean && fits { Ok(Self(text.to_ascii_lowercase())) } else { Err(Self::RULE) }
    }
}

/// An origin whose pages may call, in the form of the `Origin` header: lower case, without the scheme's default port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    Any,
    Exact(String),
}

impl Origin {
    /// `null` is refused: every sandboxed frame and local file sends it, so it would allow any page.
    const RULE: Invalid =
        Invalid("must be * or scheme://host[:port] without a path, like https://desk.example; not null");
}

impl FromStr for Origin {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let text = text.trim().to_ascii_lowercase();
        if text == "*" {
            return Ok(Self::Any);
        }
        let (scheme, place) = text.split_once("://").ok_or(Self::RULE)?;
        let (host, port) = split_port(place).ok_or(Self::RULE)?;
        let scheme_is_clean = scheme.starts_with(|c: char| c.is_ascii_lowercase())
            && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'.' | b'-'));
        if !scheme_is_clean || unbracketed(host).is_none() {
            return Err(Self::RULE);
        }
        let port = match (scheme, port) {
            (_, None) | ("http", Some(80)) | ("https", Some(443)) => String::new(),
            (_, Some(port)) => format!(":{port}"),
        };
        Ok(Self::Exact(format!("{scheme}://{host}{port}")))
    }
}

/// A name or address in the form of the `Host` header, lower case, without a port; or `*` for any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostName(String);

impl HostName {
    const RULE: Invalid = Invalid("must be * or a host name or an address, without scheme and port");

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for HostName {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let text = text.trim();
        if text != "*" {
            unbracketed(text).ok_or(Self::RULE)?;
        }
        Ok(Self(text.to_ascii_lowercase()))
    }
}

/// A range of IP addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressRange(pub IpNet);

impl FromStr for AddressRange {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let text = text.trim();
        let range = text.parse().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
        range.map(Self).map_err(|_| Invalid("must be an address or a range of them, like 10.0.0.0/8 or fd00::/8"))
    }
}
