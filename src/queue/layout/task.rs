//! What there is to do: all that enqueues and batches say alike of a job.

use crate::queue::{
    layout::record::{self, flags},
    redis::args::Args,
};
use crate::{
    job::{Backoff, LockName, Millis, Priority, limits},
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

    /// A new job's record behind its stamp.
    pub(crate) fn tail(&self, priority: Priority, client: &str, digest: &[u8], fingerprint: &[u8]) -> Vec<u8> {
        let (mut has, rest) = self.pack();
        let parts =
            [(flags::CLIENT, client.len()), (flags::DIGEST, digest.len()), (flags::FINGERPRINT, fingerprint.len())];
        for (flag, length) in parts {
            has |= if length > 0 { flag } else { 0 };
        }
        has |= if self.lives_apart() { flags::EXTERNAL } else { 0 };
        let mut tail = Vec::with_capacity(rest.len() + TAIL);
        tail.extend(has.to_be_bytes());
        tail.push(priority.get());
        if !client.is_empty() {
            tail.push(client.len() as u8);
            tail.extend(client.as_bytes());
        }
        tail.extend(digest);
        tail.extend(fingerprint);
        tail.extend(rest);
        tail
    }

    /// What few jobs have: twins that are looked for `always`, a delay, a time, a payload that lives apart. Empty for none.
    pub(crate) fn rare(&self, always: bool) -> Vec<u8> {
        let (delay, run_at) = self.times();
        if !always && delay == 0 && run_at == 0 && !self.lives_apart() {
            return Vec::new();
        }
        let mut rare = vec![u8::from(always)];
        for ms in [delay, run_at] {
            rare.extend(&ms.to_be_bytes()[2..]);
        }
        if self.lives_apart() {
            rare.extend(self.payload.as_str().as_bytes());
        }
        rare
    }

    /// Appends what all new jobs end with: delay, run at, the end of the record, the payload that lives apart.
    pub(crate) fn push_end(&self, rest: Vec<u8>, args: &mut Args) {
        let (delay, run_at) = self.times();
        args.number(delay).number(run_at).push(rest).push(if self.lives_apart() { self.payload.as_str() } else { "" });
    }

    /// In so many ms; at that time.
    fn times(&self) -> (u64, u64) {
        match self.delay {
            None => (0, 0),
            Some(Delay::For(ms)) => (u64::from(ms), 0),
            Some(Delay::Until(at)) => (0, at.0),
        }
    }

    /// About how many bytes it takes in a script's arguments.
    pub(crate) fn size(&self) -> usize {
        self.payload.len() + TAIL
    }

    fn lives_apart(&self) -> bool {
        self.payload.len() > limits::INLINE_PAYLOAD
    }
}
