//! The states of a job and of a batch.

use serde::Serialize;

/// Where a job is. It is in exactly one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    Waiting,
    Blocked,
    Delayed,
    Reserved,
    Completed,
    Dead,
    Cancelled,
}

impl State {
    pub const ALL: [Self; 7] =
        [Self::Waiting, Self::Blocked, Self::Delayed, Self::Reserved, Self::Completed, Self::Dead, Self::Cancelled];

    pub fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Blocked => "blocked",
            Self::Delayed => "delayed",
            Self::Reserved => "reserved",
            Self::Completed => "completed",
            Self::Dead => "dead",
            Self::Cancelled => "cancelled",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.word() == word)
    }

    /// Nobody is given it any more, unless it is requeued.
    pub fn is_ended(self) -> bool {
        matches!(self, Self::Completed | Self::Dead | Self::Cancelled)
    }
}

/// How far a batch has come. The last three are written once and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BatchState {
    /// More jobs may come.
    Open,
    Sealed,
    Completed,
    /// Over, and at least one of its jobs is dead.
    Failed,
    Cancelled,
}

impl BatchState {
    pub fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Sealed => "sealed",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// It never changes again.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}
