//! The types of the domain. A value that exists is valid: each type is made by a parser whose error states the rule.

mod access;
pub mod budget;
mod calendar;
pub mod chance;
mod code;
pub mod ids;
mod kind;
pub mod limits;
mod line;
mod name;
mod priority;
mod reason;
mod role;
pub mod settings;
mod sheet;
mod state;
mod time;
mod words;

use std::borrow::Cow;

pub use access::WorkerAccess;
pub use calendar::{Day, ZoneName};
pub use code::{BatchId, Code, JobId, Reservation};
pub use kind::{CancelReason, Concern, Ending, EventKind, InternalTotal, StoredEnding, Tally, Total};
pub use line::{EligibilityRule, Line, Skill};
pub use name::{LockName, Name, QueueName};
pub use priority::Priority;
pub use reason::Reason;
pub use role::Role;
pub use sheet::{HELD_CLASSES, SheetCounter, SheetCounts};
pub use state::{Agreement, BatchState, DeliveryState, State};
pub use time::{Backoff, Millis};

/// A text does not follow the rule of its type. The message states the rule and may be sent to the client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Invalid(pub &'static str);

impl From<Invalid> for Cow<'static, str> {
    fn from(invalid: Invalid) -> Self {
        invalid.0.into()
    }
}
