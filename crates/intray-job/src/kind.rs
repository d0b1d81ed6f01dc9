//! The kinds of events, the ends of a reservation, and the totals that are counted.

use super::{state::State, words::words};

words! {
    /// The kind of an event in the stream of a queue.
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
        SlaBreached = "sla-breached" => Concern::Job(State::Waiting),
        HandedOver = "handed-over" => Concern::Job(State::Waiting),
        Fallback = "fallback" => Concern::Job(State::Waiting),
        /// Its worker has completed it and may take that back for a time.
        Closing = "closing" => Concern::Job(State::Reserved),
        Undone = "undone" => Concern::Job(State::Reserved),
    }
}

impl EventKind {
    /// Whether the event is attributed to the key of its call. A call may cause other events too, for example that a lease
    /// expires.
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
            | Self::BatchCompleted
            | Self::SlaBreached
            | Self::HandedOver
            | Self::Fallback
            | Self::Closing
            | Self::Undone => false,
        }
    }
}

impl EventKind {
    /// Whether webhooks get it. A completion that can be taken back is sent when it is final.
    pub const fn is_for_webhooks(self) -> bool {
        !matches!(self, Self::Closing | Self::Undone)
    }
}

/// The subject of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Concern {
    /// A job, with the state it is most likely in after the event.
    Job(State),
    Batch,
    Queue,
}

words! {
    /// How a reservation ended, and the text that its holder gets.
    pub enum Ending, detail: &'static str {
        Expired = "expired" => "the reservation expired",
        Abandoned = "abandoned" => "the job was given back",
        Failed = "failed" => "the job was reported as failed",
        Released = "released" => "an operator took the job back",
        Cancelled = "cancelled" => "the job was cancelled",
        Completed = "completed" => "the job was completed",
        HandedOver = "handed-over" => "the job was handed over",
        /// The job does not know the reservation, or the job is gone.
        Unknown = "unknown" => "the reservation is not known, or its job is gone",
    }
}

words! {
    /// How a reservation ended, as the record of a job stores it, by the names in the scripts. Records hold the number in this
    /// order, from 1: add new ones at the end.
    pub enum StoredEnding, ending: Ending {
        Expired = "EXPIRED" => Ending::Expired,
        Abandoned = "ABANDONED" => Ending::Abandoned,
        Failed = "FAILED" => Ending::Failed,
        Released = "RELEASED" => Ending::Released,
        Cancelled = "CANCELLED" => Ending::Cancelled,
        Done = "DONE" => Ending::Completed,
        /// Completed after the deadline, before another worker got the job.
        DoneLate = "DONE_LATE" => Ending::Completed,
        GraceOver = "GRACE_OVER" => Ending::Abandoned,
        HandedOver = "HANDED_OVER" => Ending::HandedOver,
    }
}

words! {
    /// Transitions that are counted in metrics but are not events.
    pub enum Tally {
        /// An enqueue was a duplicate.
        Deduplicated = "deduplicated",
        /// A hand-out was given back, because its caller had left.
        Undelivered = "undelivered",
        /// A call named a reservation that no longer exists.
        Lost = "lost",
        /// An ended job was removed at the end of its retention.
        Forgotten = "forgotten",
    }
}

words! {
    /// Counters of a queue since its creation. They never decrease.
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
        Breached = "breached",
        HandedOver = "handed_over",
    }
}

words! {
    /// Why a job was cancelled.
    pub enum CancelReason {
        /// Nobody completed it before it expired.
        Expired = "expired",
        /// A caller cancelled it, or its batch.
        Withdrawn = "withdrawn",
    }
}

words! {
    /// Internal values that a queue keeps next to its totals.
    pub enum InternalTotal {
        Cancelled = "cancelled_kept",
        BatchCompleted = "batch_completed_kept",
        BatchCancelled = "batch_cancelled_kept",
        /// Ids of duplicates, which point to another job.
        Stubs = "stubs",
        /// Ended jobs and stubs that were removed.
        Gone = "gone",
        /// Dedupe keys shared by several live jobs: a job was requeued while another had its key.
        Shared = "shared",
        /// The last stamp of the queue's own clock.
        Stamp = "stamp",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn stored_numbers_of_endings_do_not_change() {
        let known = ["EXPIRED", "ABANDONED", "FAILED", "RELEASED", "CANCELLED", "DONE", "DONE_LATE", "GRACE_OVER"];
        assert!(StoredEnding::ALL.map(StoredEnding::word).starts_with(&known), "{:?}", StoredEnding::ALL);
    }

    #[test]
    fn every_ending_has_a_stored_form() {
        let remembered: BTreeSet<_> =
            StoredEnding::ALL.map(StoredEnding::ending).into_iter().chain([Ending::Unknown]).collect();
        assert_eq!(Ending::ALL.into_iter().filter(|ending| !remembered.contains(ending)).collect::<Vec<_>>(), []);
    }
}
