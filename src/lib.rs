//! intray: a work queue for people. Jobs are handed out over HTTP/JSON, kept safe in Redis by server-side Lua, taken back
//! when a person vanishes, never lost. The modules in reading order:

#![recursion_limit = "256"] // the compiler asks of each layer of a future whether it may be sent, down to the socket

/// Who calls, and what they may.
pub mod access;
/// Files and a running service.
pub mod bulk;
/// A running service, for the commands that call one.
pub mod client;
/// What an operator may set.
pub mod config;
/// What is counted, and what each figure says.
pub mod figures;
/// Asks a running service whether it is ready.
pub mod healthcheck;
/// Requests in, answers out.
pub mod http;
/// The words of the domain, and every limit by name.
pub use intray_job as job;
/// What is allocated.
pub mod memory;
/// JSON that is carried and not read.
pub mod payload;
/// Starts the parts, and stops them in order.
pub mod service;
/// The store: a method a transition, each with its twin in `lua/`.
pub mod store;
/// The background task that puts back what is overdue.
pub mod sweeper;
/// A running service's queues in a terminal.
pub mod top;
/// Who waits for jobs, and who is woken.
pub mod waiting;

use intray_base::{files, sha256, shares, text};
