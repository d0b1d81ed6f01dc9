//! Why Redis did not do what it was asked, and whether the call may have had an effect.

use std::fmt::Display;

/// A failure of Redis or of the connection to it.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Fault {
    /// Redis is unreachable, slow, loading or read-only.
    #[error("Redis is not available: {why}")]
    Unavailable { applied: Applied, why: String },
    /// Nothing was stored.
    #[error("Redis is full: {0}")]
    Full(Shortage),
    /// Redis sent a reply that this program does not understand.
    #[error("unexpected answer from Redis: {0}")]
    Broken(String),
}

/// What a full Redis lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Shortage {
    #[error("its memory is used up to `maxmemory`")]
    Memory,
    /// Only of a private server: another one whose disk is full is unavailable.
    #[error("too little is free on the disk of its data")]
    Disk,
}

/// Redis is unavailable because its disk is full or broken.
pub const UNWRITABLE: &str = "it cannot write to its disk";
/// A change was applied, and fewer replicas than `--durability` requires have confirmed it.
pub const UNCONFIRMED: &str = "too few replicas have confirmed the change";
/// A change was applied, and Redis has not confirmed that it is on disk.
pub const UNSYNCED: &str = "the change is not known to be on disk";
/// The prefix of a [`Fault::Broken`] whose cause is a key of an unexpected type.
const WRONG_TYPE: &str = "a key of another type";

/// Whether a failed call had an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applied {
    No,
    Unknown,
}

impl Fault {
    /// The call had no effect.
    pub fn unavailable(why: &dyn Display) -> Self {
        Self::Unavailable { applied: Applied::No, why: why.to_string() }
    }

    /// The call was sent, and its effect is not known.
    pub fn unknown(why: &str) -> Self {
        Self::Unavailable { applied: Applied::Unknown, why: why.to_owned() }
    }

    pub fn late(applied: Applied) -> Self {
        Self::Unavailable { applied, why: "no answer in time".to_owned() }
    }

    pub(crate) fn wrong_type(message: &dyn Display) -> Self {
        Self::Broken(format!("{WRONG_TYPE}: {message}"))
    }

    /// The same fault of a call that was tried before; `tried` says what is known of the earlier try.
    #[must_use]
    pub fn after(self, tried: Applied) -> Self {
        match tried {
            Applied::No => self,
            Applied::Unknown => self.with(Applied::Unknown),
        }
    }

    /// The reason without the words "Redis is not available".
    pub fn why(self) -> String {
        match self {
            Self::Unavailable { why, .. } => why,
            Self::Full(_) | Self::Broken(_) => self.to_string(),
        }
    }

    /// A repeat of the same call may succeed.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::Full(_))
    }

    /// A key has another type than the command expects.
    pub fn is_wrong_type(&self) -> bool {
        matches!(self, Self::Broken(why) if why.starts_with(WRONG_TYPE))
    }

    /// Whether the call had an effect, as far as it is known.
    pub fn applied(&self) -> Applied {
        match self {
            Self::Unavailable { applied, .. } => *applied,
            Self::Full(_) => Applied::No,
            Self::Broken(_) => Applied::Unknown,
        }
    }

    /// The same fault, with this answer to [`Fault::applied`] if Redis is unavailable.
    #[must_use]
    pub fn with(self, applied: Applied) -> Self {
        match self {
            Self::Unavailable { why, .. } => Self::Unavailable { applied, why },
            Self::Full(_) | Self::Broken(_) => self,
        }
    }
}
