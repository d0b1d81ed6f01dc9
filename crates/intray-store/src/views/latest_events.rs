//! Walks through the event stream of a queue from its end.

use intray_redis::Fault;

use crate::{
    handle::Queues,
    job::QueueName,
    redis::read::Fields,
    views::events::{Event, Position, read_entry},
};

/// A walk backwards. An entry holds all events of one script.
pub(super) struct LatestEvents<'a> {
    queues: &'a Queues,
    queue: &'a QueueName,
    /// Entries of one read.
    entries: usize,
    end: String,
    /// The last entry that was read.
    pub reached: Option<Position>,
    /// There are no earlier events.
    pub is_over: bool,
}

impl<'a> LatestEvents<'a> {
    /// From the entry of a position, or from the end of the stream.
    pub fn new(queues: &'a Queues, queue: &'a QueueName, from: Option<Position>, entries: usize) -> Self {
        let end = from.map_or_else(|| "+".to_owned(), |from| format!("{}-{}", from.ms, from.sequence));
        Self { queues, queue, entries, end, reached: None, is_over: false }
    }

    /// The events of the next entries, newest first. Entries of a newer version may have none that this one knows.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn read(&mut self) -> Result<Vec<Event>, Fault> {
        let runner = &self.queues.parts.runner;
        let mut command = redis::cmd("XREVRANGE");
        command.arg(runner.keys.of(self.queue, "events")).arg(&self.end).arg("-").arg("COUNT").arg(self.entries);
        let answered = runner.plain(&command).await?;
        let (mut events, mut count) = (Vec::new(), 0);
        for entry in Fields::of(&answered)?.lists() {
            count += 1;
            let mut together = Vec::new();
            let at = read_entry(self.queue, entry?, &mut together)?;
            self.end = format!("({}-{}", at.ms, at.sequence);
            self.reached = Some(at);
            events.extend(together.into_iter().rev());
        }
        self.is_over = count < self.entries;
        Ok(events)
    }
}
