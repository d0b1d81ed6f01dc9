//! Faults of Redis, and whether the failed call had an effect.

/// Redis does not work. The rules of the queue have no part in it: see the outcomes of the transitions for those.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Fault {
    /// Redis is away, slow, loading or read-only.
    #[error("Redis is not available: {why}")]
    Unavailable { applied: Applied, why: String },
    /// Redis is at `maxmemory`, or its disk is nearly full; nothing was stored.
    #[error("Redis is full")]
    Full,
    /// Redis answered something that this program does not understand.
    #[error("unexpected answer from Redis: {0}")]
    Broken(String),
}

/// Why Redis is not available when its disk is full or broken.
pub const UNWRITABLE: &str = "it cannot write to its disk";

/// The reasons for unavailable begin so when the queues have moved, or are being moved, to another Redis; its address follows.
pub const MOVED: &str = "the queues have moved to ";
pub const MOVING: &str = "the queues are being moved to ";

/// The reasons when a change was made, but not confirmed as `--durability` demands.
pub const UNCONFIRMED: &str = "too few replicas have confirmed the change";
pub const UNSYNCED: &str = "the change is not known to be on disk";

/// Whether a call that failed had an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applied {
    No,
    Unknown,
}

impl Fault {
    /// The call was sent, and its effect is unknown.
    pub(crate) fn unknown(why: &str) -> Self {
        Self::Unavailable { applied: Applied::Unknown, why: why.to_owned() }
    }

    pub(crate) fn late(applied: Applied) -> Self {
        Self::Unavailable { applied, why: "no answer in time".to_owned() }
    }

    /// The same fault of a call that was tried before with this effect.
    pub(crate) fn after(self, tried: Applied) -> Self {
        match tried {
            Applied::No => self,
            Applied::Unknown => self.with(Applied::Unknown),
        }
    }

    /// Only the reason, without "Redis is not available".
    pub(crate) fn why(self) -> String {
        match self {
            Self::Unavailable { why, .. } => why,
            Self::Full | Self::Broken(_) => self.to_string(),
        }
    }

    /// The queues have moved to another Redis, or are being moved.
    pub(crate) fn is_elsewhere(&self) -> bool {
        let begins = |why: &str| [MOVED, MOVING].iter().any(|begin| why.starts_with(begin));
        matches!(self, Self::Unavailable { why, .. } if begins(why))
    }

    /// A retry of the same call may succeed.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::Full)
    }

    /// Whether the call had an effect.
    pub(crate) fn applied(&self) -> Applied {
        match self {
            Self::Unavailable { applied, .. } => *applied,
            Self::Full => Applied::No,
            Self::Broken(_) => Applied::Unknown,
        }
    }

    /// The same fault with this effect.
    pub(crate) fn with(self, applied: Applied) -> Self {
        match self {
            Self::Unavailable { why, .. } => Self::Unavailable { applied, why },
            Self::Full | Self::Broken(_) => self,
        }
    }
}
