//! The two records of a job, as `lua/base/record.lua` writes them: big-endian, lengths before texts.

use intray_redis::Fault;

use crate::{
    job::{Backoff, Code, LockName, Millis, Name, Priority, State, StoredEnding, limits},
    payload::Json,
};
use crate::{record_fields as fields, redis::read::broken};

pub(crate) use crate::record_fields::flags;
use crate::record_fields::task_fields::{EXPONENTIAL, FIXED};

/// The priority of a job: from its place in line, where the score holds it above the turn, otherwise the recorded one.
pub(crate) fn priority(score: Option<u64>, recorded: u64) -> Result<Priority, Fault> {
    let priority = score.map_or(recorded, |score| score >> limits::SPAN_BITS);
    Priority::new(priority).map_err(|_| broken("a priority"))
}

/// The time of a stamp of the queue's own clock.
pub(crate) fn at_stamp(stamp: u64) -> Millis {
    Millis(stamp / fields::STAMPS_PER_MS)
}

pub(crate) const TRACE_LEN: usize = fields::TRACE.width;

/// The data of the enqueue.
pub(crate) struct Header {
    pub(crate) enqueued_at: Millis,
    pub(crate) priority: u8,
    pub(crate) client: Option<Name>,
    pub(crate) lease_ms: Option<u32>,
    pub(crate) max_attempts: Option<u32>,
    pub(crate) backoff: Option<Backoff>,
    pub(crate) traceparent: Option<String>,
    pub(crate) locks: Vec<LockName>,
    /// The job belongs to a batch, which its id contains.
    pub(crate) is_member: bool,
    /// `None` if the payload is stored outside the record, or was removed because an older version cancelled the job.
    pub(crate) payload: Option<Json>,
}

impl Header {
    pub(crate) fn parse(raw: &[u8]) -> Result<Self, Fault> {
        let mut bytes = Bytes(raw);
        bytes.layout()?;
        let enqueued_at = at_stamp(bytes.uint(fields::STAMP.width)?);
        let has = bytes.uint(fields::FLAGS.width)? as u16;
        let priority = bytes.uint(fields::PRIORITY.width)? as u8;
        let when = |flag: u16| has & flag != 0;
        let client = if when(flags::CLIENT) { bytes.name()? } else { None };
        if when(flags::DIGEST) {
            bytes.take(fields::DIGEST.width)?;
        }
        if when(flags::FINGERPRINT) {
            bytes.take(fields::FINGERPRINT.width)?;
        }
        let lease_ms = if when(flags::LEASE) { Some(bytes.uint(fields::LEASE_MS.width)? as u32) } else { None };
        let max_attempts =
            if when(flags::ATTEMPTS) { Some(bytes.uint(fields::MAX_ATTEMPTS.width)? as u32) } else { None };
        let backoff = if when(flags::BACKOFF) { Some(bytes.backoff()?) } else { None };
        let traceparent = if when(flags::TRACE) { Some(bytes.text(TRACE_LEN)?) } else { None };
        let locks = if when(flags::LOCKS) { bytes.locks()? } else { Vec::new() };
        let is_member = when(flags::MEMBER);
        let payload = json_if_any(bytes.0.to_vec())?;
        Ok(Self {
            enqueued_at,
            priority,
            client,
            lease_ms,
            max_attempts,
            backoff,
            traceparent,
            locks,
            is_member,
            payload,
        })
    }
}

/// A live reservation.
pub(crate) struct Lease {
    pub(crate) secret: Code,
    pub(crate) reserved_at: Millis,
    pub(crate) resumes: u32,
    /// Its worker has completed the job and may take that back until the deadline.
    pub(crate) is_closing: bool,
    pub(crate) worker: Option<Name>,
}

/// The changing data of a job.
pub(crate) struct LiveRecord {
    pub(crate) state: State,
    pub(crate) score: Option<u64>,
    /// When the job first became waiting.
    pub(crate) arrived_at: Millis,
    pub(crate) priority: u8,
    /// handed out, expired, failed, abandoned, released
    pub(crate) counters: [u32; 5],
    pub(crate) attempts: u32,
    pub(crate) lease: Option<Lease>,
    /// The newest first.
    pub(crate) ended: Vec<Ended>,
    pub(crate) errors: Vec<(Millis, Option<Name>, String)>,
}

