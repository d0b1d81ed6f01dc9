//! The meaning of a Redis error: whether the call was applied, and whether the connection is still usable.

use std::{error::Error, io, sync::Arc};

use redis::{ErrorKind, RedisError};
use rustls::CertificateError;

use crate::{
    fault::{Fault, Shortage, UNWRITABLE},
    sentinel::sentence,
};

/// Codes after which the connection is replaced: after a failover such a server still answers PING.
const DEMOTED: [&str; 3] = ["READONLY", "MASTERDOWN", "LOADING"];
/// Codes that mean "not now" or "not you" and are sent before anything was run.
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
pub(crate) const NO_PASSWORD: &str = "it asks for a password, and its URL has none";

pub(crate) fn is_broken(e: &RedisError) -> bool {
    is_cut(e) || is_demoted(e)
}

/// The connection is unusable. A reply that breaks off is reported as a parse error, and nothing else is: all calls here read
/// a plain [`redis::Value`].
pub(crate) fn is_cut(e: &RedisError) -> bool {
    e.is_io_error() || e.is_timeout() || e.is_connection_dropped() || e.kind() == ErrorKind::Parse
}

pub(crate) fn is_demoted(e: &RedisError) -> bool {
    e.code().is_some_and(|code| DEMOTED.contains(&code))
}

/// Redis does not have the script or function, so nothing was run.
pub(crate) fn is_not_loaded(e: &RedisError) -> bool {
    e.code() == Some("NOSCRIPT") || e.code() == Some("ERR") && e.detail() == Some("Function not found")
}

/// Redis has no FCALL, or the user may not use it; nothing was run.
pub(crate) fn refuses_functions(e: &RedisError) -> bool {
    let message = e.detail().unwrap_or_default();
    match e.code() {
        Some("ERR") => message.starts_with("unknown command"),
        Some("NOPERM") => !is_in_script(e),
        _ => false,
    }
}

/// A missing right inside a script, which may have written before. Redis 7.0 sends it without a code, later versions with one.
fn is_in_script(e: &RedisError) -> bool {
    e.code() == Some("NOPERM") && e.detail().is_some_and(|message| message.contains("in script"))
}

/// Redis works, but does not accept a library: it lacks memory, replicas or the command, or the user lacks the right.
pub(crate) fn refuses_library(e: &RedisError) -> bool {
    matches!(e.code(), Some("ERR" | "OOM" | "MISCONF" | "NOREPLICAS" | "NOPERM"))
}

fn tls_error(e: &RedisError) -> Option<&rustls::Error> {
    let cause = e.source().and_then(|e| e.downcast_ref::<Arc<dyn Error + Send + Sync>>());
    let of_tls = cause.and_then(|e| e.downcast_ref::<io::Error>()).and_then(io::Error::get_ref);
    of_tls.and_then(|e| e.downcast_ref::<rustls::Error>())
}

/// The server is there and refuses this client, or this client refuses its certificate: only other settings help.
pub(crate) fn is_refusal(e: &RedisError) -> bool {
    let by_code = e.code().is_some_and(|code| ["NOAUTH", "WRONGPASS", "NOPERM"].contains(&code));
    by_code || e.kind() == ErrorKind::AuthenticationFailed || tls_error(e).is_some()
}

/// Why a connection cannot be established, in words for the operator.
pub(crate) fn describe(e: &RedisError) -> String {
    let Some(of_tls) = tls_error(e) else {
        let message = e.to_string();
        return sentence(&message).map(str::to_owned).unwrap_or(message);
    };
    match of_tls {
        rustls::Error::InvalidCertificate(problem) => match problem {
            CertificateError::UnknownIssuer => {
                "its certificate is not signed by an authority that --redis-ca-file, or without it this machine, trusts"
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

pub(crate) fn to_fault(e: &RedisError) -> Fault {
    match e.code() {
        Some("OOM") => Fault::Full(Shortage::Memory),
        Some("MISCONF") => Fault::unavailable(&UNWRITABLE),
        Some("NOAUTH") => Fault::unavailable(&NO_PASSWORD),
        Some("WRONGTYPE") => Fault::wrong_type(e),
        Some(code) if REFUSED.contains(&code) && !is_in_script(e) => Fault::unavailable(&code),
        _ if is_broken(e) => Fault::unknown(&e.to_string()),
        _ => Fault::Broken(e.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use redis::Value;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::fault::Applied;

    fn error(message: &str) -> RedisError {
        match redis::parse_redis_value(format!("-{message}\r\n").as_bytes()) {
            Ok(Value::ServerError(e)) => e.into(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn missing_right_is_a_refusal_before_a_script_and_a_fault_in_it() {
        let before = error("NOPERM User intray has no permissions to run the 'fcall' command");
        let in_script = error("NOPERM ACL failure in script: User intray has no permissions to run the 'xadd' command");
        assert!(
            refuses_functions(&before) && matches!(to_fault(&before), Fault::Unavailable { applied: Applied::No, .. })
        );
        assert!(!refuses_functions(&in_script) && matches!(to_fault(&in_script), Fault::Broken(_)));
    }

    /// The error of a call whose server sends part of a reply and closes the connection.
    async fn error_of_partial_reply(reply: &'static [u8]) -> RedisError {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = folder.path().join("redis.sock");
        let listener = tokio::net::UnixListener::bind(&socket).expect("a socket");
        let server = async {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let (mut request, mut answered) = (Vec::new(), 0);
            while !request.ends_with(b"PING\r\n") {
                stream.read_buf(&mut request).await.expect("a command");
                let calls = request.windows(2).filter(|at| at[0] == b'*' && at[1].is_ascii_digit()).count();
                let greetings = calls - usize::from(request.ends_with(b"PING\r\n"));
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
    async fn reply_that_is_cut_anywhere_leaves_applied_unknown() {
        let whole = b"*3\r\n$4\r\ngone\r\n*1\r\n:17\r\n+OK\r\n";
        for length in 0..whole.len() {
            let cut = error_of_partial_reply(&whole[..length]).await;
            let fault = to_fault(&cut);
            let is_unknown = matches!(fault, Fault::Unavailable { applied: Applied::Unknown, .. });
            assert!(is_cut(&cut) && is_unknown, "after {length} bytes: {fault:?}");
        }
    }

    #[test]
    fn unknown_script_or_function_was_not_run() {
        for message in ["NOSCRIPT No matching script. Please use EVAL.", "ERR Function not found"] {
            assert!(is_not_loaded(&error(message)), "{message}");
        }
        assert!(refuses_functions(&error("ERR unknown command 'FCALL', with args beginning with: 'f' '0' ")));
        let in_script = error("ERR Unknown Redis command called from script script: f, on @user_function:12.");
        assert!(!is_not_loaded(&in_script) && !refuses_functions(&in_script));
    }
}
