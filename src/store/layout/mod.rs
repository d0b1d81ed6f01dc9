//! What is kept in Redis and how it is laid out: records, cursors into it, the registry of queues.

pub(crate) mod batch;
pub(crate) mod cursor;
pub(crate) mod ended;
pub(crate) mod history;
pub(crate) mod member;
pub(crate) mod packed;
pub(crate) mod progress;
pub(crate) mod record;
pub(crate) mod settings;
pub(crate) mod task;
