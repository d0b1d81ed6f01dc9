//! A field of the history that is over: columns as bits. Columns are counted from 0 here, and from 1 in the scripts.

/// The columns before those of the totals.
pub(crate) const GAUGES: usize = 2;
pub(crate) const WAITING: usize = 0;
pub(crate) const RESERVED: usize = 1;
pub(crate) const ENQUEUED: usize = 2;
pub(crate) const HANDED_OUT: usize = 3;
pub(crate) const COMPLETED: usize = 4;

/// The encodings of a column: its numbers, their changes, their differences from the prediction, or only zeros.
pub(crate) const PLAIN: u64 = 0;
pub(crate) const CHANGE: u64 = 1;
pub(crate) const EXPECTED: u64 = 2;
pub(crate) const ALL_ZERO: u64 = 3;
/// From this quotient on, the number is written in full.
pub(crate) const LONG_FROM: u64 = 8;
/// How many bits the number of columns, an encoding, and the length of a number take.
pub(crate) const COLUMNS_BITS: u32 = 5;
pub(crate) const ENCODING_BITS: u32 = 2;
pub(crate) const LENGTH_BITS: u32 = 6;
