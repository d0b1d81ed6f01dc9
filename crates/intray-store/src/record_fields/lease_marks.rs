//! Marks of a lease, bits of one byte.

/// It runs in a grace, whose end counts as abandoned.
const GRACE: u64 = 1;
/// It was given twice to the same call.
const REPLAYED: u64 = 2;
/// The end of the grace is a skip by its worker.
const SKIPS: u64 = 4;
/// Its job is completed unless the worker takes that back before the deadline.
pub(crate) const CLOSING: u64 = 8;
/// The worker has taken that back once.
const UNDONE: u64 = 16;
/// One resume since that: the bits from here on count them, up to 7.
const RESUMED: u64 = 32;
/// The worker has taken a completion back, and the resumes since.
const EVER_UNDONE: u64 = 256 - UNDONE;
/// What neither the begin nor the end of a grace changes.
const STAYS: u64 = EVER_UNDONE | REPLAYED;

pub(super) const ALL: [(&str, u64); 8] = [
    ("GRACE", GRACE),
    ("REPLAYED", REPLAYED),
    ("SKIPS", SKIPS),
    ("CLOSING", CLOSING),
    ("UNDONE", UNDONE),
    ("RESUMED", RESUMED),
    ("EVER_UNDONE", EVER_UNDONE),
    ("STAYS", STAYS),
];
