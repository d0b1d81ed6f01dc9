//! The end of each minute by the clock of Redis, when counts are recorded in the history of the queues.

use std::time::{Duration, Instant};

const MINUTE: Duration = Duration::from_secs(60);

/// The minutes of Redis, as this instance knows them. The clocks of a cluster's nodes differ too little to matter.
#[derive(Default)]
pub(super) struct Minute {
    /// The end of some minute, past or to come.
    end: Option<Instant>,
}

impl Minute {
    pub(super) fn learn(&mut self, now: Instant, left_ms: u64) {
        self.end = Some(now + Duration::from_millis(left_ms));
    }

    /// The end of the current minute; now, if none is known yet.
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
    fn minutes_end_at_multiples_of_a_known_end() {
        let (mut minute, now) = (Minute::default(), Instant::now());
        assert_eq!(minute.end(now), now, "unknown: ask at once");
        minute.learn(now, 7_000);
        for (later, left) in [(0, 7), (6, 1), (7, 60), (8, 59), (67, 60), (3_700, 27)] {
            let then = now + Duration::from_secs(later);
            assert_eq!(minute.end(then), then + Duration::from_secs(left), "{later} s later");
        }
    }
}
