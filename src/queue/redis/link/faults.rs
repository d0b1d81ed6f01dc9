//! What an error of Redis means: for the call, which was applied or was not, and for the connection.

use redis::RedisError;

use crate::queue::{UNWRITABLE, fault::Applied, fault::Fault};

/// Codes of a server that will not be well on this connection: after a failover it still answers PING.
const DROP: [&str; 3] = ["READONLY", "MASTERDOWN", "LOADING"];
/// Codes that mean "not now" or "not you", said before anything was run: what a script may not do within it is an `ERR`.
const REFUSED: [&str; 9] =
    ["READONLY", "MASTERDOWN", "LOADING", "BUSY", "NOREPLICAS", "CLUSTERDOWN", "TRYAGAIN", "WRONGPASS", "NOPERM"];
/// How a fault begins that a key caused which is something else than it should be.
pub(crate) const WRONG_TYPE: &str = "a key of another type";
pub(crate) const NO_PASSWORD: &str = "it asks for a password, and its URL has none";

pub(crate) fn is_broken(e: &RedisError) -> bool {
    is_cut(e) || is_misled(e)
}

pub(crate) fn is_cut(e: &RedisError) -> bool {
    e.is_io_error() || e.is_timeout() || e.is_connection_dropped()
}

pub(crate) fn is_misled(e: &RedisError) -> bool {
    e.code().is_some_and(|code| DROP.contains(&code))
}

pub(crate) fn away(e: &dyn std::fmt::Display) -> Fault {
    Fault::Unavailable { applied: Applied::No, why: e.to_string() }
}

pub(crate) fn judge(e: &RedisError) -> Fault {
    match e.code() {
        Some("OOM") => Fault::Full,
        Some("MISCONF") => away(&UNWRITABLE),
        Some("NOAUTH") => away(&NO_PASSWORD),
        Some("WRONGTYPE") => Fault::Broken(format!("{WRONG_TYPE}: {e}")),
        Some(code) if REFUSED.contains(&code) => away(&code),
        _ if is_broken(e) => Fault::Unavailable { applied: Applied::Unknown, why: e.to_string() },
        _ => Fault::Broken(e.to_string()),
    }
}
