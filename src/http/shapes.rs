//! What answers look like. Every field is always there; a value that does not exist is `null`.

use std::fmt::Display;

use jiff::Timestamp;
use serde::{Serialize, Serializer};

use crate::{
    job,
    job::{JobId, Millis, Name, Priority, State},
    payload::Json,
    queue,
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
        serializer.collect_str(&format_args!("{:.3}", self.0))
    }
}

fn name(name: Option<&Name>) -> Option<&str> {
    name.map(Name::as_str)
}

#[derive(Serialize)]
pub struct Enqueued {
    pub id: Text<JobId>,
    pub queue: Text<job::QueueName>,
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

#[derive(Serialize)]
pub struct Handouts<'a> {
    pub jobs: Vec<Handout<'a>>,
    pub remaining: u64,
    pub server_time: Time,
}

#[derive(Serialize)]
pub struct NothingToReserve {
    pub jobs: [(); 0],
    pub remaining: u64,
    pub server_time: Time,
    pub reason: &'static str,
    pub retry_after_ms: u64,
}

/// A job in somebody's hands.
#[derive(Serialize)]
pub struct Handout<'a> {
    id: Text<&'a JobId>,
    queue: &'a str,
    payload: &'a Json,
    reservation: String,
    attempt: u32,
    expires_in_ms: u64,
    warn_in_ms: u64,
    reserved_at: Time,
    priority: Priority,
    client: Option<&'a str>,
    worker: Option<&'a str>,
    enqueued_at: Time,
    resumed: bool,
    resumes: u32,
    traceparent: Option<&'a str>,
}

impl<'a> Handout<'a> {
    pub fn new(handout: &'a queue::Handout, now: Millis) -> Self {
        let id = &handout.reservation.job;
        let expires_in_ms = handout.deadline.since(now);
        Self {
            id: Text(id),
            queue: id.queue.as_str(),
            payload: &handout.payload,
            reservation: handout.reservation.reveal(),
            attempt: handout.attempt,
            expires_in_ms,
            warn_in_ms: expires_in_ms.saturating_sub(handout.warn_ms.into()),
            reserved_at: handout.reserved_at.into(),
            priority: handout.priority,
            client: name(handout.client.as_ref()),
            worker: name(handout.worker.as_ref()),
            enqueued_at: handout.enqueued_at.into(),
            resumed: handout.resumes > 0,
            resumes: handout.resumes,
            traceparent: handout.traceparent.as_deref(),
        }
    }
}

#[derive(Serialize)]
pub struct Backoff {
    #[serde(rename = "type")]
    kind: &'static str,
    delay_ms: u32,
    max_ms: Option<u32>,
}

impl Backoff {
    pub fn new(backoff: job::Backoff) -> Option<Self> {
        match backoff {
            job::Backoff::None => None,
            job::Backoff::Fixed { delay_ms } => Some(Self { kind: "fixed", delay_ms, max_ms: None }),
            job::Backoff::Exponential { delay_ms, max_ms } => {
                Some(Self { kind: "exponential", delay_ms, max_ms: Some(max_ms) })
            }
        }
    }
}

/// Everything about one job, but never its reservation.
#[derive(Serialize)]
pub struct Job<'a> {
    id: Text<&'a JobId>,
    queue: &'a str,
    state: State,
    payload: Option<&'a Json>,
    priority: Priority,
    client: Option<&'a str>,
    traceparent: Option<&'a str>,
    lease_ms: Option<u32>,
    max_attempts: Option<u32>,
    backoff: Option<Backoff>,
    attempts: u32,
    counts: &'a queue::Counts,
    reserved: Option<Holder<'a>>,
    errors: Vec<JobError<'a>>,
    result: Option<&'a Json>,
    late_results: Vec<LateResult<'a>>,
    enqueued_at: Time,
    due_at: Option<Time>,
    ended_at: Option<Time>,
}

#[derive(Serialize)]
struct Holder<'a> {
    worker: Option<&'a str>,
    reserved_at: Time,
    expires_at: Time,
    resumes: u32,
}

#[derive(Serialize)]
struct JobError<'a> {
    at: Time,
    worker: Option<&'a str>,
    error: &'a str,
}

#[derive(Serialize)]
struct LateResult<'a> {
    at: Time,
    worker: Option<&'a str>,
    result: Option<&'a Json>,
}

impl<'a> Job<'a> {
    pub fn new(job: &'a queue::Job) -> Self {
        Self {
            id: Text(&job.id),
            queue: job.id.queue.as_str(),
            state: job.state,
            payload: job.payload.as_ref(),
            priority: job.priority,
            client: name(job.client.as_ref()),
            traceparent: job.traceparent.as_deref(),
            lease_ms: job.lease_ms,
            max_attempts: job.max_attempts,
            backoff: job.backoff.and_then(Backoff::new),
            attempts: job.attempts,
            counts: &job.counts,
            reserved: job.reserved.as_ref().map(Holder::new),
            errors: job.errors.iter().map(JobError::new).collect(),
            result: job.result.as_ref(),
            late_results: job.late_results.iter().map(LateResult::new).collect(),
            enqueued_at: job.enqueued_at.into(),
            due_at: job.due_at.map(Time::from),
            ended_at: job.ended_at.map(Time::from),
        }
    }
}

