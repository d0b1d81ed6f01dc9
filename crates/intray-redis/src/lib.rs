//! Connections to Redis: one server, a primary that sentinels name, or a cluster, over TCP, TLS or a Unix socket.
//!
//! [`Links`] runs scripts and plain commands. A failed call returns a [`Fault`], which says whether the call may have had an
//! effect: a write is never sent twice unless Redis has certainly not run it. The crate knows nothing of jobs, queues or key
//! names; the scripts and the library of functions come from the caller.

mod args;
mod cluster;
mod fault;
mod link;
mod links;
mod log_limiter;
mod login;
mod script;
mod sentinel;
mod server;
mod timeouts;
mod tls;

pub use args::Args;
pub use fault::{Applied, Fault, Shortage, UNCONFIRMED, UNSYNCED, UNWRITABLE};
pub use link::{DiskShortage, Durability, Link, SyncRequests};
pub use links::{Links, parse_reply};
pub use log_limiter::{LogFn, LogLimiter};
pub use login::Login;
pub use script::{Library, Script, SourceText};
pub use sentinel::{HostPort, SentinelSettings};
pub use server::{Server, Servers};
pub use timeouts::Timeouts;
pub use tls::Certificates;
