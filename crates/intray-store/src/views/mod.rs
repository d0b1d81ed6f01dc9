//! Reads of jobs, queues, batches and events.

pub(crate) mod actions;
pub(crate) mod batches;
pub(crate) mod contents;
pub(crate) mod deadlines;
pub(crate) mod deliveries;
pub(crate) mod eligible;
pub(crate) mod erasing;
pub(crate) mod events;
pub(crate) mod form;
pub(crate) mod inspect;
pub(crate) mod job_history;
mod latest_events;
pub(crate) mod lines;
pub(crate) mod list;
pub(crate) mod locks;
pub(crate) mod making;
pub(crate) mod opinions;
pub(crate) mod outbox;
pub(crate) mod personal;
pub(crate) mod queue_history;
pub(crate) mod recent;
pub(crate) mod recent_workers;
pub(crate) mod sheets;
pub(crate) mod stats;
pub(crate) mod worker_summary;
