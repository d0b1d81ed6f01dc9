//! One call of reserve, as `lua/jobs/ask.lua` unpacks it; the bits of its reply.

use super::{Field, LEASE_MS, LONG, NONCE, SHORT, uint};

/// Which jobs a call may get; with [`SKIP_OVERDUE`] added if it does not wait for overdue jobs to be swept.
pub(crate) const MODE: Field = uint("mode", 1);
pub(crate) const LIMIT: Field = uint("limit", 2);
/// After the nonce come the worker, and by which credential it came.
pub(super) const CALL: [Field; 6] = [MODE, LIMIT, LEASE_MS, NONCE, SHORT, LONG];

pub(crate) mod modes {
    /// The next jobs.
    pub(crate) const NEXT: u8 = 1;
    /// The same, by a call that is certainly no repetition.
    pub(crate) const FRESH: u8 = 2;
    /// The jobs that the caller holds.
    pub(crate) const RESUME: u8 = 3;
    /// The job whose id follows the claim.
    pub(crate) const THIS: u8 = 4;
}

/// Added to the mode.
pub(crate) const SKIP_OVERDUE: u8 = 128;
/// Added to the number of skills: something follows them.
pub(crate) const MORE: u8 = 128;

/// Why jobs were passed over: their worker has skipped them; they are not for this worker; a gate without room holds them up.
pub(crate) const SKIPPED: u64 = 1;
pub(crate) const NOT_ELIGIBLE: u64 = 2;
pub(crate) const HELD_UP: u64 = 4;

pub(super) const MODES: [(&str, u64); 4] = [
    ("NEXT", modes::NEXT as u64),
    ("FRESH", modes::FRESH as u64),
    ("RESUME", modes::RESUME as u64),
    ("THIS", modes::THIS as u64),
];
pub(super) const PASSED: [(&str, u64); 3] =
    [("SKIPPED", SKIPPED), ("NOT_ELIGIBLE", NOT_ELIGIBLE), ("HELD_UP", HELD_UP)];
