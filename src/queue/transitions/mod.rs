//! Whatever changes jobs: each transition is the twin of a file in `lua/`.

pub(crate) mod answer;
pub(crate) mod batch;
pub(crate) mod enqueue;
pub(crate) mod operate;
pub(crate) mod reserve;
pub(crate) mod settle;
pub(crate) mod sweep;
pub(crate) mod undo;
