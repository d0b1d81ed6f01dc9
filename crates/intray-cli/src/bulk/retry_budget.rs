//! Retries with backoff while a service is away or overloaded.

use std::time::{Duration, Instant};

use tokio::time::sleep;

/// Retries stop after this time without a success.
const RETRY_TIMEOUT: Duration = Duration::from_secs(60);
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const MAX_PAUSE: Duration = Duration::from_secs(5);

/// The time limit starts at the first failure after a success.
pub struct RetryBudget {
    since: Option<Instant>,
    pause: Duration,
    limit: Duration,
}

impl RetryBudget {
    pub fn new() -> Self {
        Self::lasting(RETRY_TIMEOUT)
    }

    pub(super) fn lasting(limit: Duration) -> Self {
        Self { since: None, pause: FIRST_PAUSE, limit }
    }

    /// Resets the time limit and the backoff after a success.
    pub fn reset(&mut self) {
        *self = Self::lasting(self.limit);
    }

    /// Waits before the next attempt.
    ///
    /// # Errors
    /// Returns `error` itself once failures have reached the time limit.
    pub async fn after(&mut self, error: anyhow::Error) -> anyhow::Result<()> {
        let Some(pause) = self.pause(Instant::now()) else { return Err(error) };
        sleep(pause).await;
        Ok(())
    }

    /// Returns the pause after a failure at `now`, `None` once failures have reached the time limit.
    pub(super) fn pause(&mut self, now: Instant) -> Option<Duration> {
        let since = *self.since.get_or_insert(now);
        if now.saturating_duration_since(since) >= self.limit {
            return None;
        }
        let pause = self.pause;
        self.pause = MAX_PAUSE.min(pause * 2);
        Some(pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_last_a_minute_from_the_first_failure() {
        let mut retries = RetryBudget::new();
        let hour = Duration::from_secs(3_600);
        let mut now = Instant::now() + hour;
        for _ in 0..2 {
            assert_eq!(retries.pause(now), Some(FIRST_PAUSE));
            assert_eq!(retries.pause(now + RETRY_TIMEOUT / 2), Some(FIRST_PAUSE * 2));
            for _ in 0..5 {
                assert!(retries.pause(now + RETRY_TIMEOUT / 2).is_some_and(|pause| pause <= MAX_PAUSE));
            }
            assert_eq!(retries.pause(now + RETRY_TIMEOUT), None);
            retries.reset();
            now += hour;
        }
    }
}
