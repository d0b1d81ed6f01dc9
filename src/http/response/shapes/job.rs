//! A job as its producer sees it, and as its worker gets it.

use serde::Serialize;

use super::{BackoffBody, Displayed, Rfc3339, name};
use crate::{
    job::{BatchId, JobId, LockName, Millis, Priority, State},
    payload::Json,
    store,
};

#[derive(Serialize)]
pub struct HandoutsBody<'a> {
    pub jobs: Vec<HandoutBody<'a>>,
    pub remaining: u64,
    pub server_time: Rfc3339,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unavailable: Vec<&'a str>,
}

#[derive(Serialize)]
pub struct EmptyReserveBody<'a> {
    pub jobs: [(); 0],
    pub remaining: u64,
    pub server_time: Rfc3339,
    pub reason: &'static str,
    pub retry_after_ms: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unavailable: Vec<&'a str>,
}

/// A reserved job with its reservation.
#[derive(Serialize)]
pub struct HandoutBody<'a> {
    id: Displayed<&'a JobId>,
    queue: &'a str,
    payload: &'a Json,
    reservation: String,
    attempt: u32,
    expires_in_ms: u64,
    warn_in_ms: u64,
    reserved_at: Rfc3339,
    priority: Priority,
    client: Option<&'a str>,
    locks: Vec<&'a str>,
    batch: Option<Displayed<&'a BatchId>>,
    worker: Option<&'a str>,
    enqueued_at: Rfc3339,
    resumed: bool,
    resumes: u32,
    draft: Option<&'a Json>,
    traceparent: Option<&'a str>,
}

impl<'a> HandoutBody<'a> {
    pub fn new(handout: &'a store::Handout, now: Millis) -> Self {
        let id = &handout.reservation.job;
        let expires_in_ms = handout.deadline.since(now);
        Self {
            id: Displayed(id),
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
            batch: handout.batch.as_ref().map(Displayed),
            worker: name(handout.worker.as_ref()),
            enqueued_at: handout.enqueued_at.into(),
            resumed: handout.resumes > 0,
            resumes: handout.resumes,
            draft: handout.draft.as_ref(),
            traceparent: handout.traceparent.as_deref(),
        }
    }
}

/// Everything about one job except its reservation.
#[derive(Serialize)]
pub struct JobBody<'a> {
    id: Displayed<&'a JobId>,
    queue: &'a str,
    state: State,
    payload: Option<&'a Json>,
    priority: Priority,
    client: Option<&'a str>,
    traceparent: Option<&'a str>,
    lease_ms: Option<u32>,
    max_attempts: Option<u32>,
    backoff: Option<BackoffBody>,
    locks: Vec<&'a str>,
    batch: Option<Displayed<&'a BatchId>>,
    attempts: u32,
    counts: &'a store::HandoutCounts,
    reserved: Option<HolderBody<'a>>,
    completed: Option<CompletedByBody<'a>>,
    errors: Vec<JobErrorBody<'a>>,
    reasons: Vec<AbandonReasonBody<'a>>,
    result: Option<&'a Json>,
    late_results: Vec<LateResultBody<'a>>,
    enqueued_at: Rfc3339,
    due_at: Option<Rfc3339>,
    ended_at: Option<Rfc3339>,
}

#[derive(Serialize)]
struct HolderBody<'a> {
    worker: Option<&'a str>,
    reserved_at: Rfc3339,
    expires_at: Rfc3339,
    resumes: u32,
}

/// Who completed a job, and how long they held it.
#[derive(Serialize)]
pub struct CompletedByBody<'a> {
    worker: Option<&'a str>,
    reserved_at: Rfc3339,
    at: Rfc3339,
    held_ms: u64,
    late: bool,
}

#[derive(Serialize)]
struct AbandonReasonBody<'a> {
    at: Rfc3339,
    worker: Option<&'a str>,
    reason: &'a str,
}

#[derive(Serialize)]
struct JobErrorBody<'a> {
    at: Rfc3339,
    worker: Option<&'a str>,
    error: &'a str,
}

#[derive(Serialize)]
struct LateResultBody<'a> {
    at: Rfc3339,
    worker: Option<&'a str>,
    result: Option<&'a Json>,
}

impl<'a> JobBody<'a> {
    pub fn new(job: &'a store::Job) -> Self {
        Self {
            id: Displayed(&job.id),
            queue: job.id.queue.as_str(),
            state: job.state,
            payload: job.payload.as_ref(),
            priority: job.priority,
            client: name(job.client.as_ref()),
            traceparent: job.traceparent.as_deref(),
            lease_ms: job.lease_ms,
            max_attempts: job.max_attempts,
            backoff: job.backoff.and_then(BackoffBody::new),
            locks: job.locks.iter().map(LockName::as_str).collect(),
            batch: job.batch.as_ref().map(Displayed),
            attempts: job.attempts,
            counts: &job.counts,
            reserved: job.reserved.as_ref().map(HolderBody::new),
            completed: job.completed.as_ref().map(CompletedByBody::new),
            errors: job.errors.iter().map(JobErrorBody::new).collect(),
            reasons: job.reasons.iter().map(AbandonReasonBody::new).collect(),
            result: job.result.as_ref(),
            late_results: job.late_results.iter().map(LateResultBody::new).collect(),
            enqueued_at: job.enqueued_at.into(),
            due_at: job.due_at.map(Rfc3339::from),
            ended_at: job.ended_at.map(Rfc3339::from),
        }
    }
}

impl<'a> HolderBody<'a> {
    fn new(held: &'a store::Held) -> Self {
        Self {
            worker: name(held.worker.as_ref()),
            reserved_at: held.reserved_at.into(),
            expires_at: held.deadline.into(),
            resumes: held.resumes,
        }
    }
}

impl<'a> CompletedByBody<'a> {
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

impl<'a> AbandonReasonBody<'a> {
    fn new(reason: &'a store::AbandonReason) -> Self {
        Self { at: reason.at.into(), worker: name(reason.worker.as_ref()), reason: &reason.reason }
    }
}

impl<'a> JobErrorBody<'a> {
    fn new(error: &'a store::JobError) -> Self {
        Self { at: error.at.into(), worker: name(error.worker.as_ref()), error: &error.error }
    }
}

impl<'a> LateResultBody<'a> {
    fn new(late: &'a store::LateResult) -> Self {
        Self { at: late.at.into(), worker: name(late.worker.as_ref()), result: late.result.as_ref() }
    }
}

#[derive(Serialize)]
pub struct JobPageBody<'a> {
    pub jobs: Vec<JobBody<'a>>,
    pub next: Option<Displayed<store::Cursor>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<Displayed<store::Cursor>>,
    pub looked: u64,
    #[serde(skip_serializing_if = "ForgottenBody::is_none")]
    pub forgotten: ForgottenBody,
}

/// How many ended jobs behind the cursor were removed; `null` when that is not known.
#[derive(Clone, Copy, Serialize)]
#[serde(transparent)]
pub struct ForgottenBody(Option<u64>);

impl ForgottenBody {
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
