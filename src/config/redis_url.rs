//! The URL of Redis, which may hold a password: it is never printed in full, not even in an error.

use std::{ffi::OsStr, fmt};

use intray_base::hosts::{is_loopback, split_port, unbracketed};

use super::sentinel_url::SentinelUrl;
use crate::job::Invalid;

/// The Redis that stores the jobs.
#[derive(Clone, PartialEq, Eq)]
pub enum RedisUrl {
    /// A private server that this process starts.
    Embedded,
    /// A server of the operator over TCP or a unix socket, or the nodes of a cluster.
    Url(Secret),
    /// The current primary behind sentinels of the operator.
    Sentinels(SentinelUrl),
}

/// A URL that may hold a password. Only [`Secret::expose`] returns the full text.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Returns the full URL, only for the client that connects.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Returns the URL's hosts and ports, separated by commas, or its path, without user and password.
    fn place(&self) -> &str {
        // The URL of a unix socket has its password in the query.
        let plain = self.0.split('?').next().unwrap_or_default();
        let (_, rest) = plain.split_once("://").unwrap_or_default();
        // A path starts with a slash, and an `@` in it has no special meaning.
        rest.rsplit_once('@').filter(|_| !rest.starts_with('/')).map_or(rest, |(_, place)| place)
    }

    pub(super) fn asks_for_tls(&self) -> bool {
        ["rediss://", "valkeys://", "rediss+cluster://", "valkeys+cluster://"]
            .iter()
            .any(|scheme| self.0.starts_with(scheme))
    }
}

const RULE: Invalid = Invalid(
    "must be redis://[user:password@]host[:port][/db], unix:///path[?db=N] or redis+cluster://[user:password@]host:port,host:port; with rediss for TLS",
);
const INSECURE: Invalid = Invalid("asks for a certificate that is not checked; name who signed it by --redis-ca-file");

impl RedisUrl {
    /// # Errors
    /// The rule that the value of a flag breaks.
    pub(super) fn from_flag(value: &OsStr) -> Result<Self, Invalid> {
        value.to_str().ok_or(RULE).and_then(Self::parse)
    }

    /// # Errors
    /// The rule that the text breaks, without the text itself.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let text = text.trim();
        let (scheme, rest) = text.split_once("://").ok_or(RULE)?;
        let scheme = scheme.to_ascii_lowercase();
        let url = Secret(format!("{scheme}://{rest}"));
        match scheme.as_str() {
            "rediss" | "valkeys" | "rediss+cluster" | "valkeys+cluster" if rest.contains('#') => Err(INSECURE),
            "redis" | "valkey" | "rediss" | "valkeys" if is_server(rest) => Ok(Self::Url(url)),
            "unix" | "redis+unix" | "valkey+unix" if is_path(rest) => Ok(Self::Url(url)),
            "redis+cluster" | "valkey+cluster" | "rediss+cluster" | "valkeys+cluster" if are_nodes(rest) => {
                Ok(Self::Url(url))
            }
            "redis+sentinel" | "rediss+sentinel" if rest.contains('#') => Err(INSECURE),
            "redis+sentinel" => SentinelUrl::parse(rest, false).map(Self::Sentinels),
            "rediss+sentinel" => SentinelUrl::parse(rest, true).map(Self::Sentinels),
            _ => Err(RULE),
        }
    }

    /// Whether the URL names nodes of a cluster.
    pub fn is_of_a_cluster(&self) -> bool {
        matches!(self, Self::Url(Secret(url)) if url.split_once("://").is_some_and(|(scheme, _)| scheme.ends_with("+cluster")))
    }

    /// Whether Redis shares the processors of this process. With sentinels the answer is no, because the primary may move.
    pub fn is_on_this_machine(&self) -> bool {
        match self {
            Self::Embedded => true,
            Self::Sentinels(_) => false,
            Self::Url(url) => {
                let place = url.place();
                let (hosts, _) = place.split_once('/').unwrap_or((place, ""));
                place.starts_with('/') || hosts.split(',').all(|place| host(place.trim()).is_some_and(is_loopback))
            }
        }
    }
}

/// Returns the host of `host[:port]`, `None` if the text has another form.
fn host(place: &str) -> Option<&str> {
    split_port(place).and_then(|(host, _)| unbracketed(host))
}

/// Checks for `[user:password@]host[:port][/db][?options]`. The crate `url` reads no list of hosts, as clusters and sentinels
/// have, so it would replace only this function.
fn is_server(rest: &str) -> bool {
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at(end);
    let place = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
    let db = tail.strip_prefix('/').unwrap_or_default().split('?').next().unwrap_or_default();
    let db_is_number = db.is_empty() || db.parse::<u32>().is_ok();
    db_is_number && host(place).is_some()
}

/// Checks for `[user:password@]host[:port],host[:port]`. No database follows, because a cluster has only one.
fn are_nodes(rest: &str) -> bool {
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let places = rest.rsplit_once('@').map_or(rest, |(_, places)| places);
    !places.contains(['/', '?']) && places.split(',').all(|place| host(place.trim()).is_some())
}

fn is_path(rest: &str) -> bool {
    let path = rest.split('?').next().unwrap_or_default();
    path.starts_with('/') && path.len() > 1
}

impl fmt::Display for RedisUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Embedded => f.write_str("embedded"),
            Self::Url(url) => url.fmt(f),
            Self::Sentinels(url) => url.fmt(f),
        }
    }
}

/// Shows the URL without user and password, enough to recognise it in a log.
impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, _) = self.0.split_once("://").unwrap_or_default();
        write!(f, "{scheme}://{}", self.place())
    }
}

impl fmt::Debug for RedisUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RedisUrl({self})")
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_is_named_by_some_of_its_nodes() {
        for right in ["redis+cluster://h:1,[::1]:2", "rediss+cluster://u:hunter2@h:1, i:2/", "valkey+cluster://h"] {
            assert!(RedisUrl::parse(right).is_ok(), "{right}");
        }
        for wrong in ["h:1,", "", "h:x", "h:1/3", "h:1?a=b", "u:hunter2@"] {
            let message = RedisUrl::parse(&format!("redis+cluster://{wrong}")).expect_err(wrong);
            assert!(
                message.to_string().contains("redis+cluster://") && !message.to_string().contains("hunter2"),
                "{message}"
            );
        }
    }
}
