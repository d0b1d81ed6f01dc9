//! A queue as an operator sees it, and who holds what of it.

use serde::Serialize;

use super::{Backoff, Text, Time, name};
use crate::{
    job::{JobId, Millis, QueueName},
    store,
};

#[derive(Serialize)]
pub struct QueueList<'a> {
    pub queues: Vec<Queue<'a>>,
    pub next: Option<Text<QueueName>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unavailable: Vec<&'a str>,
}

#[derive(Serialize)]
pub struct Queue<'a> {
    name: &'a str,
    counts: &'a store::StateCounts,
    oldest_waiting_ms: Option<u64>,
    reservations: LiveAndOverdue,
    settings: Settings,
    totals: &'a store::Totals,
}

#[derive(Serialize)]
struct LiveAndOverdue {
    live: u64,
    overdue: u64,
    soonest_expires_in_ms: Option<u64>,
}

#[derive(Serialize)]
pub struct Settings {
    paused: bool,
    lease_ms: u32,
    max_hold_ms: u32,
    warn_ms: u32,
    max_attempts: u32,
    backoff: Option<Backoff>,
    dedupe: bool,
    worker_limit: u32,
    share_drafts: bool,
    retention_ms: u32,
    retention_max: u32,
    max_jobs: u32,
}

impl<'a> Queue<'a> {
    pub fn new(info: &'a store::QueueInfo) -> Self {
        Self {
            name: info.name.as_str(),
            counts: &info.counts,
            oldest_waiting_ms: info.oldest_waiting_ms,
            reservations: LiveAndOverdue {
                live: info.live,
                overdue: info.overdue,
                soonest_expires_in_ms: info.soonest_expires_in_ms,
            },
            settings: Settings::new(&info.settings),
            totals: &info.totals,
        }
    }
}

impl Settings {
    pub fn new(set: &store::Settings) -> Self {
        Self {
            paused: set.paused,
            lease_ms: set.lease_ms,
            max_hold_ms: set.max_hold_ms,
            warn_ms: set.warn_ms,
            max_attempts: set.max_attempts,
            backoff: Backoff::new(set.backoff),
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
pub struct Reservations<'a> {
    pub reservations: Vec<Reservation<'a>>,
    pub server_time: Time,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unavailable: Vec<&'a str>,
}

/// What somebody holds.
#[derive(Serialize)]
pub struct Reservation<'a> {
    id: Text<&'a JobId>,
    /// For nobody but its own worker.
    reservation: Option<String>,
    queue: &'a str,
    worker: Option<&'a str>,
    reserved_at: Time,
    expires_at: Time,
    expires_in_ms: u64,
    resumes: u32,
}

impl<'a> Reservation<'a> {
    pub fn new(held: &'a store::Held, now: Millis, is_own: bool) -> Self {
        Self {
            id: Text(&held.id),
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
pub struct WorkerPage<'a> {
    pub workers: Vec<Worker<'a>>,
    pub next: Option<Text<store::Cursor>>,
    pub server_time: Time,
}

#[derive(Serialize)]
pub struct Worker<'a> {
    worker: Option<&'a str>,
    jobs: Vec<HeldJob<'a>>,
}

#[derive(Serialize)]
pub struct HeldJob<'a> {
    id: Text<&'a JobId>,
    reserved_at: Time,
    expires_at: Time,
    expires_in_ms: u64,
    resumes: u32,
}

impl<'a> HeldJob<'a> {
    pub fn new(held: &'a store::Held, now: Millis) -> Self {
        Self {
            id: Text(&held.id),
            reserved_at: held.reserved_at.into(),
            expires_at: held.deadline.into(),
            expires_in_ms: held.deadline.since(now),
            resumes: held.resumes,
        }
    }
}

impl<'a> Worker<'a> {
    /// What lies together by worker already, an entry per worker.
    pub fn each(held: &'a [store::Held], now: Millis) -> Vec<Self> {
        let job = |held: &'a store::Held| HeldJob::new(held, now);
        let same = held.chunk_by(|one, next| one.worker == next.worker);
        same.map(|held| Self { worker: name(held[0].worker.as_ref()), jobs: held.iter().map(job).collect() }).collect()
    }
}

#[derive(Serialize)]
pub struct LockPage<'a> {
    pub locks: Vec<Lock<'a>>,
    pub next: Option<Text<store::Cursor>>,
    pub server_time: Time,
}

/// A lock that somebody holds, by the job that they hold.
#[derive(Serialize)]
pub struct Lock<'a> {
    lock: &'a str,
    id: Text<&'a JobId>,
    worker: Option<&'a str>,
    reserved_at: Time,
    expires_at: Time,
    expires_in_ms: u64,
    blocked: u64,
}

impl<'a> Lock<'a> {
    pub fn new(lock: &'a store::HeldLock, now: Millis) -> Self {
        let held = &lock.held;
        Self {
            lock: lock.lock.as_str(),
            id: Text(&held.id),
            worker: name(held.worker.as_ref()),
            reserved_at: held.reserved_at.into(),
            expires_at: held.deadline.into(),
            expires_in_ms: held.deadline.since(now),
            blocked: lock.blocked,
        }
    }
}
