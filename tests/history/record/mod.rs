//! A history: calls and answers, events of the streams, and the final state.

mod ask;
mod body;
mod event;
mod file;
mod item;
mod job;
mod settle;
mod skill;

pub use self::{
    ask::{Ask, Request},
    event::Event,
    file::{Recorder, read},
    item::{Counts, Refusal, ReportedItem},
    job::{Job, Twin},
    settle::{Settle, Way},
    skill::skill_of,
};

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Microseconds of the load's own monotonic clock.
pub type Moment = u64;

/// One line of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Entry {
    /// The settings of the queues at the start.
    Plan(Vec<Plan>),
    Call(Call),
    Event(Event),
    /// A page of a feed of results, as read by a reader that follows its cursor.
    Feed {
        queue: String,
        ids: Vec<String>,
    },
    /// The jobs whose completion a webhook's receiver was sent, or whose delivery is listed.
    Delivered(Vec<String>),
    /// The types of events that a webhook of all events was sent.
    Posted(Vec<String>),
    /// A fault, for readers of the file.
    Fault {
        begin: Moment,
        end: Moment,
        what: String,
    },
    /// A queue, after the last call.
    End(End),
}

/// The purpose of a queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    pub queue: String,
    /// 0 is no limit.
    pub worker_limit: usize,
    /// Ended jobs stay, and nothing is purged.
    pub keeps: bool,
    /// No job overtakes another: one priority, no delays, locks, batches or picks.
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
    /// An entry for each item of the call, or for each reserved job.
    Done(Vec<ReportedItem>),
    Refused(Refusal),
    /// The call may have been applied or not: no answer, or one that says unknown.
    Unknown,
}

/// The content of a queue at the end.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct End {
    pub queue: String,
    /// By state.
    pub counts: BTreeMap<String, u64>,
    pub totals: BTreeMap<String, u64>,
    /// All jobs, including those of batches.
    pub jobs: Vec<ReportedItem>,
    /// Completed jobs outside batches, in the order of the feed.
    pub feed: Vec<String>,
    pub batches: Vec<ReportedItem>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct History {
    pub plans: Vec<Plan>,
    pub calls: Vec<Call>,
    /// In the order received.
    pub events: Vec<Event>,
    pub feeds: Vec<(String, Vec<String>)>,
    pub ends: Vec<End>,
    /// `None` in a file of before webhooks.
    pub delivered: Option<Vec<String>>,
    pub posted: Vec<String>,
}

impl History {
    pub fn add(&mut self, entry: Entry) {
        match entry {
            Entry::Plan(plans) => self.plans = plans,
            Entry::Call(call) => self.calls.push(call),
            Entry::Event(event) => self.events.push(event),
            Entry::Feed { queue, ids } => self.feeds.push((queue, ids)),
            Entry::Delivered(jobs) => self.delivered = Some(jobs),
            Entry::Posted(types) => self.posted = types,
            Entry::Fault { .. } => {}
            Entry::End(end) => self.ends.push(end),
        }
    }

    /// The size of the history: items of calls, and events.
    pub fn size(&self) -> usize {
        let items = |call: &Call| match &call.answer {
            Answer::Done(item) => item.len().max(1),
            Answer::Refused(_) | Answer::Unknown => 1,
        };
        self.calls.iter().map(items).sum::<usize>() + self.events.len()
    }
}

/// The queue of a job or batch id.
pub fn queue_of(id: &str) -> &str {
    &id[..id.len() - 27]
}

/// The job of a reservation.
pub fn job_of(reservation: &str) -> &str {
    reservation.rsplit_once('.').map_or(reservation, |(job, _)| job)
}

/// The batch of a batch's job.
pub fn batch_of(job: &str) -> String {
    format!("{}0000", &job[..job.len() - 4])
}
