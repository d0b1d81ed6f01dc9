//! Retries with backoff while a service is away or overloaded.

use std::time::{Duration, Instant};

use tokio::time::sleep;

/// Retries stop after this time without a success.
const RETRY_TIMEOUT: Duration = Duration::from_secs(60);
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const MAX_PAUSE: Duration = Duration::from_secs(5);

/// The pause that an answer asks for.
#[derive(Debug, Clone, Copy)]
pub enum AskedPause {
    None,
    ByService(Duration),
    /// By what stands between this program and the service.
    ByProxy(Duration),
}

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
    /// Returns `error` itself once failures have reached the time limit, or would with the pause of the service.
    pub async fn after(&mut self, error: anyhow::Error, asked: AskedPause) -> anyhow::Result<()> {
        if self.rest(asked).await { Ok(()) } else { Err(error) }
    }

    /// The same without an error: whether there is time for another attempt.
    pub async fn rest(&mut self, asked: AskedPause) -> bool {
        let Some(pause) = self.pause(Instant::now(), asked) else { return false };
        sleep(pause).await;
        true
    }

    /// Returns the pause after a failure at `now`, `None` if the time limit leaves no room for it.
    pub(super) fn pause(&mut self, now: Instant, asked: AskedPause) -> Option<Duration> {
        let since = *self.since.get_or_insert(now);
        let left = self.limit.saturating_sub(now.saturating_duration_since(since));
        if left.is_zero() {
            return None;
        }
        let own = self.pause;
        self.pause = MAX_PAUSE.min(own * 2);
        match asked {
            AskedPause::None => Some(own),
            AskedPause::ByService(pause) => Some(pause).filter(|pause| *pause <= left),
            AskedPause::ByProxy(pause) => Some(pause.min(left)),
        }
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
            let mut pause = |now| retries.pause(now, AskedPause::None);
            assert_eq!(pause(now), Some(FIRST_PAUSE));
            assert_eq!(pause(now + RETRY_TIMEOUT / 2), Some(FIRST_PAUSE * 2));
            for _ in 0..5 {
                assert!(pause(now + RETRY_TIMEOUT / 2).is_some_and(|pause| pause <= MAX_PAUSE));
            }
            assert_eq!(pause(now + RETRY_TIMEOUT), None);
            retries.reset();
            now += hour;
        }
    }

    #[test]
    fn asked_pauses_fit_into_the_minute() {
        let mut retries = RetryBudget::new();
        let (now, asked) = (Instant::now(), RETRY_TIMEOUT / 2);
        assert_eq!(retries.pause(now, AskedPause::ByService(asked)), Some(asked));
        let late = now + RETRY_TIMEOUT * 3 / 4;
        assert_eq!(retries.pause(late, AskedPause::ByService(asked)), None, "it would end after the minute");
        assert_eq!(retries.pause(late, AskedPause::ByProxy(asked)), Some(RETRY_TIMEOUT / 4));
    }
}