/// An ended reservation.
pub(crate) struct Ended {
    /// `None`: the value is from a newer version.
    how: Option<StoredEnding>,
    pub(crate) at: Millis,
    pub(crate) reserved_at: Millis,
    pub(crate) worker: Option<Name>,
    /// Why the job was given back.
    pub(crate) note: String,
}

impl LiveRecord {
    pub(crate) fn parse(raw: &[u8]) -> Result<Self, Fault> {
        Self::read(&mut Bytes(raw))
    }

    /// And who has skipped the job, the latest first.
    pub(crate) fn parse_with_skips(raw: &[u8]) -> Result<(Self, Vec<Name>), Fault> {
        let mut bytes = Bytes(raw);
        let live = Self::read(&mut bytes)?;
        let _gate = bytes.blob(fields::LONG.width)?;
        let (mut entries, mut skips) = (Bytes(bytes.blob(fields::LONG.width)?), Vec::new());
        while !entries.0.is_empty() {
            skips.extend(entries.name()?);
        }
        Ok((live, skips))
    }

    fn read(bytes: &mut Bytes) -> Result<Self, Fault> {
        bytes.layout()?;
        let state = (bytes.uint(fields::STATE.width)? as usize).checked_sub(1).and_then(|n| State::ALL.get(n).copied());
        let state = state.ok_or_else(|| broken("a state"))?;
        let score = f64::from_bits(bytes.uint(fields::SCORE.width)?);
        let arrived_at = at_stamp(bytes.uint(fields::ARRIVAL.width)?);
        let priority = (bytes.uint(fields::PRIORITY.width)? % fields::UNSERVED) as u8;
        let mut counters = [0; 5];
        for counter in &mut counters {
            *counter = bytes.uint(fields::COUNTER)? as u32;
        }
        let attempts = bytes.uint(fields::COUNTER)? as u32;
        let _late = bytes.uint(fields::LATE.width)?;
        let lease = bytes.blob(fields::LEASE.width)?;
        let lease = if lease.is_empty() { None } else { Some(Lease::parse(lease)?) };
        let mut ended_bytes = Bytes(bytes.blob(fields::HISTORY.width)?);
        let mut ended = Vec::new();
        while !ended_bytes.0.is_empty() {
            ended.push(Ended::parse(&mut ended_bytes)?);
        }
        let mut error_bytes = Bytes(bytes.blob(fields::ERRORS.width)?);
        let mut errors = Vec::new();
        while !error_bytes.0.is_empty() {
            let at = Millis(error_bytes.uint(fields::TIME.width)?);
            errors.push((at, error_bytes.name()?, error_bytes.long_text()?));
        }
        Ok(Self {
            state,
            score: (score >= 0.0).then_some(score as u64),
            arrived_at,
            priority,
            counters,
            attempts,
            lease,
            ended,
            errors,
        })
    }
}

impl Ended {
    fn parse(bytes: &mut Bytes) -> Result<Self, Fault> {
        bytes.take(fields::SECRET_DIGEST.width)?;
        let how =
            (bytes.uint(fields::CAUSE.width)? as usize).checked_sub(1).and_then(|n| StoredEnding::ALL.get(n).copied());
        let (at, reserved_at) =
            (Millis(bytes.uint(fields::ENDED_AT.width)?), Millis(bytes.uint(fields::RESERVED_AT.width)?));
        let worker = bytes.name()?;
        Ok(Self { how, at, reserved_at, worker, note: bytes.long_text()? })
    }

    pub(crate) fn is_completion(&self) -> bool {
        self.how == Some(StoredEnding::Done) || self.is_late()
    }

    pub(crate) fn is_late(&self) -> bool {
        self.how == Some(StoredEnding::DoneLate)
    }

    pub(crate) fn is_abandon(&self) -> bool {
        self.how == Some(StoredEnding::Abandoned)
    }
}

