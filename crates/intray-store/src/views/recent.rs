//! The latest events of a queue, newest first.

use intray_redis::Fault;

use crate::{
    handle::Queues,
    job::QueueName,
    views::{
        events::{Event, Position},
        latest_events::LatestEvents,
    },
};

/// A page of events, newest first.
#[derive(Debug)]
pub struct Recent {
    pub events: Vec<Event>,
    /// Older events may be before this position.
    pub next: Option<Position>,
}

/// Entries of one read. An entry holds all events of one script.
const ENTRIES: usize = 20;
/// Reads of the stream in one call. Only entries of a newer version may have no event that this one knows.
const READS: usize = 10;

impl Queues {
    /// The last `limit` events of a queue, or the last ones before a position.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn recent(&self, queue: &QueueName, before: Option<Position>, limit: usize) -> Result<Recent, Fault> {
        let is_older = |event: &Event| before.is_none_or(|before| event.at < before);
        let mut latest = LatestEvents::new(self, queue, before, ENTRIES);
        let mut events = Vec::new();
        for _ in 0..READS {
            events.extend(latest.read().await?.into_iter().filter(is_older));
            if latest.is_over || events.len() > limit {
                break;
            }
        }
        let mut next = latest.reached.filter(|_| !latest.is_over);
        if events.len() > limit {
            events.truncate(limit);
            next = events.last().map(|event: &Event| event.at);
        }
        Ok(Recent { events, next })
    }
}
