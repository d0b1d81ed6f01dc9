//! What answers look like. Every field is always there; a value that does not exist is `null`.

mod batch;
mod event;
mod history;
mod job;
mod memory;
mod people;
mod queue;

use std::fmt::Display;

use jiff::{Timestamp, tz::Offset};
use serde::{Serialize, Serializer, ser::Error};

pub use self::{
    batch::{Batch, BatchPage, ResultPage},
    event::{Event, OfQueue, Recent, Story},
    history::History,
    job::{Completed as CompletedBy, Forgotten, Handout, Handouts, Job, JobPage, NothingToReserve},
    memory::Redis,
    people::People,
    queue::{HeldJob, Lock, LockPage, Queue, QueueList, Reservation, Reservations, Settings, Worker, WorkerPage},
};
use crate::{
    access::{Caller, Pattern},
    job::{Backoff as Pause, JobId, Millis, Name, Priority, QueueName, Role, State},
    store::Progress,
};

/// A value that is written as it is displayed.
pub struct Text<T>(pub T);

impl<T: Display> Serialize for Text<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// RFC 3339, UTC, with milliseconds.
pub struct Time(Timestamp);

impl From<Millis> for Time {
    fn from(millis: Millis) -> Self {
        let millis = i64::try_from(millis.0).unwrap_or(i64::MAX);
        Self(Timestamp::from_millisecond(millis).unwrap_or(Timestamp::MAX))
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let time = Offset::UTC.to_datetime(self.0);
        let mut text = *b"0000-00-00T00:00:00.000Z";
        // Digit by digit: answers are full of times, and to have them formatted takes half as many instructions again.
        put(&mut text[..4], time.year());
        put(&mut text[5..7], time.month().into());
        put(&mut text[8..10], time.day().into());
        put(&mut text[11..13], time.hour().into());
        put(&mut text[14..16], time.minute().into());
        put(&mut text[17..19], time.second().into());
        put(&mut text[20..23], time.millisecond());
        serializer.serialize_str(str::from_utf8(&text).map_err(Error::custom)?)
    }
}

/// As many digits as there is room for.
fn put(digits: &mut [u8], number: i16) {
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
pub struct Nothing {}

#[derive(Serialize)]
pub struct Enqueued {
    pub id: Text<JobId>,
    pub queue: Text<QueueName>,
    pub state: State,
    pub duplicate: bool,
}

impl Enqueued {
    pub fn new(id: JobId, state: State, duplicate: bool) -> Self {
        Self { queue: Text(id.queue.clone()), id: Text(id), state, duplicate }
    }
}

#[derive(Serialize)]
pub struct Cancelled {
    pub id: Text<JobId>,
    pub state: State,
}

#[derive(Serialize)]
pub struct Reprioritized {
    pub id: Text<JobId>,
    pub state: State,
    pub priority: Priority,
}

#[derive(Serialize)]
pub struct Extended {
    pub id: Text<JobId>,
    pub state: State,
    pub expires_in_ms: u64,
    pub server_time: Time,
}

#[derive(Serialize)]
pub struct Completed {
    pub id: Text<JobId>,
    pub state: State,
    pub duplicate: bool,
    pub late: bool,
}

#[derive(Serialize)]
pub struct Returned {
    pub id: Text<JobId>,
    pub state: State,
    pub duplicate: bool,
}

/// How long a job rests after a fail.
#[derive(Serialize)]
pub struct Backoff {
    #[serde(rename = "type")]
    kind: &'static str,
    delay_ms: u32,
    max_ms: Option<u32>,
}

impl Backoff {
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

/// The names of queues.
pub fn named(queues: &[QueueName]) -> Vec<&str> {
    queues.iter().map(QueueName::as_str).collect()
}

/// Who calls, as they are known here.
#[derive(Serialize)]
pub struct Me<'a> {
    role: Role,
    name: Option<&'a str>,
    worker: Option<&'a str>,
    queues: Vec<&'a str>,
    until: Option<Time>,
}

impl<'a> Me<'a> {
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
pub struct Token {
    pub token: String,
    pub expires_at: Time,
}

#[derive(Serialize)]
pub struct Released {
    pub released: u64,
    pub more: bool,
}

#[derive(Serialize)]
pub struct Requeued {
    pub requeued: u64,
    pub more: bool,
    pub next: Option<Text<Progress>>,
}

#[derive(Serialize)]
pub struct ReprioritizedAll {
    pub changed: u64,
    pub more: bool,
    pub next: Option<Text<Progress>>,
}

#[derive(Serialize)]
pub struct Swept {
    pub expired: u64,
    pub due: u64,
    pub dead: u64,
    pub forgotten: u64,
    pub more: bool,
}

#[derive(Serialize)]
pub struct Purged {
    pub removed: u64,
    pub more: bool,
    pub next: Option<Text<Progress>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_milliseconds_and_a_z() {
        let time = |millis| serde_json::to_string(&Time::from(Millis(millis))).expect("JSON");
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
