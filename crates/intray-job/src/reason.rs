//! Why a reserve got no job.

use super::words::words;

words! {
    /// Why a reserve got no job: the first reason that applies to any of its queues.
    pub enum Reason {
        Paused = "paused",
        /// This worker has skipped all waiting jobs.
        Skipped = "skipped",
        /// There are waiting jobs, and none that this worker may have.
        Ineligible = "ineligible",
        Blocked = "blocked",
        Delayed = "delayed",
        Reserved = "reserved",
        Empty = "empty",
        /// The same worker made a newer call, which waits now.
        Replaced = "replaced",
        /// This instance stops.
        Shutdown = "shutdown",
    }
}
