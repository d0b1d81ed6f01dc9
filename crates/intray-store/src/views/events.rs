//! The event stream of a queue.

mod entry;

use intray_redis::Fault;

pub(super) use self::entry::read_entry;
use crate::job::{BatchId, CancelReason, EventKind, JobId, Millis, Name, QueueName, WorkerAccess};
use crate::{
    handle::Queues,
    layout::ended::Completed,
    record_fields::event_fields,
    redis::read::{Fields, broken},
};

/// One event.
#[derive(Debug, Clone)]
pub struct Event {
    pub queue: QueueName,
    pub at: Position,
    pub kind: EventKind,
    pub subject: Subject,
    pub worker: Option<Name>,
    pub client: Option<Name>,
    /// The owner of the key of the call.
    pub by: Option<Name>,
    /// A reason, an error or a cause; may be empty.
    pub note: String,
    /// For completions only.
    pub completed: Option<Completed>,
    /// How a completion of an overdue reservation, which no other event ends, is counted: `Expired` or `Abandoned`.
    pub ended_as: Option<EventKind>,
    /// For an abandon only.
    pub given_back: Option<GivenBack>,
    /// The credential by which the worker got the reservation; for a reservation only, and not for one of an earlier version.
    pub access: Option<WorkerAccess>,
}

impl Event {
    /// By the clock of Redis.
    pub fn time(&self) -> Millis {
        Millis(self.at.ms)
    }

    /// Details about it; a cancelled job always has some.
    pub fn reason(&self) -> Option<&str> {
        let note = Some(self.note.as_str()).filter(|note| !note.is_empty());
        note.or_else(|| (self.kind == EventKind::Cancelled).then(|| CancelReason::Withdrawn.word()))
    }
}

/// How a job was given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GivenBack {
    /// Its worker never had it.
    Undelivered,
    /// Its worker does not want it again.
    Skipped,
    Abandoned,
}

/// The subject of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    Job(JobId),
    /// A job of a batch.
    Member(JobId),
    Batch(BatchId),
    Queue,
}

/// A position in the stream: an entry of Redis, and an event in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Position {
    pub ms: u64,
    pub sequence: u64,
    pub index: u32,
}

impl Position {
    /// The index of a reader that has read all of an entry.
    pub const WHOLE_ENTRY: u32 = event_fields::WHOLE_ENTRY;

    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let (ms, sequence) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let index = parts.next()?.parse().ok()?;
        parts.next().is_none().then_some(Self { ms, sequence, index })
    }

    pub(super) fn of_entry(text: &str) -> Result<Self, Fault> {
        Self::parse(&format!("{text}-0")).ok_or_else(|| broken("the id of an entry"))
    }
}

impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}-{}", self.ms, self.sequence, self.index)
    }
}

crate::job::serialize_displayed!(Position);

/// A page of events, in order.
#[derive(Debug)]
pub struct EventPage {
    pub events: Vec<Event>,
    /// There are more events after this page.
    pub more: bool,
    pub reached: Position,
    /// No event is missing between the position and the first of these.
    pub complete: bool,
}

/// The limits of one read.
#[derive(Debug, Clone, Copy)]
pub struct EventLimit {
    /// At least two: the entry of the position may have no more events.
    pub entries: usize,
    pub events: usize,
}

impl EventLimit {
    /// For a reader that does not keep the events.
    pub const LARGE: Self = Self { entries: 200, events: usize::MAX };
}

impl Queues {
    /// A page of the events after a position.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn events_after(
        &self,
        queue: &QueueName,
        position: Position,
        part: EventLimit,
    ) -> Result<EventPage, Fault> {
        let from = format!("{}-{}", position.ms, position.sequence);
        let mut command = redis::cmd("XRANGE");
        command.arg(self.parts.runner.keys.of(queue, "events")).arg(from).arg("+").arg("COUNT").arg(part.entries);
        let answered = self.parts.runner.plain(&command).await?;
        let entries = Fields::of(&answered)?;
        let (mut events, mut count, mut first, mut reached) = (Vec::new(), 0, None, position);
        for entry in entries.lists() {
            count += 1;
            let at = read_entry(queue, entry?, &mut events)?;
            first.get_or_insert(at);
            reached = reached.max(Position { index: u32::MAX, ..at });
            events.retain(|event: &Event| event.at > position);
            if events.len() > part.events {
                break;
            }
        }
        let is_cut = events.len() > part.events;
        if is_cut {
            events.truncate(part.events);
            reached = events.last().map_or(position, |event| event.at);
        }
        let complete = match first {
            Some(first) => {
                (first.ms, first.sequence) == (position.ms, position.sequence)
                    || self.remembers(queue, position).await?
            }
            None => position == Position::default() || self.remembers(queue, position).await?,
        };
        Ok(EventPage { events, more: is_cut || count == part.entries, reached, complete })
    }

    /// The end of the stream.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn last_event(&self, queue: &QueueName) -> Result<Position, Fault> {
        let mut command = redis::cmd("XREVRANGE");
        command.arg(self.parts.runner.keys.of(queue, "events")).arg("+").arg("-").arg("COUNT").arg(1);
        let answered = self.parts.runner.plain(&command).await?;
        let mut entries = Fields::of(&answered)?;
        if entries.is_done() {
            return Ok(Position::default());
        }
        let position = Position::of_entry(&entries.list()?.text()?)?;
        Ok(Position { index: u32::MAX, ..position })
    }

    /// Whether all events since a position are still kept.
    async fn remembers(&self, queue: &QueueName, position: Position) -> Result<bool, Fault> {
        if position == Position::default() {
            return self.is_untrimmed(queue).await;
        }
        let id = format!("{}-{}", position.ms, position.sequence);
        let mut command = redis::cmd("XRANGE");
        command.arg(self.parts.runner.keys.of(queue, "events")).arg(&id).arg(&id);
        Ok(!Fields::of(&self.parts.runner.plain(&command).await?)?.is_done())
    }

    /// Whether the stream still has its first entry.
    pub(super) async fn is_untrimmed(&self, queue: &QueueName) -> Result<bool, Fault> {
        let mut command = redis::cmd("XINFO");
        command.arg("STREAM").arg(self.parts.runner.keys.of(queue, "events"));
        let answered = match self.parts.runner.plain(&command).await {
            Err(Fault::Broken(_)) => return Ok(true), // there is no stream
            answer => answer?,
        };
        let mut fields = Fields::of(&answered)?;
        let (mut kept, mut added) = (0, 0);
        while !fields.is_done() {
            match fields.text()?.as_str() {
                "length" => kept = fields.count()?,
                "entries-added" => added = fields.count()?,
                _ => fields.skip(),
            }
        }
        Ok(added <= kept)
    }
}
