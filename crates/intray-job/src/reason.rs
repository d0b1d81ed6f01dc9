//! Why nobody was given anything.

use super::words::words;

words! {
    /// Why there is nothing: the first that applies to any of the queues.
    pub enum Reason {
        Paused = "paused",
        /// All that is there, this worker has skipped.
        Skipped = "skipped",
        Blocked = "blocked",
        Delayed = "delayed",
        Reserved = "reserved",
        Empty = "empty",
        /// While it waited: the same worker waits elsewhere now.
        Replaced = "replaced",
        /// While it waited: this instance stops.
        Shutdown = "shutdown",
    }
}
