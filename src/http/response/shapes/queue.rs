//! A queue as an operator sees it, with its reservations and locks.

use serde::Serialize;

use crate::{
    job::{JobId, LockName, Millis, Name, QueueName},
    payload::Json,
    store,
};

#[derive(Serialize)]
pub struct QueueBody<'a> {
    #[serde(flatten)]
    info: &'a store::QueueInfo,
    result_schema: Option<&'a Json>,
    lines: Vec<LineBody>,
}

/// The form of a queue, byte for byte as it was set.
#[derive(Serialize)]
pub struct FormBody<'a> {
    result_schema: Option<&'a Json>,
}

impl<'a> FormBody<'a> {
    pub fn of(form: Option<&'a store::FormText>) -> Self {
        Self { result_schema: form.map(|form| &form.text) }
    }
}

/// A queue after a change of its settings, and whether that has made it.
#[derive(Serialize)]
pub struct ConfiguredBody {
    #[serde(flatten)]
    pub info: store::QueueInfo,
    pub created: bool,
}

/// The answer to `DELETE /queues/{queue}?forget=true`.
#[derive(Serialize)]
pub struct ForgottenQueueBody {
    pub forgotten: bool,
}

#[derive(Serialize)]
struct LineBody {
    line: String,
    waiting: u64,
    oldest_ms: u64,
}

impl<'a> QueueBody<'a> {
    pub fn new(info: &'a store::QueueInfo, lines: &[store::LineCount], form: Option<&'a store::FormText>) -> Self {
        let line = |of: &store::LineCount| LineBody {
            line: of.line.to_string(),
            waiting: of.waiting,
            oldest_ms: of.oldest_ms,
        };
        let result_schema = FormBody::of(form).result_schema;
        Self { info, result_schema, lines: lines.iter().map(line).collect() }
    }
}

#[derive(Serialize)]
pub struct ReservationsBody<'a> {
    pub reservations: Vec<ReservationBody<'a>>,
    pub server_time: Millis,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub unavailable: &'a [QueueName],
}

/// A reservation of a worker.
#[derive(Serialize)]
pub struct ReservationBody<'a> {
    id: &'a JobId,
    /// Present for the worker's own token only.
    reservation: Option<String>,
    queue: &'a QueueName,
    worker: Option<&'a Name>,
    reserved_at: Millis,
    expires_at: Millis,
    expires_in_ms: u64,
    resumes: u32,
}

impl<'a> ReservationBody<'a> {
    pub fn new(held: &'a store::Held, now: Millis, is_own: bool) -> Self {
        Self {
            id: &held.id,
            reservation: is_own.then(|| held.reservation.reveal()),
            queue: &held.id.queue,
            worker: held.worker.as_ref(),
            reserved_at: held.reserved_at,
            expires_at: held.deadline,
            expires_in_ms: held.deadline.since(now),
            resumes: held.resumes,
        }
    }
}

#[derive(Serialize)]
pub struct WorkerPageBody<'a> {
    pub workers: Vec<WorkerBody<'a>>,
    pub next: Option<store::Cursor>,
    pub server_time: Millis,
}

#[derive(Serialize)]
pub struct WorkerBody<'a> {
    worker: Option<&'a Name>,
    jobs: Vec<HeldJobBody<'a>>,
}

#[derive(Serialize)]
pub struct HeldJobBody<'a> {
    id: &'a JobId,
    reserved_at: Millis,
    expires_at: Millis,
    expires_in_ms: u64,
    resumes: u32,
}

impl<'a> HeldJobBody<'a> {
    pub fn new(held: &'a store::Held, now: Millis) -> Self {
        Self {
            id: &held.id,
            reserved_at: held.reserved_at,
            expires_at: held.deadline,
            expires_in_ms: held.deadline.since(now),
            resumes: held.resumes,
        }
    }
}

impl<'a> WorkerBody<'a> {
    /// One entry per worker; `held` is sorted by worker already.
    pub fn each(held: &'a [store::Held], now: Millis) -> Vec<Self> {
        let job = |held: &'a store::Held| HeldJobBody::new(held, now);
        let same = held.chunk_by(|one, next| one.worker == next.worker);
        same.map(|held| Self { worker: held[0].worker.as_ref(), jobs: held.iter().map(job).collect() }).collect()
    }
}

#[derive(Serialize)]
pub struct LockPageBody<'a> {
    pub locks: Vec<LockBody<'a>>,
    pub next: Option<store::Cursor>,
    pub server_time: Millis,
}

/// A held lock, with the job that holds it.
#[derive(Serialize)]
pub struct LockBody<'a> {
    lock: &'a LockName,
    id: &'a JobId,
    worker: Option<&'a Name>,
    reserved_at: Millis,
    expires_at: Millis,
    expires_in_ms: u64,
    blocked: u64,
}

impl<'a> LockBody<'a> {
    pub fn new(lock: &'a store::HeldLock, now: Millis) -> Self {
        let held = &lock.held;
        Self {
            lock: &lock.lock,
            id: &held.id,
            worker: held.worker.as_ref(),
            reserved_at: held.reserved_at,
            expires_at: held.deadline,
            expires_in_ms: held.deadline.since(now),
            blocked: lock.blocked,
        }
    }
}
