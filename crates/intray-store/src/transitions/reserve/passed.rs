//! What a reserve that finds no job has passed over.

use std::collections::BTreeSet;

use intray_redis::Fault;

use crate::{
    job::Line,
    record_fields::reserve_fields::{NOT_ELIGIBLE, SKIPPED},
    redis::{
        gate_mark::GateMark,
        read::{Fields, broken},
    },
};

/// The lines in which jobs were passed over that another worker may take: skipped, not for this worker, or held up by a gate.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PassedLines {
    /// In the line of jobs that are for all workers.
    pub common_line: bool,
    pub lines: Vec<Line>,
    /// These hold some of them up: the caller tries again when one gets room.
    pub gates: BTreeSet<GateMark>,
    /// The scan ended before it had seen all jobs, and the next one continues from there.
    pub has_more: bool,
    /// It took several scripts.
    pub is_far: bool,
    /// Some of them were passed over because of the worker. Where a gate holds jobs up, no other worker gets further.
    pub for_others: bool,
}

impl PassedLines {
    pub(super) fn join(&mut self, other: Self) {
        self.common_line |= other.common_line;
        self.gates.extend(other.gates);
        self.has_more |= other.has_more;
        self.is_far |= other.is_far;
        self.for_others |= other.for_others;
        self.lines.extend(other.lines);
    }

    /// Reads why, and the lines, of which the common one is empty.
    pub(super) fn read(why: u64, lines: &mut Fields<'_>) -> Result<Self, Fault> {
        let mut passed = Self { for_others: is_for_others(why), ..Self::default() };
        while !lines.is_done() {
            match lines.word()? {
                "" => passed.common_line = true,
                line => passed.lines.push(Line::parse(line).map_err(|_| broken("a line"))?),
            }
        }
        Ok(passed)
    }

    /// From a scan that stopped early, which does not name the lines.
    pub(super) fn partial(why: u64) -> Self {
        let common_line = is_for_others(why);
        Self { common_line, for_others: common_line, ..Self::default() }
    }
}

/// Why jobs were passed over, the place of the last one, and the marks of the gates that held some up.
pub(super) fn read_place(words: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (bits, rest) = words.split_at_checked(1)?;
    let stop = rest.iter().position(|byte| *byte == b' ')?;
    Some((bits, &rest[..stop], &rest[stop + 1..]))
}

fn is_for_others(why: u64) -> bool {
    why & (SKIPPED | NOT_ELIGIBLE) != 0
}
