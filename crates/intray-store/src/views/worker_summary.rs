//! What a worker holds, and how their last reservations ended.

use std::collections::BTreeSet;

use intray_redis::Fault;

use crate::{
    handle::Queues,
    job::{Code, EventKind, Millis, Name, QueueName, limits},
    views::{
        events::{Event, GivenBack, Subject},
        inspect::Held,
        latest_events::LatestEvents,
    },
};

/// Entries of one read, and reads of one queue. An entry holds all events of one script.
const ENTRIES: usize = 100;
const READS: usize = 10;

/// A worker in some queues.
#[derive(Debug, Default)]
pub struct WorkerSummary {
    /// The oldest first.
    pub held: Vec<Held>,
    /// The newest first.
    pub ended: Vec<Event>,
    /// Reservations that ended earlier may be missing; `None`: all that the kept events know are there.
    pub since: Option<Millis>,
    /// `None`: no queue was read.
    pub now: Option<Millis>,
    /// The queues that were read.
    pub queues: Vec<QueueName>,
    /// There are more queues after this one.
    pub next: Option<QueueName>,
    /// Queues whose node is away.
    pub unavailable: Vec<QueueName>,
}

/// The same of one queue.
struct InQueue {
    held: Vec<Held>,
    now: Millis,
    ended: Vec<Event>,
    since: Option<Millis>,
}

impl Queues {
    /// A worker in the next queues that `sees` allows.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn worker_summary(
        &self,
        worker: &Name,
        after: Option<&QueueName>,
        sees: impl Fn(&QueueName) -> bool,
    ) -> Result<WorkerSummary, Fault> {
        let mut names = self.names().await?;
        names.retain(|queue| sees(queue) && after.is_none_or(|after| queue > after));
        let more = names.len() > limits::SUMMARY_QUEUES;
        names.truncate(limits::SUMMARY_QUEUES);
        let (there, mut away) = self.ask_each(names.iter().map(|queue| (queue, self.in_queue(queue, worker)))).await?;
        if there.is_empty()
            && let Some((_, fault)) = away.pop()
        {
            return Err(fault);
        }
        let next = names.pop().filter(|_| more);
        let unavailable = away.into_iter().map(|(queue, _)| queue).collect();
        let mut found = WorkerSummary { next, unavailable, ..WorkerSummary::default() };
        for (queue, part) in there {
            found.add(queue, part);
        }
        found.held.sort_by_key(|held| held.reserved_at);
        found.cut();
        Ok(found)
    }

    async fn in_queue(&self, queue: &QueueName, worker: &Name) -> Result<InQueue, Fault> {
        let (held, now, _) = self.reservations(std::slice::from_ref(queue), worker).await?;
        let mut latest = LatestEvents::new(self, queue, None, ENTRIES);
        let (mut ended, mut later) = (Vec::new(), LaterEvents::default());
        for _ in 0..READS {
            let events = latest.read().await?;
            let own = events.into_iter().filter(|event| event.worker.as_ref() == Some(worker));
            ended.extend(own.filter(|event| later.ends_reservation(event)));
            if latest.is_over || ended.len() > limits::SUMMARY_ENDED {
                break;
            }
        }
        let since = latest.reached.filter(|_| !latest.is_over).map(|reached| Millis(reached.ms));
        Ok(InQueue { held, now, ended, since })
    }
}

impl WorkerSummary {
    fn add(&mut self, queue: QueueName, part: InQueue) {
        self.queues.push(queue);
        self.now = self.now.max(Some(part.now));
        self.since = self.since.max(part.since);
        self.held.extend(part.held);
        self.ended.extend(part.ended);
    }

    /// Keeps the last ones of all queues.
    fn cut(&mut self) {
        self.ended.sort_by_key(|event| std::cmp::Reverse(event.at));
        if self.ended.len() > limits::SUMMARY_ENDED {
            self.ended.truncate(limits::SUMMARY_ENDED);
            self.since = self.since.max(self.ended.last().map(Event::time));
        }
    }
}

/// The jobs that the worker has completed for good, or not, by events that are read from the newest on.
#[derive(Default)]
struct LaterEvents(BTreeSet<Code>);

impl LaterEvents {
    /// Whether a reservation of the event's worker ended, that is, the worker had the job. A completion that can be taken back is one
    /// until it is final or taken back.
    fn ends_reservation(&mut self, event: &Event) -> bool {
        let is_known = match &event.subject {
            Subject::Job(id) | Subject::Member(id) if is_completion(event.kind) => !self.0.insert(id.code),
            Subject::Job(_) | Subject::Member(_) | Subject::Batch(_) | Subject::Queue => false,
        };
        if event.kind == EventKind::Closing { !is_known } else { ends_reservation(event) }
    }
}

/// It says something of a completion.
fn is_completion(kind: EventKind) -> bool {
    matches!(kind, EventKind::Closing | EventKind::Undone | EventKind::Completed)
}

/// Whether the worker had the job, and has it no more for good.
fn ends_reservation(event: &Event) -> bool {
    match event.kind {
        EventKind::Abandoned => event.given_back != Some(GivenBack::Undelivered),
        EventKind::Completed
        | EventKind::Failed
        | EventKind::HandedOver
        | EventKind::Expired
        | EventKind::Released
        | EventKind::Cancelled => true,
        EventKind::Paused
        | EventKind::Unpaused
        | EventKind::BatchCompleted
        | EventKind::Closing
        | EventKind::Undone
        | EventKind::Dead
        | EventKind::Enqueued
        | EventKind::Due
        | EventKind::Blocked
        | EventKind::Reserved
        | EventKind::Resumed
        | EventKind::Extended
        | EventKind::SlaBreached
        | EventKind::Fallback
        | EventKind::Requeued
        | EventKind::Changed => false,
    }
}
