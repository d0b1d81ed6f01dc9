//! What is broken, and what is known of it.

/// The machine is broken; the domain has nothing to do with it.
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

/// How it begins why there is nothing here any more, or for a moment; the place follows.
pub const MOVED: &str = "the queues have moved to ";
pub const MOVING: &str = "the queues are being moved to ";

/// And when a change was made of which it is not known that it is kept as the operator wants.
pub const UNCONFIRMED: &str = "too few replicas have confirmed the change";
pub const UNSYNCED: &str = "the change is not known to be on disk";

/// Whether a call that failed had an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applied {
    No,
    Unknown,
}

impl Fault {
    /// Of a call that was made: nobody knows what became of it.
    pub(crate) fn unknown(why: &str) -> Self {
        Self::Unavailable { applied: Applied::Unknown, why: why.to_owned() }
    }

    pub(crate) fn late(applied: Applied) -> Self {
        Self::Unavailable { applied, why: "no answer in time".to_owned() }
    }

    /// The same of a call that was tried before, and how much is known of that.
    pub(crate) fn after(self, tried: Applied) -> Self {
        match tried {
            Applied::No => self,
            Applied::Unknown => self.with(Applied::Unknown),
        }
    }

    /// Why, for a sentence that says itself what is not available.
    pub(crate) fn why(self) -> String {
        match self {
            Self::Unavailable { why, .. } => why,
            Self::Full | Self::Broken(_) => self.to_string(),
        }
    }

    /// The queues are in another Redis, or on their way there.
    pub(crate) fn is_elsewhere(&self) -> bool {
        let begins = |why: &str| [MOVED, MOVING].iter().any(|begin| why.starts_with(begin));
        matches!(self, Self::Unavailable { why, .. } if begins(why))
    }

    /// It may be over when the same call is made again.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::Full)
    }

    /// Whether the call had an effect, as far as it is known.
    pub(crate) fn applied(&self) -> Applied {
        match self {
            Self::Unavailable { applied, .. } => *applied,
            Self::Full => Applied::No,
            Self::Broken(_) => Applied::Unknown,
        }
    }

    /// The same of a call of which it is known whether it had an effect.
    pub(crate) fn with(self, applied: Applied) -> Self {
        match self {
            Self::Unavailable { why, .. } => Self::Unavailable { applied, why },
            Self::Full | Self::Broken(_) => self,
        }
    }
}
