//! URLs of a primary behind sentinels: the addresses of the sentinels and the name of the primary.

use std::fmt;

use intray_base::hosts::{split_port, unbracketed};

use crate::job::Invalid;

const SENTINEL_PORT: u16 = 26_379;
const RULE: Invalid = Invalid(
    "must be redis+sentinel://[user:password@]host[:port],host[:port]…/name[?db=N], or the same with rediss+sentinel://; user and password are for Redis itself",
);

/// A host, without the brackets of IPv6, and its port.
pub type SentinelAddress = (String, u16);

/// The sentinels, the name of the primary, and how to connect to it.
#[derive(Clone, PartialEq, Eq)]
pub struct SentinelUrl {
    pub is_tls: bool,
    /// Credentials for Redis itself, as in the URL: `user:password@`, or empty.
    pub credentials: String,
    pub sentinels: Vec<SentinelAddress>,
    pub name: String,
    pub db: u32,
}

impl SentinelUrl {
    /// Parses the part after `redis+sentinel://`.
    pub(super) fn parse(rest: &str, is_tls: bool) -> Result<Self, Invalid> {
        let (credentials, addresses) = match rest.rsplit_once('@') {
            Some((login, addresses)) => (format!("{login}@"), addresses),
            None => (String::new(), rest),
        };
        let (addresses, tail) = addresses.split_once('/').ok_or(RULE)?;
        let (name, db) = tail.split_once("?db=").unwrap_or((tail, "0"));
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if name.is_empty() || !name.chars().all(is_name) {
            return Err(RULE);
        }
        let sentinels = addresses
            .split(',')
            .map(|address| parse_host_port(address, Some(SENTINEL_PORT)))
            .collect::<Option<_>>()
            .ok_or(RULE)?;
        Ok(Self { is_tls, credentials, sentinels, name: name.to_owned(), db: db.parse().map_err(|_| RULE)? })
    }
}

/// Shows the URL without user and password.
impl fmt::Display for SentinelUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let addresses = self
            .sentinels
            .iter()
            .map(|(host, port)| if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") });
        let s = if self.is_tls { "s" } else { "" };
        write!(f, "redis{s}+sentinel://{}/{}", addresses.collect::<Vec<_>>().join(","), self.name)
    }
}

pub(super) fn parse_host_port(text: &str, default_port: Option<u16>) -> Option<SentinelAddress> {
    let (host, port) = split_port(text.trim())?;
    Some((unbracketed(host)?.to_owned(), port.or(default_port)?))
}
