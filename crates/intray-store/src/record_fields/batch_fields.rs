//! The record of a batch.

use super::{FINGERPRINT, Field, PRIORITY, SHORT, TIME, uint};
use crate::job::State;

/// The layout of this record, which its first byte holds, is 1.
pub(crate) const VERSION: Field = uint("version", 1);
pub(crate) const STAGE: Field = uint("stage", 1);
pub(crate) const MARKS: Field = uint("marks", 1);
/// The number of jobs in all, in one state, in a long operation so far, or reserved at the same time at most.
pub(crate) const COUNT: Field = uint("count", 4);

/// After three times: jobs of its creation, all jobs, the cursor of a long operation, the limit at the same time, and then the jobs in each
/// state; last its mark and its client.
pub(super) fn record() -> Vec<Field> {
    [&[VERSION, STAGE, MARKS, PRIORITY][..], &[TIME; 3], &[COUNT; 4 + State::ALL.len()], &[FINGERPRINT, SHORT]].concat()
}

/// The stages of its life.
pub(crate) mod stages {
    pub(crate) const MAKING: u64 = 1;
    pub(crate) const OPENING: u64 = 2;
    pub(crate) const OPEN: u64 = 3;
    pub(crate) const SEALED: u64 = 4;
    pub(crate) const ALL_DONE: u64 = 5;
    pub(crate) const SOME_DEAD: u64 = 6;
    pub(crate) const WITHDRAWN: u64 = 7;
    pub(super) const REMOVING: u64 = 8;
}

/// Mark: seal it once it is open.
pub(crate) const TO_SEAL: u64 = 1;
/// Mark: cancel its jobs that are not reserved.
const TO_CANCEL: u64 = 2;

pub(super) const STAGES: [(&str, u64); 8] = [
    ("MAKING", stages::MAKING),
    ("OPENING", stages::OPENING),
    ("OPEN", stages::OPEN),
    ("SEALED", stages::SEALED),
    ("ALL_DONE", stages::ALL_DONE),
    ("SOME_DEAD", stages::SOME_DEAD),
    ("WITHDRAWN", stages::WITHDRAWN),
    ("REMOVING", stages::REMOVING),
];
pub(super) const ALL_MARKS: [(&str, u64); 2] = [("TO_SEAL", TO_SEAL), ("TO_CANCEL", TO_CANCEL)];
