//! What can happen, how a reservation ends by it, and what of it is counted.

use super::{state::State, words::words};

words! {
    /// A transition, as the stream of a queue tells it.
    pub enum EventKind, concerns: Concern {
        Enqueued = "enqueued" => Concern::Job(State::Waiting),
        Due = "due" => Concern::Job(State::Waiting),
        Blocked = "blocked" => Concern::Job(State::Blocked),
        Reserved = "reserved" => Concern::Job(State::Reserved),
        Resumed = "resumed" => Concern::Job(State::Reserved),
        Extended = "extended" => Concern::Job(State::Reserved),
        Abandoned = "abandoned" => Concern::Job(State::Waiting),
        Released = "released" => Concern::Job(State::Waiting),
        Expired = "expired" => Concern::Job(State::Waiting),
        Failed = "failed" => Concern::Job(State::Waiting),
        Completed = "completed" => Concern::Job(State::Completed),
        Dead = "dead" => Concern::Job(State::Dead),
        Cancelled = "cancelled" => Concern::Job(State::Cancelled),
        Requeued = "requeued" => Concern::Job(State::Waiting),
        Changed = "changed" => Concern::Job(State::Waiting),
        Paused = "paused" => Concern::Queue,
        Unpaused = "unpaused" => Concern::Queue,
        BatchCompleted = "batch-completed" => Concern::Batch,
    }
}

impl EventKind {
    /// Whether it is what somebody with a key has done, where its call came with one: such a call may find other things too,
    /// that a lease has run out.
    pub const fn is_act(self) -> bool {
        match self {
            Self::Cancelled
            | Self::Released
            | Self::Requeued
            | Self::Due
            | Self::Changed
            | Self::Paused
            | Self::Unpaused => true,
            Self::Enqueued
            | Self::Blocked
            | Self::Reserved
            | Self::Resumed
            | Self::Extended
            | Self::Abandoned
            | Self::Expired
            | Self::Failed
            | Self::Completed
            | Self::Dead
            | Self::BatchCompleted => false,
        }
    }
}

/// What a transition happens to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Concern {
    /// Where somebody looks for the job afterwards, who knows no more than that.
    Job(State),
    Batch,
    Queue,
}

words! {
    /// How one reservation ended, and what is said of it to those who come with it.
    pub enum Ending, detail: &'static str {
        Expired = "expired" => "the reservation expired",
        Abandoned = "abandoned" => "the job was given back",
        Failed = "failed" => "the job was reported as failed",
        Released = "released" => "an operator took the job back",
        Cancelled = "cancelled" => "the job was cancelled",
        Completed = "completed" => "the job was completed",
        /// It is none of the reservations that the job remembers, or the job is gone.
        Unknown = "unknown" => "the reservation is not known, or its job is gone",
    }
}

words! {
    /// The same as a job remembers it, which is more exact, by the names that scripts have for it. Records hold the number in
    /// this order, from 1: a new one comes last.
    pub enum StoredEnding, ending: Ending {
        Expired = "EXPIRED" => Ending::Expired,
        Abandoned = "ABANDONED" => Ending::Abandoned,
        Failed = "FAILED" => Ending::Failed,
        Released = "RELEASED" => Ending::Released,
        Cancelled = "CANCELLED" => Ending::Cancelled,
        Done = "DONE" => Ending::Completed,
        /// After the deadline, while nobody had taken the job.
        DoneLate = "DONE_LATE" => Ending::Completed,
        GraceOver = "GRACE_OVER" => Ending::Abandoned,
    }
}

words! {
    /// What figures count beside the transitions that a stream tells.
    pub enum Tally {
        /// An enqueue met its twin.
        Deduplicated = "deduplicated",
        /// A hand-out came back, as its caller had gone.
        Undelivered = "undelivered",
        /// A settle call hit nothing.
        Lost = "lost",
        /// A job was kept long enough after its end.
        Forgotten = "forgotten",
    }
}

words! {
    /// How often something happened to a queue's jobs since the queue came into being. They never fall.
    pub enum Total {
        Enqueued = "enqueued",
        HandedOut = "handed_out",
        Completed = "completed",
        Expired = "expired",
        Failed = "failed",
        Abandoned = "abandoned",
        Released = "released",
        Dead = "dead",
        Cancelled = "cancelled",
        Requeued = "requeued",
    }
}

words! {
    /// What a queue keeps among its totals for itself.
    pub enum InternalTotal {
        Cancelled = "cancelled_kept",
        BatchCompleted = "batch_completed_kept",
        BatchCancelled = "batch_cancelled_kept",
        /// Ids of jobs that are told of by another's.
        Stubs = "stubs",
        /// Ended jobs and stubs that have been forgotten or removed.
        Gone = "gone",
        /// Dedupe keys that live jobs share: a job was requeued while another had its key.
        Shared = "shared",
        /// The latest instant that the queue's own clock gave.
        Stamp = "stamp",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn what_records_hold_keeps_its_number() {
        let known = ["EXPIRED", "ABANDONED", "FAILED", "RELEASED", "CANCELLED", "DONE", "DONE_LATE", "GRACE_OVER"];
        assert!(StoredEnding::ALL.map(StoredEnding::word).starts_with(&known), "{:?}", StoredEnding::ALL);
    }

    #[test]
    fn every_ending_is_remembered() {
        let remembered: BTreeSet<_> =
            StoredEnding::ALL.map(StoredEnding::ending).into_iter().chain([Ending::Unknown]).collect();
        assert_eq!(Ending::ALL.into_iter().filter(|ending| !remembered.contains(ending)).collect::<Vec<_>>(), []);
    }
}
