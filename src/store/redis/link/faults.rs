//! What an error of Redis means: for the call, which was applied or was not, and for the connection.

use std::{error::Error, io, sync::Arc};

use redis::{ErrorKind, RedisError};
use rustls::CertificateError;

use super::super::sentinel::OURS;
use crate::store::{UNWRITABLE, fault::Applied, fault::Fault};

/// Codes of a server that will not be well on this connection: after a failover it still answers PING.
const DROP: [&str; 3] = ["READONLY", "MASTERDOWN", "LOADING"];
/// Codes that mean "not now" or "not you", said before anything was run.
const REFUSED: [&str; 11] = [
    "READONLY",
    "MASTERDOWN",
    "LOADING",
    "BUSY",
    "NOREPLICAS",
    "CLUSTERDOWN",
    "TRYAGAIN",
    "MOVED",
    "ASK",
    "WRONGPASS",
    "NOPERM",
];
/// How a fault begins that a key caused which is something else than it should be.
pub(crate) const WRONG_TYPE: &str = "a key of another type";
pub(crate) const NO_PASSWORD: &str = "it asks for a password, and its URL has none";

pub(crate) fn is_broken(e: &RedisError) -> bool {
    is_cut(e) || is_misled(e)
}

/// A reply that breaks off in the middle is told as one that cannot be parsed: whatever is asked for is read as it comes, so
/// nothing else is.
pub(crate) fn is_cut(e: &RedisError) -> bool {
    e.is_io_error() || e.is_timeout() || e.is_connection_dropped() || e.kind() == ErrorKind::Parse
}

pub(crate) fn is_misled(e: &RedisError) -> bool {
    e.code().is_some_and(|code| DROP.contains(&code))
}

/// It does not have what was to be run, so nothing was.
pub(crate) fn is_unknown(e: &RedisError) -> bool {
    e.code() == Some("NOSCRIPT") || e.code() == Some("ERR") && e.detail() == Some("Function not found")
}

/// It knows no calls of functions, or this user may make none; nothing was run.
pub(crate) fn refuses_calls(e: &RedisError) -> bool {
    let said = e.detail().unwrap_or_default();
    match e.code() {
        Some("ERR") => said.starts_with("unknown command"),
        Some("NOPERM") => !is_within(e),
        _ => false,
    }
}

/// What a script may not do within it: it may have done other things before. Redis 7.0 has no code for that, later ones do.
fn is_within(e: &RedisError) -> bool {
    e.code() == Some("NOPERM") && e.detail().is_some_and(|said| said.contains("in script"))
}

/// It is well, and does not take a library: for want of memory, of replicas, of a right, of the command.
pub(crate) fn is_unloadable(e: &RedisError) -> bool {
    matches!(e.code(), Some("ERR" | "OOM" | "MISCONF" | "NOREPLICAS" | "NOPERM"))
}

/// The call that a fault kept from being made has done nothing.
pub(crate) fn not_done(fault: Fault) -> Fault {
    match fault {
        Fault::Unavailable { why, .. } => Fault::Unavailable { applied: Applied::No, why },
        Fault::Full | Fault::Broken(_) => fault,
    }
}

/// What keeps a connection from being made, in words for who runs the service.
pub(crate) fn in_words(e: &RedisError) -> String {
    let cause = e.source().and_then(|e| e.downcast_ref::<Arc<dyn Error + Send + Sync>>());
    let of_tls = cause.and_then(|e| e.downcast_ref::<io::Error>()).and_then(io::Error::get_ref);
    let Some(of_tls) = of_tls.and_then(|e| e.downcast_ref::<rustls::Error>()) else {
        let said = e.to_string();
        return said.strip_prefix(OURS).map(str::to_owned).unwrap_or(said);
    };
    match of_tls {
        rustls::Error::InvalidCertificate(wrong) => match wrong {
            CertificateError::UnknownIssuer => {
                "its certificate is signed by nobody whom --redis-ca-file, or without it this machine, trusts"
                    .to_owned()
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "its certificate has expired".to_owned()
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "its certificate is for another name than the URL's".to_owned()
            }
            other => format!("its certificate: {other}"),
        },
        rustls::Error::AlertReceived(alert) => format!("it refuses our certificate, or that there is none: {alert:?}"),
        other => other.to_string(),
    }
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
        Some(code) if REFUSED.contains(&code) && !is_within(e) => away(&code),
        _ if is_broken(e) => Fault::unknown(&e.to_string()),
        _ => Fault::Broken(e.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use redis::Value;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    fn error(said: &str) -> RedisError {
        match redis::parse_redis_value(format!("-{said}\r\n").as_bytes()) {
            Ok(Value::ServerError(e)) => e.into(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_right_that_is_lacking_before_a_script_is_a_refusal_and_within_it_is_a_fault() {
        let before = error("NOPERM User intray has no permissions to run the 'fcall' command");
        let within = error("NOPERM ACL failure in script: User intray has no permissions to run the 'xadd' command");
        assert!(refuses_calls(&before) && matches!(judge(&before), Fault::Unavailable { applied: Applied::No, .. }));
        assert!(!refuses_calls(&within) && matches!(judge(&within), Fault::Broken(_)));
    }

    /// Answers as a server does that says so much of a reply and is gone.
    async fn half_said(reply: &'static [u8]) -> RedisError {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = folder.path().join("redis.sock");
        let listener = tokio::net::UnixListener::bind(&socket).expect("a socket");
        let server = async {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let (mut asked, mut answered) = (Vec::new(), 0);
            while !asked.ends_with(b"PING\r\n") {
                stream.read_buf(&mut asked).await.expect("a command");
                let calls = asked.windows(2).filter(|at| at[0] == b'*' && at[1].is_ascii_digit()).count();
                let greetings = calls - usize::from(asked.ends_with(b"PING\r\n"));
                stream.write_all(&b"+OK\r\n".repeat(greetings - answered)).await.expect("room");
                answered = greetings;
            }
            stream.write_all(reply).await.expect("room");
        };
        let ask = async {
            let client = redis::Client::open(format!("unix://{}", socket.display())).expect("a URL");
            let mut connection = client.get_multiplexed_async_connection().await.expect("a connection");
            redis::cmd("PING").query_async::<Value>(&mut connection).await.expect_err("half a reply")
        };
        tokio::join!(server, ask).1
    }

    #[tokio::test]
    async fn a_reply_that_is_cut_anywhere_leaves_open_what_was_done() {
        let whole = b"*3\r\n$4\r\ngone\r\n*1\r\n:17\r\n+OK\r\n";
        for length in 0..whole.len() {
            let cut = half_said(&whole[..length]).await;
            let judged = judge(&cut);
            let is_open = matches!(judged, Fault::Unavailable { applied: Applied::Unknown, .. });
            assert!(is_cut(&cut) && is_open, "after {length} bytes: {judged:?}");
        }
    }

    #[test]
    fn what_redis_does_not_know_has_not_been_run() {
        for said in ["NOSCRIPT No matching script. Please use EVAL.", "ERR Function not found"] {
            assert!(is_unknown(&error(said)), "{said}");
        }
        assert!(refuses_calls(&error("ERR unknown command 'FCALL', with args beginning with: 'f' '0' ")));
        let within = error("ERR Unknown Redis command called from script script: f, on @user_function:12.");
        assert!(!is_unknown(&within) && !refuses_calls(&within));
    }
}
