//! Events of jobs, batches and queues.

use serde::Serialize;

use crate::{
    job::{BatchId, EventKind, JobId, Millis, Name, QueueName, WorkerAccess},
    store::{self, Position, Subject},
};

#[derive(Serialize)]
pub struct EventBody<'a> {
    #[serde(rename = "type")]
    kind: EventKind,
    queue: &'a QueueName,
    job: Option<&'a JobId>,
    batch: Option<BatchId>,
    worker: Option<&'a Name>,
    access: Option<&'a WorkerAccess>,
    client: Option<&'a Name>,
    by: Option<&'a Name>,
    reason: Option<&'a str>,
    completed: Option<&'a store::Completed>,
    at: Millis,
}

impl<'a> EventBody<'a> {
    pub fn new(event: &'a store::Event) -> Self {
        let (job, batch) = match &event.subject {
            Subject::Job(job) => (Some(job), None),
            Subject::Member(job) => (Some(job), Some(job.batch())),
            Subject::Batch(batch) => (None, Some(batch.clone())),
            Subject::Queue => (None, None),
        };
        Self {
            kind: event.kind,
            queue: &event.queue,
            job,
            batch,
            worker: event.worker.as_ref(),
            access: event.access.as_ref(),
            client: event.client.as_ref(),
            by: event.by.as_ref(),
            reason: event.reason(),
            completed: event.completed.as_ref(),
            at: event.time(),
        }
    }
}

#[derive(Serialize)]
pub struct JobHistoryBody<'a> {
    pub events: Vec<EventBody<'a>>,
    pub next: Option<Position>,
    pub whole: bool,
}

#[derive(Serialize)]
pub struct RecentEventsBody<'a> {
    events: Vec<EventBody<'a>>,
    next: Option<Position>,
}

impl<'a> RecentEventsBody<'a> {
    pub fn new(recent: &'a store::Recent) -> Self {
        Self { events: recent.events.iter().map(EventBody::new).collect(), next: recent.next }
    }
}

/// The queue of a `gap` or `unavailable` message.
#[derive(Serialize)]
pub struct QueueNameBody {
    pub queue: QueueName,
}
