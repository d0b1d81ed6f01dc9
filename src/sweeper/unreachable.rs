//! Which servers to leave alone for the rest of a round.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use crate::{
    job::QueueName,
    store::{Fault, Queues},
};

/// The servers that did not answer in this round.
#[derive(Default)]
pub(super) struct Unreachable {
    shards: HashSet<u16>,
    pub(super) why: Option<Fault>,
}

impl Unreachable {
    pub(super) fn has(&self, queues: &Queues, queue: &QueueName) -> bool {
        queues.is_lost(queue) || !self.shards.is_empty() && self.shards.contains(&queues.shard(queue))
    }

    /// Records a fault. A broken queue does not stop the others, and an unavailable server only its own queues.
    pub(super) fn record<T>(&mut self, queues: &Queues, queue: &QueueName, answer: Result<T, Fault>) -> Option<T> {
        match answer {
            Ok(answer) => return Some(answer),
            Err(fault @ Fault::Unavailable { .. }) => {
                self.shards.insert(queues.shard(queue));
                self.why = Some(fault);
            }
            Err(fault @ (Fault::Full | Fault::Broken(_))) => {
                tracing::error!(%queue, %fault, "a queue cannot be swept");
            }
        }
        None
    }
}

/// When to log that the sweep fails: each time at first, and later once in ten seconds.
#[derive(Default)]
pub(super) struct FailureLog {
    since: Option<Instant>,
    logged: Option<Instant>,
}

impl FailureLog {
    const SLOW_AFTER: Duration = Duration::from_secs(10);

    pub(super) fn end(&mut self) {
        *self = Self::default();
    }

    /// Whether a failure at this time is logged.
    pub(super) fn is_due(&mut self, now: Instant) -> bool {
        let since = *self.since.get_or_insert(now);
        let is_long = now.duration_since(since) >= Self::SLOW_AFTER;
        let is_due = !is_long || self.logged.is_none_or(|at| now.duration_since(at) >= Self::SLOW_AFTER);
        if is_due {
            self.logged = Some(now);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_of_a_long_outage_are_logged_each_ten_seconds() {
        let (mut log, begin) = (FailureLog::default(), Instant::now());
        let mut due = |second| log.is_due(begin + Duration::from_secs(second));
        let logged: Vec<_> = (0..40).filter(|second| due(*second)).collect();
        assert_eq!(logged, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 19, 29, 39]);
        log.end();
        assert!(log.is_due(begin + Duration::from_secs(41)), "another outage");
    }
}
