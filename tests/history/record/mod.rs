//! A history: what was called and answered, what the streams told, and what was there in the end.

mod ask;
mod event;
mod file;
mod said;

pub use self::{
    ask::{Ask, Job, Request, Settle, Twin, Way},
    event::Event,
    file::{Recorder, read},
    said::{Counts, Refusal, Said},
};

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Microseconds of the load's own monotonic clock.
pub type Moment = u64;

/// One line of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Entry {
    /// How the queues were set before anything else.
    Plan(Vec<Plan>),
    Call(Call),
    Event(Event),
    /// A page of a feed of results, as somebody read it who goes on behind their cursor.
    Feed {
        queue: String,
        ids: Vec<String>,
    },
    /// Something was broken for a while, for those who read the file.
    Fault {
        begin: Moment,
        end: Moment,
        what: String,
    },
    /// A queue, once nobody called any more.
    End(End),
}

/// What a queue was for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    pub queue: String,
    /// 0 is no limit.
    pub worker_limit: usize,
    /// What has ended stays, and nothing is purged.
    pub keeps: bool,
    /// Nobody passes anybody: one priority, and neither delays nor locks nor batches nor picks.
    pub is_line: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    pub begin: Moment,
    pub end: Moment,
    pub ask: Ask,
    pub answer: Answer,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// An entry for each item that was asked for, or for each job that was given.
    Done(Vec<Said>),
    Refused(Refusal),
    /// It may have happened or not: no answer came, or one that says that nobody knows.
    Unknown,
}

/// What a queue held when all was done.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct End {
    pub queue: String,
    /// By state.
    pub counts: BTreeMap<String, u64>,
    pub totals: BTreeMap<String, u64>,
    /// All jobs, those of batches too.
    pub jobs: Vec<Said>,
    /// The completed jobs that belong to no batch, in the order of the feed.
    pub feed: Vec<String>,
    pub batches: Vec<Said>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct History {
    pub plans: Vec<Plan>,
    pub calls: Vec<Call>,
    /// As they were heard.
    pub events: Vec<Event>,
    pub feeds: Vec<(String, Vec<String>)>,
    pub ends: Vec<End>,
}

impl History {
    pub fn add(&mut self, entry: Entry) {
        match entry {
            Entry::Plan(plans) => self.plans = plans,
            Entry::Call(call) => self.calls.push(call),
            Entry::Event(event) => self.events.push(event),
            Entry::Feed { queue, ids } => self.feeds.push((queue, ids)),
            Entry::Fault { .. } => {}
            Entry::End(end) => self.ends.push(end),
        }
    }

    /// What there is to check: items of calls, and events.
    pub fn size(&self) -> usize {
        let items = |call: &Call| match &call.answer {
            Answer::Done(said) => said.len().max(1),
            Answer::Refused(_) | Answer::Unknown => 1,
        };
        self.calls.iter().map(items).sum::<usize>() + self.events.len()
    }
}

/// The queue that a job or a batch is of.
pub fn queue_of(id: &str) -> &str {
    &id[..id.len() - 27]
}

/// The job that a reservation is of.
pub fn job_of(reservation: &str) -> &str {
    reservation.rsplit_once('.').map_or(reservation, |(job, _)| job)
}

/// The batch that a job of a batch is of.
pub fn batch_of(job: &str) -> String {
    format!("{}0000", &job[..job.len() - 4])
}
