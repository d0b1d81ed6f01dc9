//! The words for what happens, as events, totals and metrics say them.

/// The types of events.
pub const KINDS: [&str; 18] = [
    "enqueued",
    "due",
    "blocked",
    "reserved",
    "resumed",
    "extended",
    "abandoned",
    "released",
    "expired",
    "failed",
    "completed",
    "dead",
    "cancelled",
    "requeued",
    "changed",
    "paused",
    "unpaused",
    "batch-completed",
];
