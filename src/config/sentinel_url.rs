//! The address of a primary that sentinels know: where they are, and by what name they know it.

use std::fmt;

use super::values::{split_port, unbracketed};
use crate::job::Invalid;

const PORT: u16 = 26_379;
const RULE: Invalid = Invalid(
    "must be redis+sentinel://[user:password@]host[:port],host[:port]…/name[?db=N], or the same with rediss+sentinel://; user and password are for Redis itself",
);

/// Host, an IPv6 one without its brackets, and port.
pub type Place = (String, u16);

/// Which sentinels to ask, and for what.
#[derive(Clone, PartialEq, Eq)]
pub struct SentinelUrl {
    pub is_tls: bool,
    /// As it stands in the URL, for Redis itself: `user:password@`, or nothing.
    pub who: String,
    pub sentinels: Vec<Place>,
    pub name: String,
    pub db: u32,
}

impl SentinelUrl {
    /// What stands behind `redis+sentinel://`.
    pub(super) fn parse(rest: &str, is_tls: bool) -> Result<Self, Invalid> {
        let (who, places) = match rest.rsplit_once('@') {
            Some((who, places)) => (format!("{who}@"), places),
            None => (String::new(), rest),
        };
        let (places, tail) = places.split_once('/').ok_or(RULE)?;
        let (name, db) = tail.split_once("?db=").unwrap_or((tail, "0"));
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if name.is_empty() || !name.chars().all(is_name) {
            return Err(RULE);
        }
        let sentinels =
            places.split(',').map(|place| place_of(place, Some(PORT))).collect::<Option<_>>().ok_or(RULE)?;
        Ok(Self { is_tls, who, sentinels, name: name.to_owned(), db: db.parse().map_err(|_| RULE)? })
    }
}

/// Without user and password.
impl fmt::Display for SentinelUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places = self
            .sentinels
            .iter()
            .map(|(host, port)| if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") });
        let s = if self.is_tls { "s" } else { "" };
        write!(f, "redis{s}+sentinel://{}/{}", places.collect::<Vec<_>>().join(","), self.name)
    }
}

pub(super) fn place_of(text: &str, usual: Option<u16>) -> Option<Place> {
    let (host, port) = split_port(text.trim())?;
    Some((unbracketed(host)?.to_owned(), port.or(usual)?))
}
