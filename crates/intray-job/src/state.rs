//! The states of a job and of a batch, and how the answers to a batch agree.

use super::words::words;

words! {
    /// A job is in exactly one state. Records hold the number of the state in this order, from 1: add new ones at the end.
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
    /// The job is no longer handed out, unless it is requeued.
    pub fn is_ended(self) -> bool {
        matches!(self, Self::Completed | Self::Dead | Self::Cancelled)
    }
}

words! {
    /// The state of a batch. The last three are final.
    pub enum BatchState {
        /// More jobs may come.
        Open = "open",
        Sealed = "sealed",
        Completed = "completed",
        /// All jobs have ended, and at least one is dead.
        Failed = "failed",
        Cancelled = "cancelled",
    }
}

impl BatchState {
    /// The state is final.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

words! {
    /// Whether the answers to the jobs of a batch with an overlap have one value.
    pub enum Agreement {
        /// Every job is completed, with an equal value.
        Unanimous = "unanimous",
        /// Two values differ.
        Divided = "divided",
        /// No two values differ, and a job has none: it is not completed, or was completed without one.
        Incomplete = "incomplete",
    }
}

impl Agreement {
    /// The jobs that must be completed for it, at least.
    pub fn min_completed(self) -> u32 {
        match self {
            Self::Unanimous | Self::Divided => 2,
            Self::Incomplete => 0,
        }
    }
}

words! {
    /// Whether a delivery to a webhook will be tried again.
    pub enum DeliveryState {
        Waiting = "waiting",
        /// It was tried as often as it may be.
        Failed = "failed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_numbers_of_states_do_not_change() {
        let known = ["waiting", "blocked", "delayed", "reserved", "completed", "dead", "cancelled"];
        assert!(State::ALL.map(State::word).starts_with(&known), "{:?}", State::ALL);
    }
}
