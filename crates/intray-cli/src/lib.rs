//! The commands that call a running service: `intray import`, `export` and `top`.

/// Transfers jobs between files and a service.
pub mod bulk;
mod client;
mod remote;
/// Shows the queues of a service in a terminal.
pub mod top;

pub use remote::{KEY_VARIABLE, Remote};
