//! The commands that call a running service: `intray import`, `export` and `top`.

/// Transfers jobs between files and a service.
pub mod bulk;
mod client;
mod remote;
/// Makes text fit to be printed.
pub mod terminal;
/// Shows the queues of a service in a terminal.
pub mod top;

pub use remote::{KEY_VARIABLE, Remote};
