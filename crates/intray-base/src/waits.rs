//! Divides the long waits of the service; only a debug build does.

use std::{sync::LazyLock, time::Duration};

/// The variable with the number that divides these waits.
pub const VARIABLE: &str = "INTRAY_TEST_HURRY";

static HURRY: LazyLock<u32> = LazyLock::new(|| {
    let value = std::env::var(VARIABLE).ok().and_then(|value| value.parse().ok());
    value.filter(|by| *by > 0).unwrap_or(1)
});

/// `full`, or a part of it in a hurried story.
pub fn hurried(full: Duration) -> Duration {
    if cfg!(debug_assertions) { full / *HURRY } else { full }
}
