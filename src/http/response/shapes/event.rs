//! Events of jobs, batches and queues.

use serde::Serialize;

use super::{CompletedBy, Displayed, Rfc3339, name};
use crate::{
    job::{BatchId, EventKind, JobId, QueueName},
    store::{self, Position, Subject},
};

#[derive(Serialize)]
pub struct EventBody<'a> {
    #[serde(rename = "type")]
    kind: EventKind,
    queue: &'a str,
    job: Option<Displayed<&'a JobId>>,
    batch: Option<Displayed<BatchId>>,
    worker: Option<&'a str>,
    client: Option<&'a str>,
    by: Option<&'a str>,
    reason: Option<&'a str>,
    completed: Option<CompletedBy<'a>>,
    at: Rfc3339,
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
            queue: event.queue.as_str(),
            job: job.map(Displayed),
            batch: batch.map(Displayed),
            worker: name(event.worker.as_ref()),
            client: name(event.client.as_ref()),
            by: name(event.by.as_ref()),
            reason: Some(event.note.as_str()).filter(|note| !note.is_empty()),
            completed: event.completed.as_ref().map(CompletedBy::new),
            at: event.time().into(),
        }
    }
}

#[derive(Serialize)]
pub struct JobHistoryBody<'a> {
    pub events: Vec<EventBody<'a>>,
    pub next: Option<Displayed<Position>>,
    pub whole: bool,
}

#[derive(Serialize)]
pub struct RecentEventsBody<'a> {
    events: Vec<EventBody<'a>>,
    next: Option<Displayed<Position>>,
}

impl<'a> RecentEventsBody<'a> {
    pub fn new(recent: &'a store::Recent) -> Self {
        Self { events: recent.events.iter().map(EventBody::new).collect(), next: recent.next.map(Displayed) }
    }
}

/// The queue of a `gap` or `unavailable` message.
#[derive(Serialize)]
pub struct QueueNameBody {
    pub queue: Displayed<QueueName>,
}
