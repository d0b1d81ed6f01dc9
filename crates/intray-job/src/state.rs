//! The states of a job and of a batch.

use super::words::words;

words! {
    /// Where a job is. It is in exactly one state. Records hold the number of the state in this order, from 1: a new
    /// one comes last.
    pub enum State {
        Waiting = "waiting",
        Blocked = "blocked",
        Delayed = "delayed",
        Reserved = "reserved",
        Completed = "completed",
        Dead = "dead",
        Cancelled = "cancelled",
    }
}

impl State {
    /// Nobody is given it any more, unless it is requeued.
    pub fn is_ended(self) -> bool {
        matches!(self, Self::Completed | Self::Dead | Self::Cancelled)
    }
}

words! {
    /// How far a batch has come. The last three are written once and never change.
    pub enum BatchState {
        /// More jobs may come.
        Open = "open",
        Sealed = "sealed",
        Completed = "completed",
        /// Over, and at least one of its jobs is dead.
        Failed = "failed",
        Cancelled = "cancelled",
    }
}

impl BatchState {
    /// It never changes again.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_records_hold_keeps_its_number() {
        let known = ["waiting", "blocked", "delayed", "reserved", "completed", "dead", "cancelled"];
        assert!(State::ALL.map(State::word).starts_with(&known), "{:?}", State::ALL);
    }
}
