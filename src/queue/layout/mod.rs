//! What is kept in Redis and how it is laid out: records, the registry of queues, versions of the layout.

pub(crate) mod batch;
pub(crate) mod epoch;
pub(crate) mod health;
pub(crate) mod libraries;
pub(crate) mod migrate;
pub(crate) mod record;
pub(crate) mod registry;
pub(crate) mod rights;
pub(crate) mod settings;
pub(crate) mod task;
