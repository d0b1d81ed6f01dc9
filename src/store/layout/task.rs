//! What there is to do: all that enqueues and batches say alike of a job.

use intray_redis::Args;

use crate::store::layout::record::{self, flags};
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
        let mut rest = Vec::with_capacity(self.size());
        self.write(&mut rest);
        (self.flags(), rest)
    }

    /// What is in the end of the job's record.
    fn flags(&self) -> u16 {
        let parts = [
            (flags::LEASE, self.lease_ms.is_some()),
            (flags::ATTEMPTS, self.max_attempts.is_some()),
            (flags::BACKOFF, self.backoff.is_some()),
            (flags::TRACE, self.trace().is_some()),
            (flags::LOCKS, !self.locks.is_empty()),
        ];
        parts.iter().filter(|(_, is_there)| *is_there).fold(0, |has, (flag, _)| has | flag)
    }

    fn trace(&self) -> Option<&str> {
        self.traceparent.as_deref().filter(|trace| trace.len() == record::TRACE_LEN)
    }

    /// Writes the end of the job's record.
    fn write(&self, out: &mut Vec<u8>) {
        if let Some(lease) = self.lease_ms {
            out.extend(lease.to_be_bytes());
        }
        if let Some(attempts) = self.max_attempts {
            out.extend(attempts.to_be_bytes());
        }
        if let Some(backoff) = self.backoff {
            let (kind, delay, most) = record::backoff_parts(backoff);
            out.push(kind);
            out.extend(delay.to_be_bytes());
            out.extend(most.to_be_bytes());
        }
        if let Some(trace) = self.trace() {
            out.extend(trace.as_bytes());
        }
        if !self.locks.is_empty() {
            record::pack_locks(&self.locks, out);
        }
        if !self.lives_apart() {
            out.extend(self.payload.as_str().as_bytes());
        }
    }

    /// Writes a new job's record behind its stamp.
    pub(crate) fn write_tail(
        &self,
        priority: Priority,
        client: &str,
        digest: Option<&[u8; 16]>,
        fingerprint: Option<&[u8; 8]>,
        out: &mut Vec<u8>,
    ) {
        let parts = [
            (flags::EXTERNAL, self.lives_apart()),
            (flags::CLIENT, !client.is_empty()),
            (flags::DIGEST, digest.is_some()),
            (flags::FINGERPRINT, fingerprint.is_some()),
        ];
        let has = parts.iter().filter(|(_, is_there)| *is_there).fold(self.flags(), |has, (flag, _)| has | flag);
        out.extend(has.to_be_bytes());
        out.push(priority.get());
        if !client.is_empty() {
            out.push(client.len() as u8);
            out.extend(client.as_bytes());
        }
        out.extend(digest.into_iter().flatten());
        out.extend(fingerprint.into_iter().flatten());
        self.write(out);
    }

    /// Writes what few jobs have: twins that are looked for `always`, a delay, a time, a payload that lives apart. Nothing
    /// for the others.
    pub(crate) fn write_rare(&self, always: bool, out: &mut Vec<u8>) {
        let (delay, run_at) = self.times();
        if !always && delay == 0 && run_at == 0 && !self.lives_apart() {
            return;
        }
        out.push(u8::from(always));
        for ms in [delay, run_at] {
            out.extend(&ms.to_be_bytes()[2..]);
        }
        if self.lives_apart() {
            out.extend(self.payload.as_str().as_bytes());
        }
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