impl Lease {
    fn parse(raw: &[u8]) -> Result<Self, Fault> {
        let mut bytes = Bytes(raw);
        let secret = Code::parse(&bytes.text(Code::LEN)?).ok_or_else(|| broken("a secret"))?;
        bytes.take(fields::SECRET_DIGEST.width)?;
        bytes.take(fields::NONCE.width)?;
        let reserved_at = Millis(bytes.uint(fields::RESERVED_AT.width)?);
        let _lease = bytes.uint(fields::LEASE_MS.width)?;
        let resumes = bytes.uint(fields::RESUMES.width)? as u32;
        let is_closing = bytes.uint(fields::MARKS.width)? & fields::lease_marks::CLOSING != 0;
        Ok(Self { secret, reserved_at, resumes, is_closing, worker: bytes.name()? })
    }
}

/// A late result: its time, its worker, and the result.
pub(crate) fn late_result(raw: &[u8]) -> Result<(Millis, Option<Name>, Option<Json>), Fault> {
    let mut bytes = Bytes(raw);
    bytes.take(fields::SECRET_DIGEST.width)?;
    let at = Millis(bytes.uint(fields::TIME.width)?);
    let worker = bytes.name()?;
    let result = json_if_any(bytes.0.to_vec())?;
    Ok((at, worker, result))
}

pub(crate) fn json(text: Vec<u8>) -> Result<Json, Fault> {
    String::from_utf8(text).ok().and_then(Json::from_text).ok_or_else(|| broken("JSON"))
}

/// None where nothing is stored.
pub(crate) fn json_if_any(text: Vec<u8>) -> Result<Option<Json>, Fault> {
    if text.is_empty() { Ok(None) } else { json(text).map(Some) }
}

pub(crate) fn backoff_parts(backoff: Backoff) -> (u8, u32, u32) {
    match backoff {
        Backoff::None => (0, 0, 0),
        Backoff::Fixed { delay_ms } => (FIXED, delay_ms, delay_ms),
        Backoff::Exponential { delay_ms, max_ms } => (EXPONENTIAL, delay_ms, max_ms),
    }
}

pub(crate) fn backoff_of((kind, delay_ms, max_ms): (u8, u32, u32)) -> Backoff {
    match kind {
        FIXED => Backoff::Fixed { delay_ms },
        EXPONENTIAL => Backoff::Exponential { delay_ms, max_ms },
        _ => Backoff::None,
    }
}

/// Reads a record from its start.
pub(crate) struct Bytes<'b>(pub(crate) &'b [u8]);

impl<'b> Bytes<'b> {
    fn take(&mut self, n: usize) -> Result<&'b [u8], Fault> {
        let (head, rest) = self.0.split_at_checked(n).ok_or_else(|| broken("a longer record"))?;
        self.0 = rest;
        Ok(head)
    }

    fn layout(&mut self) -> Result<(), Fault> {
        let is_ours = self.uint(fields::LAYOUT_FIELD.width)? == u64::from(fields::LAYOUT);
        is_ours.then_some(()).ok_or_else(|| broken("a record of this layout"))
    }

    pub(crate) fn uint(&mut self, width: usize) -> Result<u64, Fault> {
        Ok(self.take(width)?.iter().fold(0, |n, &byte| n << 8 | u64::from(byte)))
    }

    fn blob(&mut self, width: usize) -> Result<&'b [u8], Fault> {
        let length = self.uint(width)? as usize;
        self.take(length)
    }

    pub(crate) fn text(&mut self, length: usize) -> Result<String, Fault> {
        String::from_utf8(self.take(length)?.to_vec()).map_err(|_| broken("UTF-8"))
    }

    pub(crate) fn long_text(&mut self) -> Result<String, Fault> {
        let length = self.uint(fields::LONG.width)? as usize;
        self.text(length)
    }

    pub(crate) fn name(&mut self) -> Result<Option<Name>, Fault> {
        let length = self.uint(fields::SHORT.width)? as usize;
        let text = self.text(length)?;
        if text.is_empty() { Ok(None) } else { Name::parse(&text).map(Some).map_err(|_| broken("a name")) }
    }

    fn locks(&mut self) -> Result<Vec<LockName>, Fault> {
        let count = self.uint(1)?;
        let lock = |_| LockName::parse(&self.long_text()?).map_err(|_| broken("a lock"));
        (0..count).map(lock).collect()
    }

    fn backoff(&mut self) -> Result<Backoff, Fault> {
        let [kind, delay, max] = fields::BACKOFF.map(|field| field.width);
        Ok(backoff_of((self.uint(kind)? as u8, self.uint(delay)? as u32, self.uint(max)? as u32)))
    }
}
