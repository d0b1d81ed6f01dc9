//! A job as its producer sees it, and as its worker gets it.

use serde::Serialize;

use crate::{
    job::{BatchId, JobId, LockName, Millis, Name, Priority, QueueName},
    payload::Json,
    store,
};

#[derive(Serialize)]
pub struct HandoutsBody<'a> {
    pub jobs: Vec<HandoutBody<'a>>,
    pub remaining: u64,
    pub server_time: Millis,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub unavailable: &'a [QueueName],
}

#[derive(Serialize)]
pub struct EmptyReserveBody<'a> {
    pub jobs: [(); 0],
    pub remaining: u64,
    pub server_time: Millis,
    pub reason: &'static str,
    pub retry_after_ms: u64,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub unavailable: &'a [QueueName],
}

/// A reserved job with its reservation.
#[derive(Serialize)]
pub struct HandoutBody<'a> {
    id: &'a JobId,
    queue: &'a QueueName,
    payload: &'a Json,
    reservation: String,
    attempt: u32,
    expires_in_ms: u64,
    warn_in_ms: u64,
    reserved_at: Millis,
    priority: Priority,
    client: Option<&'a Name>,
    locks: &'a [LockName],
    batch: Option<&'a BatchId>,
    worker: Option<&'a Name>,
    enqueued_at: Millis,
    resumed: bool,
    resumes: u32,
    draft: Option<&'a Json>,
    traceparent: Option<&'a str>,
    note: Option<NoteBody<'a>>,
}

/// What the worker says who handed the job over.
#[derive(Serialize)]
struct NoteBody<'a> {
    text: &'a str,
    from: Option<&'a Name>,
    at: Millis,
}

impl<'a> HandoutBody<'a> {
    pub fn new(handout: &'a store::Handout, now: Millis) -> Self {
        let id = &handout.reservation.job;
        let expires_in_ms = handout.deadline.since(now);
        Self {
            id,
            queue: &id.queue,
            payload: &handout.payload,
            reservation: handout.reservation.reveal(),
            attempt: handout.attempt,
            expires_in_ms,
            warn_in_ms: expires_in_ms.saturating_sub(handout.warn_ms.into()),
            reserved_at: handout.reserved_at,
            priority: handout.priority,
            client: handout.client.as_ref(),
            locks: &handout.locks,
            batch: handout.batch.as_ref(),
            worker: handout.worker.as_ref(),
            enqueued_at: handout.enqueued_at,
            resumed: handout.resumes > 0,
            resumes: handout.resumes,
            draft: handout.draft.as_ref(),
            traceparent: handout.traceparent.as_deref(),
            note: handout.note.as_ref().map(|note| NoteBody {
                text: &note.text,
                from: note.from.as_ref(),
                at: note.at,
            }),
        }
    }
}

/// Everything about one job except its reservation.
#[derive(Serialize)]
pub struct JobBody<'a> {
    id: &'a JobId,
    queue: &'a QueueName,
    #[serde(flatten)]
    job: &'a store::Job,
}

impl<'a> JobBody<'a> {
    pub fn new(job: &'a store::Job) -> Self {
        Self { id: &job.id, queue: &job.id.queue, job }
    }
}

#[derive(Serialize)]
pub struct JobPageBody<'a> {
    pub jobs: Vec<JobBody<'a>>,
    pub next: Option<store::Cursor>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<store::Cursor>,
    pub looked: u64,
    #[serde(skip_serializing_if = "ForgottenBody::is_none")]
    pub forgotten: ForgottenBody,
}

/// How many ended jobs after the cursor were removed; `null` when that is not known.
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
