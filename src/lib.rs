//! intray: a work queue for people. It hands out jobs over HTTP/JSON, keeps them in Redis with server-side Lua, and takes them
//! back when a person does not finish them in time. No job is lost. The modules in reading order:

#![recursion_limit = "256"] // the compiler asks of each layer of a future whether it may be sent, down to the socket

/// Authentication and authorization of callers.
pub mod access;
/// The configuration by the operator.
pub mod config;
/// Asks a running service whether it is ready.
pub mod healthcheck;
/// The HTTP API.
pub mod http;
/// The types of the domain, and all limits by name.
pub use intray_job as job;
/// The allocator, and its count of allocated bytes.
pub mod memory;
/// Starts the parts of the service, and stops them in order.
pub mod service;
/// Day sheets: what each worker did per day.
pub mod sheets;
/// The store: one method per transition, each with its Lua script in `lua/`.
pub use intray_store as store;
pub use intray_store::{figures, payload};
/// The background task that expires leases, makes delayed jobs due, and removes old jobs.
pub mod sweeper;
/// The calls that wait for jobs, and their wake-up.
pub mod waiting;
/// Webhooks: where events are sent.
pub mod webhooks;

use intray_base::{files, sha256, shares, text, waits};
