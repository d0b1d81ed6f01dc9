//! Retries with backoff while a service is away or overloaded.

use std::time::{Duration, Instant};

use tokio::time::sleep;

/// Retries stop after this time without a success.
const LONGEST: Duration = Duration::from_secs(60);
const FIRST: Duration = Duration::from_millis(250);
const MOST: Duration = Duration::from_secs(5);

/// The time limit starts at the first failure after a success.
pub struct Patience {
    since: Option<Instant>,
    pause: Duration,
    longest: Duration,
}

impl Patience {
    pub fn new() -> Self {
        Self::lasting(LONGEST)
    }

    pub(super) fn lasting(longest: Duration) -> Self {
        Self { since: None, pause: FIRST, longest }
    }

    /// Resets the time limit and the backoff after a success.
    pub fn is_restored(&mut self) {
        *self = Self::lasting(self.longest);
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
        if now.saturating_duration_since(since) >= self.longest {
            return None;
        }
        let pause = self.pause;
        self.pause = MOST.min(pause * 2);
        Some(pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_last_a_minute_from_the_first_failure() {
        let mut patience = Patience::new();
        let hour = Duration::from_secs(3_600);
        let mut now = Instant::now() + hour;
        for _ in 0..2 {
            assert_eq!(patience.pause(now), Some(FIRST));
            assert_eq!(patience.pause(now + LONGEST / 2), Some(FIRST * 2));
            for _ in 0..5 {
                assert!(patience.pause(now + LONGEST / 2).is_some_and(|pause| pause <= MOST));
            }
            assert_eq!(patience.pause(now + LONGEST), None);
            patience.is_restored();
            now += hour;
        }
    }
}
