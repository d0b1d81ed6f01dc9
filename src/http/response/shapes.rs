//! The JSON of answers. Every field is always present; a missing value is `null`.

mod batch;
mod event;
mod history;
mod job;
mod memory;
mod queue;
mod workers;

use std::fmt::Display;

use jiff::{Timestamp, tz::Offset};
use serde::{Serialize, Serializer, ser::Error};

pub use self::{
    batch::{BatchBody, BatchPageBody, ResultPageBody},
    event::{EventBody, JobHistoryBody, QueueNameBody, RecentEventsBody},
    history::HistoryBody,
    job::{
        CompletedByBody as CompletedBy, EmptyReserveBody, ForgottenBody, HandoutBody, HandoutsBody, JobBody,
        JobPageBody,
    },
    memory::RedisMemoryBody,
    queue::{
        HeldJobBody, LockBody, LockPageBody, QueueBody, QueueListBody, ReservationBody, ReservationsBody, SettingsBody,
        WorkerBody, WorkerPageBody,
    },
    workers::WorkersBody,
};
use crate::{
    access::{Caller, Pattern},
    job::{Backoff as Pause, JobId, Millis, Name, Priority, QueueName, Role, State},
    store::Progress,
};

/// A value that is serialized as it is displayed.
pub struct Displayed<T>(pub T);

impl<T: Display> Serialize for Displayed<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// RFC 3339, UTC, with milliseconds.
pub struct Rfc3339(Timestamp);

impl From<Millis> for Rfc3339 {
    fn from(millis: Millis) -> Self {
        let millis = i64::try_from(millis.0).unwrap_or(i64::MAX);
        Self(Timestamp::from_millisecond(millis).unwrap_or(Timestamp::MAX))
    }
}

impl Serialize for Rfc3339 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let time = Offset::UTC.to_datetime(self.0);
        let mut text = *b"0000-00-00T00:00:00.000Z";
        // Written by hand: answers are full of times, and `format!` takes half as many instructions again.
        write_digits(&mut text[..4], time.year());
        write_digits(&mut text[5..7], time.month().into());
        write_digits(&mut text[8..10], time.day().into());
        write_digits(&mut text[11..13], time.hour().into());
        write_digits(&mut text[14..16], time.minute().into());
        write_digits(&mut text[17..19], time.second().into());
        write_digits(&mut text[20..23], time.millisecond());
        serializer.serialize_str(str::from_utf8(&text).map_err(Error::custom)?)
    }
}

/// Fills the digits from the right.
fn write_digits(digits: &mut [u8], number: i16) {
    let mut left = number.unsigned_abs();
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (left % 10) as u8;
        left /= 10;
    }
}

fn name(name: Option<&Name>) -> Option<&str> {
    name.map(Name::as_str)
}

/// `{}`
#[derive(Serialize)]
pub struct EmptyBody {}

#[derive(Serialize)]
pub struct EnqueuedBody {
    pub id: Displayed<JobId>,
    pub queue: Displayed<QueueName>,
    pub state: State,
    pub duplicate: bool,
}

impl EnqueuedBody {
    pub fn new(id: JobId, state: State, duplicate: bool) -> Self {
        Self { queue: Displayed(id.queue.clone()), id: Displayed(id), state, duplicate }
    }
}

#[derive(Serialize)]
pub struct CancelledBody {
    pub id: Displayed<JobId>,
    pub state: State,
}

#[derive(Serialize)]
pub struct ReprioritizedBody {
    pub id: Displayed<JobId>,
    pub state: State,
    pub priority: Priority,
}

#[derive(Serialize)]
pub struct ExtendedBody {
    pub id: Displayed<JobId>,
    pub state: State,
    pub expires_in_ms: u64,
    pub server_time: Rfc3339,
}

#[derive(Serialize)]
pub struct CompletedBody {
    pub id: Displayed<JobId>,
    pub state: State,
    pub duplicate: bool,
    pub late: bool,
}

#[derive(Serialize)]
pub struct ReturnedBody {
    pub id: Displayed<JobId>,
    pub state: State,
    pub duplicate: bool,
}

/// How long a job rests after a fail.
#[derive(Serialize)]
pub struct BackoffBody {
    #[serde(rename = "type")]
    kind: &'static str,
    delay_ms: u32,
    max_ms: Option<u32>,
}

impl BackoffBody {
    pub fn new(backoff: Pause) -> Option<Self> {
        match backoff {
            Pause::None => None,
            Pause::Fixed { delay_ms } => Some(Self { kind: "fixed", delay_ms, max_ms: None }),
            Pause::Exponential { delay_ms, max_ms } => {
                Some(Self { kind: "exponential", delay_ms, max_ms: Some(max_ms) })
            }
        }
    }
}

/// Names as text.
pub fn queue_names(queues: &[QueueName]) -> Vec<&str> {
    queues.iter().map(QueueName::as_str).collect()
}

/// The caller, as this service knows it.
#[derive(Serialize)]
pub struct MeBody<'a> {
    role: Role,
    name: Option<&'a str>,
    worker: Option<&'a str>,
    queues: Vec<&'a str>,
    until: Option<Rfc3339>,
}

impl<'a> MeBody<'a> {
    pub fn new(caller: &'a Caller) -> Self {
        Self {
            role: caller.role,
            name: caller.key_name(),
            worker: name(caller.worker.as_ref()),
            queues: caller.patterns().iter().map(Pattern::as_str).collect(),
            until: caller.until.map(|until| until.instant().into()),
        }
    }
}

#[derive(Serialize)]
pub struct TokenBody {
    pub token: String,
    pub expires_at: Rfc3339,
}

#[derive(Serialize)]
pub struct ReleasedBody {
    pub released: u64,
    pub more: bool,
}

#[derive(Serialize)]
pub struct RequeuedBody {
    pub requeued: u64,
    pub more: bool,
    pub next: Option<Displayed<Progress>>,
}

#[derive(Serialize)]
pub struct ReprioritizedAllBody {
    pub changed: u64,
    pub more: bool,
    pub next: Option<Displayed<Progress>>,
}

#[derive(Serialize)]
pub struct SweptBody {
    pub expired: u64,
    pub due: u64,
    pub dead: u64,
    pub forgotten: u64,
    pub more: bool,
}

#[derive(Serialize)]
pub struct PurgedBody {
    pub removed: u64,
    pub more: bool,
    pub next: Option<Displayed<Progress>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_milliseconds_in_utc() {
        let time = |millis| serde_json::to_string(&Rfc3339::from(Millis(millis))).expect("JSON");
        assert_eq!(time(1_795_252_529_123), r#""2026-11-21T09:15:29.123Z""#);
        assert_eq!(time(1_795_252_529_000), r#""2026-11-21T09:15:29.000Z""#);
        assert_eq!(time(0), r#""1970-01-01T00:00:00.000Z""#);
        assert!(time(u64::MAX).starts_with(r#""9999-"#));
        for millis in (0..253_402_200_000_000).step_by(79_190_001_234) {
            let long = Timestamp::from_millisecond(millis).expect("a time");
            assert_eq!(time(millis.unsigned_abs()), format!(r#""{long:.3}""#));
        }
    }
}
