//! Replies, hints and markers: what is said to Redis about jobs. The connections are those of `intray-redis`.

pub(crate) mod counts;
pub(crate) mod gate_mark;
pub(crate) mod hints;
pub(crate) mod move_marker;
pub(crate) mod read;
