//! Marks in events and hints.

/// Added to the length of a kind: the event's job belongs to a batch.
pub(crate) const IN_BATCH: u64 = 128;
/// The first byte in the note of an abandon: its worker skips the job.
pub(crate) const SKIPPED_NOTE: u8 = 1;
/// The same: what follows is a reason, which could be taken for another note.
pub(crate) const REASON_NOTE: u8 = 2;
/// The index in the position of a reader that has read all of an entry.
pub(crate) const WHOLE_ENTRY: u32 = u32::MAX;
/// The entry of a gate in a hint, before its mark; without one it is any gate.
pub(crate) const GATE: &str = "gate";
/// Hex digits of the mark of a gate.
pub(crate) const GATE_MARK_LEN: usize = 8;
