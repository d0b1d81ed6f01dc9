//! How a reservation ends.

use serde::Serialize;

/// How one reservation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ending {
    Expired,
    Abandoned,
    Failed,
    Released,
    Cancelled,
    Completed,
    /// It is none of the reservations that the job remembers, or the job is gone.
    Unknown,
}

impl Ending {
    pub const ALL: [Self; 7] =
        [Self::Expired, Self::Abandoned, Self::Failed, Self::Released, Self::Cancelled, Self::Completed, Self::Unknown];

    pub fn word(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::Abandoned => "abandoned",
            Self::Failed => "failed",
            Self::Released => "released",
            Self::Cancelled => "cancelled",
            Self::Completed => "completed",
            Self::Unknown => "unknown",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|e| e.word() == word)
    }
}