impl<'a> Holder<'a> {
    fn new(held: &'a queue::Held) -> Self {
        Self {
            worker: name(held.worker.as_ref()),
            reserved_at: held.reserved_at.into(),
            expires_at: held.deadline.into(),
            resumes: held.resumes,
        }
    }
}

impl<'a> JobError<'a> {
    fn new(error: &'a queue::JobError) -> Self {
        Self { at: error.at.into(), worker: name(error.worker.as_ref()), error: &error.error }
    }
}

impl<'a> LateResult<'a> {
    fn new(late: &'a queue::LateResult) -> Self {
        Self { at: late.at.into(), worker: name(late.worker.as_ref()), result: late.result.as_ref() }
    }
}

#[derive(Serialize)]
pub struct JobPage<'a> {
    pub jobs: Vec<Job<'a>>,
    pub next: Option<Text<queue::Cursor>>,
}

#[derive(Serialize)]
pub struct Reservations<'a> {
    pub reservations: Vec<Reservation<'a>>,
    pub server_time: Time,
}

/// What somebody holds, without the secret.
#[derive(Serialize)]
pub struct Reservation<'a> {
    id: Text<&'a JobId>,
    queue: &'a str,
    worker: Option<&'a str>,
    reserved_at: Time,
    expires_at: Time,
    expires_in_ms: u64,
    resumes: u32,
}

impl<'a> Reservation<'a> {
    pub fn new(held: &'a queue::Held, now: Millis) -> Self {
        Self {
            id: Text(&held.id),
            queue: held.id.queue.as_str(),
            worker: name(held.worker.as_ref()),
            reserved_at: held.reserved_at.into(),
            expires_at: held.deadline.into(),
            expires_in_ms: held.deadline.since(now),
            resumes: held.resumes,
        }
    }
}

#[derive(Serialize)]
pub struct WorkerPage<'a> {
    pub workers: Vec<Worker<'a>>,
    pub next: Option<Text<queue::Cursor>>,
    pub server_time: Time,
}

#[derive(Serialize)]
pub struct Worker<'a> {
    worker: Option<&'a str>,
    jobs: Vec<HeldJob<'a>>,
}

#[derive(Serialize)]
struct HeldJob<'a> {
    id: Text<&'a JobId>,
    reserved_at: Time,
    expires_at: Time,
    expires_in_ms: u64,
    resumes: u32,
}

impl<'a> Worker<'a> {
    /// What lies together by worker already, an entry per worker.
    pub fn each(held: &'a [queue::Held], now: Millis) -> Vec<Self> {
        let job = |held: &'a queue::Held| HeldJob {
            id: Text(&held.id),
            reserved_at: held.reserved_at.into(),
            expires_at: held.deadline.into(),
            expires_in_ms: held.deadline.since(now),
            resumes: held.resumes,
        };
        let same = held.chunk_by(|one, next| one.worker == next.worker);
        same.map(|held| Self { worker: name(held[0].worker.as_ref()), jobs: held.iter().map(job).collect() }).collect()
    }
}

#[derive(Serialize)]
pub struct QueueList<'a> {
    pub queues: Vec<Queue<'a>>,
}

#[derive(Serialize)]
pub struct Queue<'a> {
    name: &'a str,
    counts: &'a queue::StateCounts,
    oldest_waiting_ms: Option<u64>,
    reservations: LiveAndOverdue,
    settings: Settings,
    totals: &'a queue::Totals,
}

#[derive(Serialize)]
struct LiveAndOverdue {
    live: u64,
    overdue: u64,
    soonest_expires_in_ms: Option<u64>,
}

#[derive(Serialize)]
struct Settings {
    paused: bool,
    lease_ms: u32,
    max_hold_ms: u32,
    warn_ms: u32,
    max_attempts: u32,
    backoff: Option<Backoff>,
    dedupe: bool,
    worker_limit: u32,
    retention_ms: u32,
    retention_max: u32,
    max_jobs: u32,
}

impl<'a> Queue<'a> {
    pub fn new(info: &'a queue::QueueInfo) -> Self {
        let set = &info.settings;
        Self {
            name: info.name.as_str(),
            counts: &info.counts,
            oldest_waiting_ms: info.oldest_waiting_ms,
            reservations: LiveAndOverdue {
                live: info.live,
                overdue: info.overdue,
                soonest_expires_in_ms: info.soonest_expires_in_ms,
            },
            settings: Settings {
                paused: set.paused,
                lease_ms: set.lease_ms,
                max_hold_ms: set.max_hold_ms,
                warn_ms: set.warn_ms,
                max_attempts: set.max_attempts,
                backoff: Backoff::new(set.backoff),
                dedupe: set.dedupe,
                worker_limit: set.worker_limit,
                retention_ms: set.retention_ms,
                retention_max: set.retention_max,
                max_jobs: set.max_jobs,
            },
            totals: &info.totals,
        }
    }
}

#[derive(Serialize)]
pub struct Released {
    pub released: u64,
}

#[derive(Serialize)]
pub struct Requeued {
    pub requeued: u64,
}

#[derive(Serialize)]
pub struct Swept {
    pub expired: u64,
    pub due: u64,
    pub dead: u64,
    pub forgotten: u64,
}

#[derive(Serialize)]
pub struct Purged {
    pub removed: u64,
    pub more: bool,
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
    }
}
