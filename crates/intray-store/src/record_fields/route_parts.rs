//! The parts of an entry of `routes`: a tag, the length of the value in two bytes, the value.

use super::{Field, SHORT, TIME, text, uint};

pub(crate) const TAG: Field = uint("tag", 1);
pub(crate) const LENGTH: Field = uint("length", 2);
pub(super) const PART: [Field; 2] = [TAG, text("value", LENGTH.width)];
pub(super) const PART_HEAD: [Field; 2] = [TAG, LENGTH];
pub(crate) const FALLBACK_MS: Field = uint("fallback_ms", 4);
/// A hand-over: until and since when, its line and who handed the job over; then its note.
pub(super) const HANDED_OVER: [Field; 4] = [TIME, TIME, SHORT, SHORT];

pub(crate) const EXPIRES: u8 = 1;
pub(crate) const SLA: u8 = 2;
pub(crate) const MARKS: u8 = 3;
/// Lists of names, each after its length in a byte.
pub(crate) const ASSIGNEES: u8 = 4;
pub(crate) const EXCLUDED: u8 = 5;
pub(crate) const SKILL: u8 = 6;
/// How long the assignees and the skill count, in 4 bytes, and until when.
pub(crate) const FALLBACK: u8 = 7;
pub(crate) const FALLBACK_AT: u8 = 8;
/// A hand-over.
pub(crate) const HANDED: u8 = 9;
/// The job is of a batch with an overlap: how many jobs that has, in a byte.
pub(crate) const OVERLAP: u8 = 10;
/// Who has had a job of a batch with an overlap.
pub(crate) const PARTS: u8 = 11;
/// The deadline that the reservation would have if the job did not expire before.
pub(crate) const UNCUT: u8 = 12;
/// Added to a tag in a call: the value is ms from now.
pub(crate) const FROM_NOW: u8 = 128;

/// Marks: the SLA was breached; the job was cancelled because it expired; it has fallen back to all workers.
pub(crate) const BREACHED: u64 = 1;
pub(crate) const OVER: u64 = 2;
pub(crate) const FELL_BACK: u64 = 4;

/// Writes a part.
pub(crate) fn put(tag: u8, value: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    LENGTH.put(value.len() as u64, out);
    out.extend(value);
}

pub(super) fn constants() -> String {
    let tags = format!("EXPIRES = {EXPIRES}, SLA = {SLA}, MARKS = {MARKS}, FROM_NOW = {FROM_NOW}");
    let routing = format!("ASSIGNEES = {ASSIGNEES}, EXCLUDED = {EXCLUDED}, SKILL = {SKILL}, FALLBACK = {FALLBACK}");
    let later = format!(
        "FALLBACK_AT = {FALLBACK_AT}, HANDED = {HANDED}, OVERLAP = {OVERLAP}, PARTS = {PARTS}, UNCUT = {UNCUT}"
    );
    format!("{tags}, {routing}, {later}, BREACHED = {BREACHED}, OVER = {OVER}, FELL_BACK = {FELL_BACK}")
}
