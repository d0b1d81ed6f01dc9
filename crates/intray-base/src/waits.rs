//! Long waits, which the stories shorten.

use std::{sync::LazyLock, time::Duration};

/// How many times shorter, in a debug build.
pub const VARIABLE: &str = "INTRAY_TEST_HURRY";

static HURRY: LazyLock<u32> = LazyLock::new(|| {
    let value = std::env::var(VARIABLE).ok().filter(|_| cfg!(debug_assertions));
    value.and_then(|value| value.parse().ok()).filter(|times| *times > 0).unwrap_or(1)
});

/// How long to wait: this time, except in a story that is about its end.
pub fn hurried(full: Duration) -> Duration {
    full / *HURRY
}
