//! A job and all that is known of it.

use intray::{
    job::{Backoff, Code, Ending, Line, State},
    store::{Delay, HandoutCounts, Task},
};

use super::Routing;
use crate::{
    fixtures::{LOCKS, PAYLOADS, known},
    world::records::SPAN,
};

/// What producers say alike of a job, whichever way it comes.
#[derive(Debug, Clone)]
pub struct JobOptions {
    pub payload: &'static str,
    /// 0: at once.
    pub due: u64,
    pub lease_ms: Option<u32>,
    pub max_attempts: Option<u32>,
    pub backoff: Option<Backoff>,
    pub locks: Vec<&'static str>,
    pub traced: bool,
}

impl JobOptions {
    pub fn of(task: &Task, now: u64) -> Self {
        Self {
            payload: known(&PAYLOADS.map(|(payload, _)| payload), task.payload.as_str()),
            due: match task.delay {
                None => 0,
                Some(Delay::For(ms)) => now + u64::from(ms),
                Some(Delay::Until(at)) => at.0,
            },
            lease_ms: task.lease_ms,
            max_attempts: task.max_attempts,
            backoff: task.backoff,
            locks: task.locks.iter().map(|lock| known(&LOCKS, lock.as_str())).collect(),
            traced: task.traceparent.is_some(),
        }
    }
}

/// A name with a capacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gate {
    Batch(Code),
    Lock(&'static str),
}

#[derive(Debug, Clone)]
pub struct Job {
    // The options of its enqueue.
    /// When, by the queue's own clock.
    pub stamp: u64,
    pub wanted_priority: u8,
    pub client: &'static str,
    pub key: Option<[u8; 16]>,
    pub fingerprint: Option<[u8; 8]>,
    pub options: JobOptions,
    /// Its batch, if it is of one.
    pub batch: Option<Code>,
    /// For a batch's job: what it was when it was appended under an offset.
    pub mark: Option<String>,

    // What changes.
    pub state: State,
    pub priority: u8,
    /// Its order score; `None` before it was first ready, and after its end.
    pub place: Option<u64>,
    /// The stamp of when it got its place: equal places go by it.
    pub arrival: u64,
    /// Nobody has had it since.
    pub is_unserved: bool,
    /// Where it is blocked.
    pub parked_at: Option<Gate>,
    /// When it is due; the stamp of when it died or ended.
    pub at: u64,
    /// How much later than `at` it may be due: a backoff has jitter.
    pub jitter: u64,
    pub counts: HandoutCounts,
    /// Since the last requeue.
    pub attempts: u32,
    pub hold: Option<Hold>,
    /// The last five ended reservations, newest first.
    pub ring: Vec<Ended>,
    /// The last five, newest first.
    pub errors: Vec<Note>,
    pub result: Option<&'static str>,
    /// All that came too late; the last five are kept.
    pub late: Vec<Late>,
    pub draft: Option<Draft>,
    /// The last sixteen who have skipped it, newest first.
    pub skips: Vec<&'static str>,
    pub expires: Option<u64>,
    pub sla: Option<u64>,
    pub breached: bool,
    /// It was cancelled because it expired.
    pub is_cut_off: bool,
    pub routing: Routing,
    /// Such times or a routing were given once.
    pub is_routed: bool,
}

/// A reservation that is out.
#[derive(Debug, Clone)]
pub struct Hold {
    /// The program makes it; the model learns it from the answer.
    pub secret: Option<Code>,
    pub nonce: String,
    /// "" is nobody in particular.
    pub worker: &'static str,
    pub reserved_at: u64,
    pub lease_ms: u32,
    /// Where it would end if the job did not expire before.
    pub uncut: u64,
    pub deadline: u64,
    pub resumes: u32,
    /// The call that was given it was given it again.
    pub replayed: bool,
    /// Its holder has left, and may come back until the deadline.
    pub grace: Option<Grace>,
    /// Its holder has completed the job, and may take that back until the deadline.
    pub closing: Option<Closing>,
    /// Its resumes when a completion of it was taken back.
    pub undone: Option<u32>,
}

impl Hold {
    /// So many resumes since a completion was taken back, as far as they are counted.
    pub fn resumed_since(&self) -> u32 {
        self.undone.map_or(0, |undone| (self.resumes - undone).min(7))
    }

