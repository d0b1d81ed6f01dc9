//! What there is to do: all that enqueues and batches say alike of a job.

use crate::queue::{
    layout::record::{self, flags},
    redis::args::Args,
};
use crate::{
    job::{Backoff, LockName, Millis, limits},
    payload::Json,
};

/// What is absent is read from the queue's settings when it matters.
#[derive(Debug, Clone)]
pub struct Task {
    pub payload: Json,
    pub delay: Option<Delay>,
    pub lease_ms: Option<u32>,
    pub max_attempts: Option<u32>,
    pub backoff: Option<Backoff>,
    /// Two jobs of a queue that share one are never reserved at once.
    pub locks: Vec<LockName>,
    pub traceparent: Option<String>,
}

#[derive(Debug, Clone, Copy)]
pub enum Delay {
    For(u32),
    Until(Millis),
}

/// The longest record before its payload, roughly; locks come on top.
const TAIL: usize = 80;

impl Task {
    /// Of which nothing is said but what it is.
    pub fn plain(payload: Json) -> Self {
        let (delay, lease_ms, max_attempts, backoff, traceparent) = Default::default();
        Self { payload, delay, lease_ms, max_attempts, backoff, locks: Vec::new(), traceparent }
    }

    /// The end of the job's record, with the flags that say what is in it.
    pub(crate) fn pack(&self) -> (u16, Vec<u8>) {
        let (mut has, mut rest) = (0, Vec::with_capacity(self.payload.len() + TAIL));
        if let Some(lease) = self.lease_ms {
            has |= flags::LEASE;
            rest.extend(lease.to_be_bytes());
        }
        if let Some(attempts) = self.max_attempts {
            has |= flags::ATTEMPTS;
            rest.extend(attempts.to_be_bytes());
        }
        if let Some(backoff) = self.backoff {
            has |= flags::BACKOFF;
            let (kind, delay, most) = record::backoff_parts(backoff);
            rest.push(kind);
            rest.extend(delay.to_be_bytes());
            rest.extend(most.to_be_bytes());
        }
        if let Some(trace) = self.traceparent.as_ref().filter(|t| t.len() == record::TRACE_LEN) {
            has |= flags::TRACE;
            rest.extend(trace.as_bytes());
        }
        if !self.locks.is_empty() {
            has |= flags::LOCKS;
            record::pack_locks(&self.locks, &mut rest);
        }
        if !self.lives_apart() {
            rest.extend(self.payload.as_str().as_bytes());
        }
        (has, rest)
    }

    /// Appends what all new jobs end with: delay, run at, the end of the record, the payload that lives apart.
    pub(crate) fn push_end(&self, rest: Vec<u8>, args: &mut Args) {
        let (delay, run_at) = match self.delay {
            None => (0, 0),
            Some(Delay::For(ms)) => (u64::from(ms), 0),
            Some(Delay::Until(at)) => (0, at.0),
        };
        args.number(delay).number(run_at).push(rest).push(if self.lives_apart() { self.payload.as_str() } else { "" });
    }

    /// About how many bytes it takes in a script's arguments.
    pub(crate) fn size(&self) -> usize {
        self.payload.len() + TAIL
    }

    fn lives_apart(&self) -> bool {
        self.payload.len() > limits::INLINE_PAYLOAD
    }
}
