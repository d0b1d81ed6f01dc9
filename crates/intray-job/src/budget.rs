//! Timeouts of everything that a caller waits for.

use std::time::Duration;

/// A waiting call tries this often without a hint, because hints may be lost.
pub const TICK: Duration = Duration::from_secs(5);
/// How long a queue is still followed after its last caller has left, because clients return.
pub const LINGER: Duration = Duration::from_secs(15);
