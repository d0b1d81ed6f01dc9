//! What can happen, and what of it is counted.

use super::words::words;

words! {
    /// A transition, as the stream of a queue tells it.
    pub enum Kind {
        Enqueued = "enqueued",
        Due = "due",
        Blocked = "blocked",
        Reserved = "reserved",
        Resumed = "resumed",
        Extended = "extended",
        Abandoned = "abandoned",
        Released = "released",
        Expired = "expired",
        Failed = "failed",
        Completed = "completed",
        Dead = "dead",
        Cancelled = "cancelled",
        Requeued = "requeued",
        Changed = "changed",
        Paused = "paused",
        Unpaused = "unpaused",
        BatchCompleted = "batch-completed",
    }
}

/// What a transition happens to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Concern {
    Job,
    Batch,
    Queue,
}

impl Kind {
    pub fn concerns(self) -> Concern {
        match self {
            Self::Paused | Self::Unpaused => Concern::Queue,
            Self::BatchCompleted => Concern::Batch,
            Self::Enqueued | Self::Due | Self::Blocked | Self::Reserved | Self::Resumed | Self::Extended => {
                Concern::Job
            }
            Self::Abandoned | Self::Released | Self::Expired | Self::Failed | Self::Completed => Concern::Job,
            Self::Dead | Self::Cancelled | Self::Requeued | Self::Changed => Concern::Job,
        }
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
    pub enum Kept {
        Cancelled = "cancelled_kept",
        BatchCompleted = "batch_completed_kept",
        BatchCancelled = "batch_cancelled_kept",
        /// Ids of jobs that are told of by another's.
        Stubs = "stubs",
        /// The latest instant that the queue's own clock gave.
        Stamp = "stamp",
    }
}
