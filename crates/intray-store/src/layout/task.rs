//! The description of a job, which enqueues and batches share.

use crate::layout::{
    moment::{Delay, Moment},
    record::{self, flags},
    route::{TimeError, TimeLimits},
    routing::Routing,
};
use crate::{
    job::{Backoff, LockName, Millis, limits},
    payload::Json,
    record_fields::{LONG, SHORT, TIME, task_fields::TASK_FIELDS},
};

pub(crate) use crate::record_fields::task_fields::Lookup;

/// Values that are absent come from the settings of the queue when they are needed.
#[derive(Debug, Clone)]
pub struct Task {
    pub payload: Json,
    pub delay: Option<Delay>,
    pub lease_ms: Option<u32>,
    pub max_attempts: Option<u32>,
    pub backoff: Option<Backoff>,
    /// Jobs of a queue with a lock in common are never reserved at the same time.
    pub locks: Vec<LockName>,
    pub traceparent: Option<String>,
    pub limits: TimeLimits,
    /// Boxed, because most jobs are for all workers.
    pub routing: Option<Box<Routing>>,
}

/// About the longest record without its payload and locks.
const TAIL: usize = 80;

impl Task {
    /// A task with a payload and nothing else.
    pub fn plain(payload: Json) -> Self {
        let (delay, lease_ms, max_attempts, backoff, traceparent, limits, routing) = Default::default();
        Self { payload, delay, lease_ms, max_attempts, backoff, locks: Vec::new(), traceparent, limits, routing }
    }

    /// The end of the job's record, with its flags.
    pub(crate) fn pack(&self) -> (u16, Vec<u8>) {
        let mut rest = Vec::with_capacity(self.size());
        self.write(&mut rest);
        (self.flags(), rest)
    }

    /// The flags of the end of the job's record.
    fn flags(&self) -> u16 {
        let parts = [
            (flags::LEASE, self.lease_ms.is_some()),
            (flags::ATTEMPTS, self.max_attempts.is_some()),
            (flags::BACKOFF, self.backoff.is_some()),
            (flags::TRACE, self.trace().is_some()),
            (flags::LOCKS, !self.locks.is_empty()),
            (flags::ROUTED, self.is_routed()),
        ];
        parts.iter().filter(|(_, is_there)| *is_there).fold(0, |has, (flag, _)| has | flag)
    }

    /// What the job has in addition to its records, as the scripts read it.
    pub(crate) fn route(&self) -> Vec<u8> {
        let mut route = self.limits.pack();
        self.routing.iter().for_each(|routing| routing.pack(&mut route));
        route
    }

    fn is_routed(&self) -> bool {
        !self.limits.is_empty() || self.routing.is_some()
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
            let (kind, delay, max) = record::backoff_parts(backoff);
            out.push(kind);
            out.extend(delay.to_be_bytes());
            out.extend(max.to_be_bytes());
        }
        if let Some(trace) = self.trace() {
            out.extend(trace.as_bytes());
        }
        if !self.locks.is_empty() {
            pack_locks(&self.locks, out);
        }
        if !self.is_external() {
            out.extend(self.payload.as_str().as_bytes());
        }
    }

    /// Writes the record of a new job from the stamp on, with `more` flags.
    pub(crate) fn write_tail(
        &self,
        more: u16,
        priority: u8,
        client: &str,
        digest: Option<&[u8; 16]>,
        fingerprint: Option<&[u8; 8]>,
        out: &mut Vec<u8>,
    ) {
        let parts = [
            (flags::EXTERNAL, self.is_external()),
            (flags::CLIENT, !client.is_empty()),
            (flags::DIGEST, digest.is_some()),
            (flags::FINGERPRINT, fingerprint.is_some()),
        ];
        let has = parts.iter().filter(|(_, is_there)| *is_there).fold(more | self.flags(), |has, (flag, _)| has | flag);
        out.extend(has.to_be_bytes());
        out.push(priority);
        if !client.is_empty() {
            SHORT.put(client.len() as u64, out);
            out.extend(client.as_bytes());
        }
        out.extend(digest.into_iter().flatten());
        out.extend(fingerprint.into_iter().flatten());
        self.write(out);
    }

    /// Writes the rare parts of a job: how to look for duplicates, a delay, a time, when its own times are valid and
    /// what they are, a payload outside the record. Writes nothing for other jobs.
    pub(crate) fn write_rare(&self, lookup: Lookup, out: &mut Vec<u8>) {
        let (delay, run_at) = self.times();
        if lookup == Lookup::QueueSetting && delay == 0 && run_at == 0 && !self.is_routed() && !self.is_external() {
            return;
        }
        out.push(lookup as u8);
        for ms in [delay, run_at] {
            TIME.put(ms, out);
        }
        if self.is_routed() {
            let (valid, route) = (self.limits.valid_times(self.delay), self.route());
            for ms in [valid.from, valid.before] {
                TIME.put(ms, out);
            }
            LONG.put(route.len() as u64, out);
            out.extend(route);
        }
        if self.is_external() {
            out.extend(self.payload.as_str().as_bytes());
        }
    }

    /// The rules that the times of the job break at this time.
    pub(crate) fn untimely_at(&self, now: Millis) -> Vec<TimeError> {
        self.limits.broken_at(now, self.delay)
    }

    /// The delay in ms, and the time.
    fn times(&self) -> (u64, u64) {
        match self.delay {
            None => (0, 0),
            Some(Delay::For(ms)) => (u64::from(ms), 0),
            Some(Delay::Until(at)) => (0, at.0),
        }
    }

    /// The fields of some bits of [`TASK_FIELDS`], by the names that the call has used.
    pub(crate) fn named(&self, bits: u64) -> Vec<&'static str> {
        let delay = [("delay_ms", "run_at", matches!(self.delay, Some(Delay::Until(_))))];
        let times = [("expires_ms", "expires_at", self.limits.expires), ("sla_ms", "sla_at", self.limits.sla)];
        let times = times.map(|(ms, at, moment)| (ms, at, matches!(moment, Some(Moment::At(_)))));
        let other_form = delay.into_iter().chain(times).map(|(ms, at, is_at)| if is_at { ms } else { at });
        let other_forms: Vec<_> = other_form.collect();
        let differing = TASK_FIELDS.into_iter().enumerate().filter(|(i, _)| bits >> i & 1 == 1).map(|(_, name)| name);
        differing.filter(|name| !other_forms.contains(name)).collect()
    }

    /// About how many bytes it takes in the arguments of a script.
    pub(crate) fn size(&self) -> usize {
        self.payload.len() + TAIL
    }

    fn is_external(&self) -> bool {
        self.payload.len() > limits::INLINE_PAYLOAD
    }
}
/// Writes the number of locks, then each lock after its length.
fn pack_locks(locks: &[LockName], into: &mut Vec<u8>) {
    into.push(locks.len() as u8);
    for lock in locks {
        LONG.put(lock.as_str().len() as u64, into);
        into.extend(lock.as_str().as_bytes());
    }
}
