//! A transition, as `GET /events` tells it.

use serde::Serialize;

use super::{CompletedBy, Text, Time, name};
use crate::{
    job::{BatchId, EventKind, JobId, QueueName},
    store::{self, Position, Subject},
};

#[derive(Serialize)]
pub struct Event<'a> {
    #[serde(rename = "type")]
    kind: EventKind,
    queue: &'a str,
    job: Option<Text<&'a JobId>>,
    batch: Option<Text<BatchId>>,
    worker: Option<&'a str>,
    client: Option<&'a str>,
    by: Option<&'a str>,
    reason: Option<&'a str>,
    completed: Option<CompletedBy<'a>>,
    at: Time,
}

impl<'a> Event<'a> {
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
            job: job.map(Text),
            batch: batch.map(Text),
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
pub struct Story<'a> {
    pub events: Vec<Event<'a>>,
    pub next: Option<Text<Position>>,
    pub whole: bool,
}

#[derive(Serialize)]
pub struct Recent<'a> {
    events: Vec<Event<'a>>,
    next: Option<Text<Position>>,
}

impl<'a> Recent<'a> {
    pub fn new(recent: &'a store::Recent) -> Self {
        Self { events: recent.events.iter().map(Event::new).collect(), next: recent.next.map(Text) }
    }
}

/// Some events of a queue are not kept any more, or its node is away.
#[derive(Serialize)]
pub struct OfQueue {
    pub queue: Text<QueueName>,
}
