//! What happened to one job, out of the stream of its queue, as far as that is kept.

use intray_redis::Fault;

use crate::{
    job::{JobId, QueueName},
    store::{
        handle::Queues,
        redis::read::Fields,
        views::events::{Event, Part, Passage, Position, Subject},
    },
};

/// A part of what happened to a job, in order.
#[derive(Debug)]
pub struct Story {
    pub events: Vec<Event>,
    /// There may be more; where to go on.
    pub next: Option<Position>,
    /// The stream is kept from before the job was there.
    pub whole: bool,
}

/// Reads of the stream in one call, each of a bounded part.
const READS: usize = 20;
/// Transitions that one call looks at, but for those of its last read.
const MOST: usize = 5_000;
/// How far the stamps of a queue may be ahead of its stream, when jobs come faster than a ms has room for.
const AHEAD_MS: u64 = 1_000;

impl Queues {
    /// What happened to a job, a bounded part a call. `None`: there is no such job.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn story(&self, id: &JobId, after: Option<Position>) -> Result<Option<Story>, Fault> {
        let Some(job) = self.job(id.clone()).await? else { return Ok(None) };
        let begin = Position { ms: job.enqueued_at.0.saturating_sub(AHEAD_MS), ..Position::default() };
        let whole = self.is_kept_since(&id.queue, begin).await?;
        let (mut events, mut at, mut looked) = (Vec::new(), after.unwrap_or(begin).max(begin), 0);
        for _ in 0..READS {
            let Passage { events: part, more, .. } = self.events_after(&id.queue, at, Part::LARGE).await?;
            looked += part.len();
            at = part.last().map_or(at, |last| last.at);
            events.extend(part.into_iter().filter(|event| is_of(event, id)));
            if !more {
                return Ok(Some(Story { events, next: None, whole }));
            }
            if looked >= MOST {
                break;
            }
        }
        Ok(Some(Story { events, next: Some(at), whole }))
    }

    /// Whether the first that is kept happened no later, or nothing has been dropped.
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

fn is_of(event: &Event, id: &JobId) -> bool {
    match &event.subject {
        Subject::Job(job) | Subject::Member(job) => job == id,
        Subject::Batch(_) | Subject::Queue => false,
    }
}
