//! What is kept in Redis and how it is laid out: records, and cursors into it.

pub(crate) mod batch;
pub(crate) mod cursor;
pub(crate) mod ended;
pub(crate) mod epoch;
pub(crate) mod member;
pub(crate) mod progress;
pub(crate) mod record;
pub(crate) mod reservation;
pub(crate) mod settings;
pub(crate) mod task;
