//! Who is at work, and who waits for some.

use serde::Serialize;

use super::{EventBody, HeldJobBody, SheetLineBody};
use crate::{
    job::{Millis, Name, QueueName, Skill, limits},
    sheets::WorkerDays,
    store,
    waiting::WaitInfo,
};

#[derive(Serialize)]
pub struct WorkersBody<'a> {
    held: Vec<HeldBody<'a>>,
    next: Option<&'a store::Cursor>,
    waiting: Vec<WaiterBody<'a>>,
    waiting_total: usize,
    /// `null` where there is no queue to ask.
    server_time: Option<Millis>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    unavailable: &'a [QueueName],
}

#[derive(Serialize)]
struct HeldBody<'a> {
    worker: Option<&'a Name>,
    queue: &'a QueueName,
    #[serde(flatten)]
    job: HeldJobBody<'a>,
}

#[derive(Serialize)]
struct WaiterBody<'a> {
    worker: Option<&'a Name>,
    queues: &'a [QueueName],
    waited_ms: u64,
}

impl<'a> WorkersBody<'a> {
    pub fn new(page: &'a store::DeadlinePage, waiters: &'a [WaitInfo], waiting_total: usize) -> Self {
        let waiter = |waits: &'a WaitInfo| WaiterBody {
            worker: waits.worker.as_ref(),
            queues: &waits.queues,
            waited_ms: u64::try_from(waits.waited.as_millis()).unwrap_or(u64::MAX),
        };
        let now = page.now.unwrap_or(Millis(0));
        let held = |held: &'a store::Held| HeldBody {
            worker: held.worker.as_ref(),
            queue: &held.id.queue,
            job: HeldJobBody::new(held, now),
        };
        Self {
            held: page.held.iter().map(held).collect(),
            next: page.next.as_ref(),
            waiting: waiters.iter().map(waiter).collect(),
            waiting_total,
            server_time: page.now,
            unavailable: &page.unavailable,
        }
    }
}

/// Who has worked in a queue lately, and with which skills.
#[derive(Serialize)]
pub struct RecentWorkersBody<'a> {
    names: Vec<&'a Name>,
    skills: Vec<&'a Skill>,
    /// More are known than are listed.
    more: bool,
}

impl<'a> RecentWorkersBody<'a> {
    pub fn new(found: &'a store::RecentWorkers) -> Self {
        let store::RecentWorkers { names, skills } = found;
        Self {
            names: names.iter().take(limits::RECENT).collect(),
            skills: skills.iter().take(limits::RECENT).collect(),
            more: names.len().max(skills.len()) > limits::RECENT,
        }
    }
}

/// What a worker holds and has done.
#[derive(Serialize)]
pub struct WorkerSummaryBody<'a> {
    worker: &'a Name,
    holds: Vec<HoldBody<'a>>,
    ended: Vec<EventBody<'a>>,
    since: Option<Millis>,
    sheets: Vec<WorkerDaysBody<'a>>,
    next: Option<&'a QueueName>,
    server_time: Option<Millis>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    unavailable: &'a [QueueName],
}

#[derive(Serialize)]
struct HoldBody<'a> {
    queue: &'a QueueName,
    #[serde(flatten)]
    job: HeldJobBody<'a>,
}

#[derive(Serialize)]
struct WorkerDaysBody<'a> {
    queue: &'a QueueName,
    lines: Vec<SheetLineBody<'a>>,
}

impl<'a> WorkerSummaryBody<'a> {
    pub fn new(worker: &'a Name, summary: &'a store::WorkerSummary, sheets: &'a [(QueueName, WorkerDays)]) -> Self {
        let now = summary.now.unwrap_or(Millis(0));
        let hold = |held: &'a store::Held| HoldBody { queue: &held.id.queue, job: HeldJobBody::new(held, now) };
        let days = |(queue, days): &'a (QueueName, WorkerDays)| WorkerDaysBody {
            queue,
            lines: days.iter().map(|(day, line)| SheetLineBody::new(*day, line)).collect(),
        };
        Self {
            worker,
            holds: summary.held.iter().map(hold).collect(),
            ended: summary.ended.iter().map(EventBody::new).collect(),
            since: summary.since,
            sheets: sheets.iter().filter(|(_, days)| !days.is_empty()).map(days).collect(),
            next: summary.next.as_ref(),
            server_time: summary.now,
            unavailable: &summary.unavailable,
        }
    }
}
