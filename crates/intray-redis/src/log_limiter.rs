//! Limits repeated log lines to one a second, each with the number of events since the last one. A log that grows with every
//! failure would fill the disk whose lack of room may be the failure.

use std::{
    collections::HashMap,
    mem,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

/// The shortest time between two lines about the same subject and reason.
const LOG_EVERY: Duration = Duration::from_secs(1);

/// Writes one line: the subject, the reason, and the number of events.
pub type LogFn = fn(&'static str, &str, u64);

/// What was logged, by subject and reason.
type Lines = HashMap<(&'static str, String), Logged>;

#[derive(Default)]
pub struct LogLimiter(Mutex<Lines>);

struct Logged {
    log: LogFn,
    at: Instant,
    /// Events since then.
    pending: u64,
}

impl LogLimiter {
    /// Logs the event now, unless the same line was logged within the last second; then it is counted.
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
            lines.insert(line.clone(), Logged { log, at: now, pending: 0 });
            return Some((line.1, 1));
        };
        logged.pending += 1;
        (now.duration_since(logged.at) >= LOG_EVERY).then(|| {
            logged.at = now;
            (line.1, mem::take(&mut logged.pending))
        })
    }

    /// Logs events that were only counted, at most a second after the last one, until `stop`.
    pub async fn flush_until(&self, stop: CancellationToken) {
        while stop.run_until_cancelled(tokio::time::sleep(LOG_EVERY)).await.is_some() {
            for (subject, reason, logged) in self.take_pending(Instant::now()) {
                (logged.log)(subject, &reason, logged.pending);
            }
        }
    }

    /// Removes lines that were last logged a second ago or earlier; returns those with unlogged events.
    fn take_pending(&self, now: Instant) -> Vec<(&'static str, String, Logged)> {
        let is_old = |logged: &Logged| now.duration_since(logged.at) >= LOG_EVERY;
        let old = self.0.lock().extract_if(|_, logged| is_old(logged)).collect::<Vec<_>>();
        let pending = old.into_iter().filter(|(_, logged)| logged.pending > 0);
        pending.map(|((subject, reason), logged)| (subject, reason, logged)).collect()
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
        let pending = limiter.take_pending(at(3_000));
        let pending: Vec<_> = pending.iter().map(|(subject, _, logged)| (*subject, logged.pending)).collect();
        assert_eq!(pending, [("a script", 49)]);
        assert!(limiter.0.lock().is_empty(), "old lines are removed");
    }
}
