//! The reasons why a move stops, as text for the operator.

use intray_redis::Fault;

pub(super) enum Halt {
    Source(Fault),
    Target(Fault),
    /// A later run has taken over.
    Taken,
    Refused(String),
}

impl std::fmt::Display for Halt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Source(fault) => write!(f, "where the queues are: {fault}"),
            Self::Target(Fault::Full(_)) => f.write_str("where they are to go there is no room for them"),
            Self::Target(fault) => write!(f, "where they are to go: {fault}"),
            Self::Taken => f.write_str("another `intray move` has taken over"),
            Self::Refused(why) => f.write_str(why),
        }
    }
}
