//! One file per resource: a handler reads its request, calls the store and answers.

pub mod batches;
pub mod bulk;
pub mod events;
pub mod export;
pub mod hand_over;
pub mod history;
pub mod ingest;
pub mod job_lists;
pub mod jobs;
pub mod me;
pub mod memory;
pub mod new_batch;
pub mod new_job;
pub mod overlap;
pub mod queue_actions;
pub mod queues;
pub mod recent_events;
pub mod reserve;
pub mod routing;
pub mod selection;
pub mod settle;
pub mod sheets;
pub mod task;
pub mod tokens;
pub mod webhooks;
pub mod workers;
