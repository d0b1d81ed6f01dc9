//! The events of one job in the stream of its queue.

use intray_redis::Fault;

use crate::{
    handle::Queues,
    job::{JobId, QueueName},
    redis::read::Fields,
    views::events::{Event, EventLimit, EventPage, Position, Subject},
};

/// A page of the events of a job, in order.
#[derive(Debug)]
pub struct JobHistory {
    pub events: Vec<Event>,
    /// Where the next page begins, if there may be more.
    pub next: Option<Position>,
    /// The stream goes back to before the job was enqueued.
    pub complete: bool,
}

/// Reads of the stream in one call.
const READS: usize = 20;
/// Events that one call reads, except for those of the last read.
const MAX_EVENTS_LOOKED_AT: usize = 5_000;
/// How far the stamps of a queue may be ahead of its stream, if jobs arrive faster than there are stamps in a ms.
const MAX_STAMP_LEAD_MS: u64 = 1_000;

impl Queues {
    /// A page of the events of a job. `None`: there is no such job.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn job_history(&self, id: &JobId, after: Option<Position>) -> Result<Option<JobHistory>, Fault> {
        let Some(job) = self.job(id.clone()).await? else { return Ok(None) };
        let begin = Position { ms: job.enqueued_at.0.saturating_sub(MAX_STAMP_LEAD_MS), ..Position::default() };
        let complete = self.is_kept_since(&id.queue, begin).await?;
        let (mut events, mut at, mut looked) = (Vec::new(), after.unwrap_or(begin).max(begin), 0);
        for _ in 0..READS {
            let EventPage { events: part, more, .. } = self.events_after(&id.queue, at, EventLimit::LARGE).await?;
            looked += part.len();
            at = part.last().map_or(at, |last| last.at);
            events.extend(part.into_iter().filter(|event| concerns_job(event, id)));
            if !more {
                return Ok(Some(JobHistory { events, next: None, complete }));
            }
            if looked >= MAX_EVENTS_LOOKED_AT {
                break;
            }
        }
        Ok(Some(JobHistory { events, next: Some(at), complete }))
    }

    /// Whether the stream goes back to a position, or has dropped nothing.
    async fn is_kept_since(&self, queue: &QueueName, position: Position) -> Result<bool, Fault> {
        let mut command = redis::cmd("XRANGE");
        command.arg(self.parts.runner.keys.of(queue, "events")).arg("-").arg("+").arg("COUNT").arg(1);
        let answered = self.parts.runner.plain(&command).await?;
        let mut entries = Fields::of(&answered)?;
        if !entries.is_done() && Position::of_entry(&entries.list()?.text()?)? <= position {
            return Ok(true);
        }
        self.is_untrimmed(queue).await
    }
}

fn concerns_job(event: &Event, id: &JobId) -> bool {
    match &event.subject {
        Subject::Job(job) | Subject::Member(job) => job == id,
        Subject::Batch(_) | Subject::Queue => false,
    }
}
