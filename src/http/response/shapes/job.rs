//! A job as its producer sees it, and as somebody gets it in hand.

use serde::Serialize;

use super::{Backoff, Text, Time, name};
use crate::{
    job::{BatchId, JobId, LockName, Millis, Priority, State},
    payload::Json,
    store,
};

#[derive(Serialize)]
pub struct Handouts<'a> {
    pub jobs: Vec<Handout<'a>>,
    pub remaining: u64,
    pub server_time: Time,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unavailable: Vec<&'a str>,
}

#[derive(Serialize)]
pub struct NothingToReserve<'a> {
    pub jobs: [(); 0],
    pub remaining: u64,
    pub server_time: Time,
    pub reason: &'static str,
    pub retry_after_ms: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unavailable: Vec<&'a str>,
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
    locks: Vec<&'a str>,
    batch: Option<Text<&'a BatchId>>,
    worker: Option<&'a str>,
    enqueued_at: Time,
    resumed: bool,
    resumes: u32,
    draft: Option<&'a Json>,
    traceparent: Option<&'a str>,
}

impl<'a> Handout<'a> {
    pub fn new(handout: &'a store::Handout, now: Millis) -> Self {
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
            locks: handout.locks.iter().map(LockName::as_str).collect(),
            batch: handout.batch.as_ref().map(Text),
            worker: name(handout.worker.as_ref()),
            enqueued_at: handout.enqueued_at.into(),
            resumed: handout.resumes > 0,
            resumes: handout.resumes,
            draft: handout.draft.as_ref(),
            traceparent: handout.traceparent.as_deref(),
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
    locks: Vec<&'a str>,
    batch: Option<Text<&'a BatchId>>,
    attempts: u32,
    counts: &'a store::HandoutCounts,
    reserved: Option<Holder<'a>>,
    completed: Option<Completed<'a>>,
    errors: Vec<JobError<'a>>,
    reasons: Vec<AbandonReason<'a>>,
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

/// Who completed a job, since when and how long they had had it.
#[derive(Serialize)]
pub struct Completed<'a> {
    worker: Option<&'a str>,
    reserved_at: Time,
    at: Time,
    held_ms: u64,
    late: bool,
}

#[derive(Serialize)]
struct AbandonReason<'a> {
    at: Time,
    worker: Option<&'a str>,
    reason: &'a str,
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
    pub fn new(job: &'a store::Job) -> Self {
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
            locks: job.locks.iter().map(LockName::as_str).collect(),
            batch: job.batch.as_ref().map(Text),
            attempts: job.attempts,
            counts: &job.counts,
            reserved: job.reserved.as_ref().map(Holder::new),
            completed: job.completed.as_ref().map(Completed::new),
            errors: job.errors.iter().map(JobError::new).collect(),
            reasons: job.reasons.iter().map(AbandonReason::new).collect(),
            result: job.result.as_ref(),
            late_results: job.late_results.iter().map(LateResult::new).collect(),
            enqueued_at: job.enqueued_at.into(),
            due_at: job.due_at.map(Time::from),
            ended_at: job.ended_at.map(Time::from),
        }
    }
}

impl<'a> Holder<'a> {
    fn new(held: &'a store::Held) -> Self {
        Self {
            worker: name(held.worker.as_ref()),
            reserved_at: held.reserved_at.into(),
            expires_at: held.deadline.into(),
            resumes: held.resumes,
        }
    }
}

impl<'a> Completed<'a> {
    pub fn new(completed: &'a store::Completed) -> Self {
        Self {
            worker: name(completed.worker.as_ref()),
            reserved_at: completed.reserved_at.into(),
            at: completed.at.into(),
            held_ms: completed.at.since(completed.reserved_at),
            late: completed.late,
        }
    }
}

impl<'a> AbandonReason<'a> {
    fn new(said: &'a store::AbandonReason) -> Self {
        Self { at: said.at.into(), worker: name(said.worker.as_ref()), reason: &said.reason }
    }
}

impl<'a> JobError<'a> {
    fn new(error: &'a store::JobError) -> Self {
        Self { at: error.at.into(), worker: name(error.worker.as_ref()), error: &error.error }
    }
}

impl<'a> LateResult<'a> {
    fn new(late: &'a store::LateResult) -> Self {
        Self { at: late.at.into(), worker: name(late.worker.as_ref()), result: late.result.as_ref() }
    }
}

#[derive(Serialize)]
pub struct JobPage<'a> {
    pub jobs: Vec<Job<'a>>,
    pub next: Option<Text<store::Cursor>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<Text<store::Cursor>>,
    pub looked: u64,
    #[serde(skip_serializing_if = "Forgotten::is_none")]
    pub forgotten: Forgotten,
}

/// How many ended jobs are gone that ended behind the cursor; `null` where nothing says it.
#[derive(Clone, Copy, Serialize)]
#[serde(transparent)]
pub struct Forgotten(Option<u64>);

impl Forgotten {
    pub fn new(forgotten: store::Forgotten) -> Self {
        match forgotten {
            store::Forgotten::None => Self(Some(0)),
            store::Forgotten::Some(jobs) => Self(Some(jobs)),
            store::Forgotten::Unknown => Self(None),
        }
    }

    pub fn is_none(&self) -> bool {
        self.0 == Some(0)
    }
}
