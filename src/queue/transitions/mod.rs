//! Whatever changes jobs: each transition is the twin of a file in `lua/`.

pub(crate) mod abandon;
pub(crate) mod append;
pub(crate) mod cancel;
pub(crate) mod complete;
pub(crate) mod create;
pub(crate) mod enqueue;
pub(crate) mod extend;
pub(crate) mod fail;
pub(crate) mod purge;
pub(crate) mod release;
pub(crate) mod reprioritize;
pub(crate) mod requeue;
pub(crate) mod reserve;
pub(crate) mod seal;
pub(crate) mod set;
pub(crate) mod stage;
pub(crate) mod sweep;
pub(crate) mod undo;
pub(crate) mod withdraw;
