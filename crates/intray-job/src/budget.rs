//! Timeouts of everything that a caller waits for.

use std::time::Duration;

/// For a connection to Redis.
pub const CONNECT: Duration = Duration::from_millis(700);
/// For an answer from Redis.
pub const RESPONSE: Duration = Duration::from_millis(1_100);
/// For both: every call is answered within two seconds, even if Redis does not answer.
pub const ANSWER: Duration = CONNECT.saturating_add(RESPONSE);
/// A waiting call tries this often without a hint, because hints may be lost.
pub const TICK: Duration = Duration::from_secs(5);
/// How long a queue is still followed after its last caller has left, because clients return.
pub const LINGER: Duration = Duration::from_secs(15);
