//! What a reserve asks for and is given.

use intray::{
    job::{Code, State},
    queue::Reason,
};

use super::Queue;
use crate::words::STAMPS;

pub struct Asked {
    /// "" is nobody in particular.
    pub worker: &'static str,
    pub nonce: String,
    pub limit: usize,
    pub lease_ms: Option<u32>,
    pub id: Option<Code>,
}

#[derive(Debug)]
pub enum Given {
    /// In this order. None of them: there is nothing.
    New(Vec<Shown>),
    /// The worker has them already.
    Held(Vec<Shown>),
    /// All that waits, the worker has skipped.
    Skipped,
    UnknownJob,
    NotWaiting(State),
    Paused,
    WorkerLimit,
}

/// A job as it is handed out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    pub id: Code,
    /// `None`: it is not known yet.
    pub secret: Option<Code>,
    pub payload: &'static str,
    pub attempt: u32,
    pub deadline: u64,
    pub reserved_at: u64,
    pub priority: u8,
    pub client: &'static str,
    pub worker: &'static str,
    pub enqueued_at: u64,
    pub resumes: u32,
    pub locks: Vec<&'static str>,
    pub batch: Option<Code>,
    pub traced: bool,
    pub draft: Option<&'static str>,
}

impl Queue {
    pub(super) fn shown(&self, id: Code) -> Shown {
        let job = &self.jobs[&id];
        let hold = job.hold.as_ref().expect("somebody holds it");
        Shown {
            id,
            secret: hold.secret,
            payload: job.said.payload,
            attempt: job.attempts + 1,
            deadline: hold.deadline,
            reserved_at: hold.reserved_at,
            priority: job.priority,
            client: job.client,
            worker: hold.worker,
            enqueued_at: job.stamp / STAMPS,
            resumes: hold.resumes,
            locks: job.said.locks.clone(),
            batch: job.batch,
            traced: job.said.traced,
            draft: self.draft_for(job, hold.worker),
        }
    }

    /// Why there is nothing; `skipped`: for somebody who has skipped all that waited.
    pub fn reason(&self, skipped: bool) -> Reason {
        if self.settings.paused {
            Reason::Paused
        } else if skipped {
            Reason::Skipped
        } else if self.number(&[State::Blocked]) > 0 {
            Reason::Blocked
        } else if self.number(&[State::Delayed]) > 0 {
            Reason::Delayed
        } else if self.number(&[State::Reserved]) > 0 {
            Reason::Reserved
        } else {
            Reason::Empty
        }
    }
}
