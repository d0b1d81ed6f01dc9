//! When a minute of Redis's clock is over: then what was counted is entered into the history of the queues.

use std::time::{Duration, Instant};

const MINUTE: Duration = Duration::from_secs(60);

/// What this instance knows of Redis's minutes. On a cluster each node has its own clock; they differ by less than it matters.
#[derive(Default)]
pub(super) struct Minute {
    /// When some minute ended, or ends.
    end: Option<Instant>,
}

impl Minute {
    pub(super) fn learn(&mut self, now: Instant, left_ms: u64) {
        self.end = Some(now + Duration::from_millis(left_ms));
    }

    /// When the one that goes on is over; now, while nobody has said when one was.
    pub(super) fn end(&self, now: Instant) -> Instant {
        let Some(end) = self.end else { return now };
        let since = now.saturating_duration_since(end).as_secs() / MINUTE.as_secs();
        let next = end + MINUTE * u32::try_from(since).unwrap_or(u32::MAX);
        if next > now { next } else { next + MINUTE }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_ends_each_minute_after_one_that_did() {
        let (mut minute, now) = (Minute::default(), Instant::now());
        assert_eq!(minute.end(now), now, "whoever knows of none asks");
        minute.learn(now, 7_000);
        for (later, left) in [(0, 7), (6, 1), (7, 60), (8, 59), (67, 60), (3_700, 27)] {
            let then = now + Duration::from_secs(later);
            assert_eq!(minute.end(then), then + Duration::from_secs(left), "{later} s later");
        }
    }
}
