//! How long a caller waits for Redis.

use std::time::Duration;

/// For a connection to be established.
pub const CONNECT_TIMEOUT: Duration = Duration::from_millis(700);
/// For a reply on an open connection.
pub const RESPONSE_TIMEOUT: Duration = Duration::from_millis(1_100);
/// For both: every call returns within two seconds, whatever Redis does.
pub const ANSWER_TIMEOUT: Duration = CONNECT_TIMEOUT.saturating_add(RESPONSE_TIMEOUT);
