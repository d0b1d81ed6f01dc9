//! The words of the domain. A value that exists here is valid: each type is made by a parser that says its rule.

pub mod budget;
pub mod chance;
mod code;
pub mod ids;
mod kind;
pub mod limits;
mod name;
mod priority;
mod reason;
mod role;
pub mod settings;
mod state;
mod time;
mod words;

pub use code::{BatchId, Code, JobId, Reservation};
pub use kind::{Concern, Ending, EventKind, InternalTotal, StoredEnding, Tally, Total};
pub use name::{LockName, Name, QueueName};
pub use priority::Priority;
pub use reason::Reason;
pub use role::Role;
pub use state::{BatchState, State};
pub use time::{Backoff, Millis};

/// Why a piece of text is not the value it was meant to be. The text is the rule, fit for an answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Invalid(pub &'static str);
