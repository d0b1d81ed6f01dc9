//! Limits repeated log lines to one a second, and to one each ten seconds when they continue for longer, each with the number of
//! events since the last one. A log that grows with every failure would fill the disk whose lack of room may be the failure.

use std::{
    collections::HashMap,
    mem,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

/// The shortest time between two lines about the same subject and reason.
const LOG_EVERY: Duration = Duration::from_secs(1);

/// The same after [`LONG`].
const LOG_LONG_EVERY: Duration = Duration::from_secs(10);
/// Events that continue for this long are logged less often.
const LONG: Duration = Duration::from_secs(10);

/// Writes one line: the subject, the reason, and the number of events.
pub type LogFn = fn(&'static str, &str, u64);

/// What was logged, by subject and reason.
type Lines = HashMap<(&'static str, String), Logged>;

impl Logged {
    fn is_due(&self, now: Instant) -> bool {
        let is_long = now.duration_since(self.since) >= LONG;
        now.duration_since(self.at) >= if is_long { LOG_LONG_EVERY } else { LOG_EVERY }
    }

    fn take_pending(&mut self, now: Instant) -> u64 {
        self.at = now;
        mem::take(&mut self.pending)
    }
}

#[derive(Default)]
pub struct LogLimiter(Mutex<Lines>);

struct Logged {
    log: LogFn,
    /// The first line.
    since: Instant,
    at: Instant,
    /// Events since then.
    pending: u64,
}

impl LogLimiter {
    /// Logs the event now, unless the same line was logged lately; then it is counted.
    pub fn log(&self, log: LogFn, subject: &'static str, reason: String) {
        let due = self.record(log, subject, reason, Instant::now());
        if let Some((reason, events)) = due {
            log(subject, &reason, events);
        }
    }

    /// The reason and the number of events, if a line is due.
    fn record(&self, log: LogFn, subject: &'static str, reason: String, now: Instant) -> Option<(String, u64)> {
        let mut lines = self.0.lock();
        let line = (subject, reason);
        let Some(logged) = lines.get_mut(&line) else {
            lines.insert(line.clone(), Logged { log, since: now, at: now, pending: 0 });
            return Some((line.1, 1));
        };
        logged.pending += 1;
        logged.is_due(now).then(|| (line.1, logged.take_pending(now)))
    }

    /// Logs the events that were only counted now. The lines stay limited, because a server may be lost and come back all the time.
    pub fn flush(&self) {
        let now = Instant::now();
        for (subject, reason, log, events) in self.take(|logged| logged.pending > 0, now) {
            log(subject, &reason, events);
        }
    }

    /// Logs events that were only counted, until `stop`.
    pub async fn flush_until(&self, stop: CancellationToken) {
        while stop.run_until_cancelled(tokio::time::sleep(LOG_EVERY)).await.is_some() {
            for (subject, reason, log, events) in self.take_pending(Instant::now()) {
                log(subject, &reason, events);
            }
        }
    }

    /// The due lines with unlogged events. Lines without events since the last one are forgotten.
    fn take_pending(&self, now: Instant) -> Vec<(&'static str, String, LogFn, u64)> {
        self.0.lock().retain(|_, logged| logged.pending > 0 || !logged.is_due(now));
        self.take(|logged| logged.is_due(now), now)
    }

    fn take(&self, is_wanted: impl Fn(&Logged) -> bool, now: Instant) -> Vec<(&'static str, String, LogFn, u64)> {
        let mut lines = self.0.lock();
        let wanted = lines.iter_mut().filter(|(_, logged)| is_wanted(logged));
        wanted
            .map(|((subject, reason), logged)| (*subject, reason.clone(), logged.log, logged.take_pending(now)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_events_are_counted_and_logged_once_a_second() {
        let (limiter, begin) = (LogLimiter::default(), Instant::now());
        let mut lines = Vec::new();
        let at = |ms| begin + Duration::from_millis(ms);
        for ms in (0..2_500).step_by(10) {
            lines.extend(limiter.record(|_, _, _| {}, "a script", "READONLY".to_owned(), at(ms)));
        }
        assert_eq!(lines.iter().map(|(_, events)| *events).collect::<Vec<_>>(), [1, 100, 100]);
        assert_eq!(limiter.record(|_, _, _| {}, "another", "READONLY".to_owned(), at(0)).expect("a line").1, 1);
        assert!(limiter.record(|_, _, _| {}, "a script", "BUSY".to_owned(), at(0)).is_some());
        let pending = |ms| {
            let pending = limiter.take_pending(at(ms));
            pending.iter().map(|(subject, _, _, events)| (*subject, *events)).collect::<Vec<_>>()
        };
        assert_eq!(pending(3_000), [("a script", 49)]);
        assert_eq!(pending(4_000), [], "nothing has happened since");
        assert!(limiter.0.lock().is_empty(), "old lines are removed");
    }

    #[test]
    fn events_of_a_long_outage_are_logged_each_ten_seconds() {
        let (limiter, begin) = (LogLimiter::default(), Instant::now());
        let (mut lines, mut events) = (Vec::new(), 0);
        for ms in (0..45_000).step_by(100) {
            let now = begin + Duration::from_millis(ms);
            let logged = limiter.record(|_, _, _| {}, "a script", "LOADING".to_owned(), now).map(|(_, events)| events);
            let flushed = if ms % 1_000 == 0 { limiter.take_pending(now) } else { Vec::new() };
            for count in logged.into_iter().chain(flushed.into_iter().map(|(.., events)| events)) {
                lines.push(ms / 1_000);
                events += count;
            }
        }
        assert_eq!(lines, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 19, 29, 39]);
        assert_eq!(events, 391, "each event is counted once");
    }
}
