//! A queue as an operator sees it, with its reservations and locks.

use serde::Serialize;

use super::{BackoffBody, Displayed, Rfc3339, name};
use crate::{
    job::{JobId, Millis, QueueName},
    store,
};

#[derive(Serialize)]
pub struct QueueListBody<'a> {
    pub queues: Vec<QueueBody<'a>>,
    pub next: Option<Displayed<QueueName>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unavailable: Vec<&'a str>,
}

#[derive(Serialize)]
pub struct QueueBody<'a> {
    name: &'a str,
    counts: &'a store::StateCounts,
    oldest_waiting_ms: Option<u64>,
    reservations: ReservationCountsBody,
    settings: SettingsBody,
    totals: &'a store::Totals,
}

#[derive(Serialize)]
struct ReservationCountsBody {
    live: u64,
    overdue: u64,
    soonest_expires_in_ms: Option<u64>,
}

#[derive(Serialize)]
pub struct SettingsBody {
    paused: bool,
    lease_ms: u32,
    max_hold_ms: u32,
    warn_ms: u32,
    max_attempts: u32,
    backoff: Option<BackoffBody>,
    dedupe: bool,
    worker_limit: u32,
    share_drafts: bool,
    retention_ms: u32,
    retention_max: u32,
    max_jobs: u32,
}

impl<'a> QueueBody<'a> {
    pub fn new(info: &'a store::QueueInfo) -> Self {
        Self {
            name: info.name.as_str(),
            counts: &info.counts,
            oldest_waiting_ms: info.oldest_waiting_ms,
            reservations: ReservationCountsBody {
                live: info.live,
                overdue: info.overdue,
                soonest_expires_in_ms: info.soonest_expires_in_ms,
            },
            settings: SettingsBody::new(&info.settings),
            totals: &info.totals,
        }
    }
}

impl SettingsBody {
    pub fn new(set: &store::Settings) -> Self {
        Self {
            paused: set.paused,
            lease_ms: set.lease_ms,
            max_hold_ms: set.max_hold_ms,
            warn_ms: set.warn_ms,
            max_attempts: set.max_attempts,
            backoff: BackoffBody::new(set.backoff),
            dedupe: set.dedupe,
            worker_limit: set.worker_limit,
            share_drafts: set.share_drafts,
            retention_ms: set.retention_ms,
            retention_max: set.retention_max,
            max_jobs: set.max_jobs,
        }
    }
}

#[derive(Serialize)]
pub struct ReservationsBody<'a> {
    pub reservations: Vec<ReservationBody<'a>>,
    pub server_time: Rfc3339,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unavailable: Vec<&'a str>,
}

/// A reservation of a worker.
#[derive(Serialize)]
pub struct ReservationBody<'a> {
    id: Displayed<&'a JobId>,
    /// Present for the worker's own token only.
    reservation: Option<String>,
    queue: &'a str,
    worker: Option<&'a str>,
    reserved_at: Rfc3339,
    expires_at: Rfc3339,
    expires_in_ms: u64,
    resumes: u32,
}

impl<'a> ReservationBody<'a> {
    pub fn new(held: &'a store::Held, now: Millis, is_own: bool) -> Self {
        Self {
            id: Displayed(&held.id),
            reservation: is_own.then(|| held.reservation.reveal()),
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
pub struct WorkerPageBody<'a> {
    pub workers: Vec<WorkerBody<'a>>,
    pub next: Option<Displayed<store::Cursor>>,
    pub server_time: Rfc3339,
}

#[derive(Serialize)]
pub struct WorkerBody<'a> {
    worker: Option<&'a str>,
    jobs: Vec<HeldJobBody<'a>>,
}

#[derive(Serialize)]
pub struct HeldJobBody<'a> {
    id: Displayed<&'a JobId>,
    reserved_at: Rfc3339,
    expires_at: Rfc3339,
    expires_in_ms: u64,
    resumes: u32,
}

impl<'a> HeldJobBody<'a> {
    pub fn new(held: &'a store::Held, now: Millis) -> Self {
        Self {
            id: Displayed(&held.id),
            reserved_at: held.reserved_at.into(),
            expires_at: held.deadline.into(),
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
        same.map(|held| Self { worker: name(held[0].worker.as_ref()), jobs: held.iter().map(job).collect() }).collect()
    }
}

#[derive(Serialize)]
pub struct LockPageBody<'a> {
    pub locks: Vec<LockBody<'a>>,
    pub next: Option<Displayed<store::Cursor>>,
    pub server_time: Rfc3339,
}

/// A held lock, with the job that holds it.
#[derive(Serialize)]
pub struct LockBody<'a> {
    lock: &'a str,
    id: Displayed<&'a JobId>,
    worker: Option<&'a str>,
    reserved_at: Rfc3339,
    expires_at: Rfc3339,
    expires_in_ms: u64,
    blocked: u64,
}

impl<'a> LockBody<'a> {
    pub fn new(lock: &'a store::HeldLock, now: Millis) -> Self {
        let held = &lock.held;
        Self {
            lock: lock.lock.as_str(),
            id: Displayed(&held.id),
            worker: name(held.worker.as_ref()),
            reserved_at: held.reserved_at.into(),
            expires_at: held.deadline.into(),
            expires_in_ms: held.deadline.since(now),
            blocked: lock.blocked,
        }
    }
}
