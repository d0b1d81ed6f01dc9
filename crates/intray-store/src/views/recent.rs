//! The latest events of a queue, newest first.

use intray_redis::Fault;

use crate::{
    handle::Queues,
    job::QueueName,
    redis::read::Fields,
    views::events::{Event, Position, read_entry},
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
        let mut end = before.map_or_else(|| "+".to_owned(), |before| format!("{}-{}", before.ms, before.sequence));
        let (mut events, mut next) = (Vec::new(), None);
        for _ in 0..READS {
            let mut command = redis::cmd("XREVRANGE");
            command.arg(self.parts.runner.keys.of(queue, "events")).arg(&end).arg("-").arg("COUNT").arg(ENTRIES);
            let answered = self.parts.runner.plain(&command).await?;
            let (mut count, entries) = (0, Fields::of(&answered)?);
            for entry in entries.lists() {
                count += 1;
                let mut together = Vec::new();
                let at = read_entry(queue, entry?, &mut together)?;
                end = format!("({}-{}", at.ms, at.sequence);
                next = Some(at);
                events.extend(together.into_iter().rev().filter(is_older));
            }
            if count < ENTRIES {
                next = None;
                break;
            }
            if events.len() > limit {
                break;
            }
        }
        if events.len() > limit {
            events.truncate(limit);
            next = events.last().map(|event: &Event| event.at);
        }
        Ok(Recent { events, next })
    }
}