    /// A completion that knows of fewer resumes was sent before it was taken back.
    pub fn known_since_undone(&self) -> Option<u32> {
        self.undone.map(|_| self.resumes - self.resumed_since())
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Closing {
    pub result: &'static str,
    pub at: u64,
    /// Where the reservation would have ended if the job did not expire before.
    pub uncut: u64,
}

#[derive(Debug, Clone, Copy)]
pub struct Grace {
    /// A worker who does not come back has skipped the job.
    pub skips: bool,
}

/// The draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    pub owner: String,
    pub text: &'static str,
}

/// How a reservation ended: as stored and as reported. Causes of a single operation are defined with
/// that operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct How {
    pub number: u8,
    pub ending: Ending,
}

impl How {
    pub const EXPIRED: Self = Self { number: 1, ending: Ending::Expired };
    pub const ABANDONED: Self = Self { number: 2, ending: Ending::Abandoned };
    pub const CANCELLED: Self = Self { number: 5, ending: Ending::Cancelled };
    pub const DONE: Self = Self { number: 6, ending: Ending::Completed };
    pub const DONE_LATE: Self = Self { number: 7, ending: Ending::Completed };
    /// Its holder has left and did not come back.
    pub const GRACE_OVER: Self = Self { number: 8, ending: Ending::Abandoned };
    pub const HANDED_OVER: Self = Self { number: 9, ending: Ending::HandedOver };
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    pub digest: [u8; 8],
    pub how: How,
    pub at: u64,
    pub reserved_at: u64,
    pub worker: &'static str,
    /// Why it was given back.
    pub reason: &'static str,
    /// The line that it was handed over to.
    pub to: Option<Line>,
    /// Its resumes when a completion was taken back, if its time ran out.
    pub undone: Option<u32>,
}

impl Ended {
    pub fn note(&self) -> String {
        let words = || self.to.as_ref().map_or_else(|| self.reason.to_owned(), Line::to_string);
        self.undone.map_or_else(words, |resumes| resumes.to_string())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    pub at: u64,
    pub worker: &'static str,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Late {
    pub digest: [u8; 8],
    pub at: u64,
    pub worker: &'static str,
    pub result: &'static str,
}

/// An enqueue that met a twin; what it was answered.
#[derive(Debug, Clone)]
pub struct Stub {
    pub at: u64,
    pub fingerprint: [u8; 8],
    pub twin: Code,
    pub state: State,
    pub differs: Vec<&'static str>,
}

impl Job {
    /// What the set of its state is ordered by.
    pub fn score(&self) -> u64 {
        match self.state {
            State::Waiting | State::Blocked => self.place.unwrap_or(0),
            State::Reserved => self.hold.as_ref().map_or(0, |hold| hold.deadline),
            State::Delayed | State::Dead | State::Completed | State::Cancelled => self.at,
        }
    }

    /// What equal scores go by, in the sets where they do.
    pub fn tie(&self) -> u64 {
        if matches!(self.state, State::Waiting | State::Blocked) { self.arrival } else { 0 }
    }

    pub fn put(&mut self, place: u64, arrival: u64) {
        (self.place, self.arrival, self.is_unserved) = (Some(place), arrival, true);
        self.priority = u8::try_from(place / SPAN).expect("a priority");
    }

    pub fn end(&mut self, state: State, stamp: u64) {
        (self.state, self.at, self.place, self.parked_at) = (state, stamp, None, None);
        self.draft = None;
        self.skips.clear();
    }

    /// Its batch first, then its locks in the order in which they were given.
    pub fn gates(&self) -> Vec<Gate> {
        let locks = self.options.locks.iter().map(|lock| Gate::Lock(lock));
        self.batch.map(Gate::Batch).into_iter().chain(locks).collect()
    }

    pub fn is_live(&self, now: u64) -> bool {
        self.hold.as_ref().is_some_and(|hold| now < hold.deadline)
    }

    pub fn is_overdue(&self, now: u64) -> bool {
        self.hold.is_some() && !self.is_live(now)
    }

    pub fn worker(&self) -> &'static str {
        self.hold.as_ref().map_or("", |hold| hold.worker)
    }

    pub fn grace(&self) -> Option<Grace> {
        self.hold.as_ref().and_then(|hold| hold.grace)
    }

    pub fn closing(&self) -> Option<Closing> {
        self.hold.as_ref().and_then(|hold| hold.closing)
    }

    pub fn is_held_by(&self, secret: &Code) -> bool {
        self.hold.as_ref().is_some_and(|hold| hold.secret == Some(*secret))
    }

    /// Where in the ring a reservation is: 0 is the job's latest.
    pub fn recall(&self, digest: &[u8; 8]) -> Option<usize> {
        self.ring.iter().position(|ended| ended.digest == *digest)
    }
}
