//! How long anything may take that somebody waits for.

use std::time::Duration;

/// For a connection to Redis to be there.
pub const CONNECT: Duration = Duration::from_millis(700);
/// For an answer of Redis's to come.
pub const RESPONSE: Duration = Duration::from_millis(1_100);
/// For both: everybody has an answer within two seconds, whatever Redis does.
pub const ANSWER: Duration = CONNECT.saturating_add(RESPONSE);
/// Who waits looks so often without a hint: hints may be lost.
pub const TICK: Duration = Duration::from_secs(5);
/// How long a queue is heard or read on after the last one who waited has left: pages come back.
pub const LINGER: Duration = Duration::from_secs(15);
