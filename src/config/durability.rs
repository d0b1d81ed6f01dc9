//! When a change is acknowledged.

use std::{fmt, str::FromStr};

use crate::job::Invalid;

/// The state that a change must reach before its caller gets the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DurabilityLevel {
    /// Redis has made the change.
    Async,
    /// This many replicas have it.
    Replicated(u32),
    /// It is on disk.
    Synced,
}

const RULE: Invalid = Invalid("must be async, replicated:N with a number of replicas from 1 to 16, or synced");
const MAX_REPLICAS: u32 = 16;

impl FromStr for DurabilityLevel {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text.trim() {
            "async" => Ok(Self::Async),
            "synced" => Ok(Self::Synced),
            other => {
                let digits = other.strip_prefix("replicated:").filter(|n| n.bytes().all(|b| b.is_ascii_digit()));
                let replicas = digits.and_then(|n| n.parse().ok()).filter(|n| (1..=MAX_REPLICAS).contains(n));
                replicas.map(Self::Replicated).ok_or(RULE)
            }
        }
    }
}

impl fmt::Display for DurabilityLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Async => f.write_str("async"),
            Self::Replicated(replicas) => write!(f, "replicated:{replicas}"),
            Self::Synced => f.write_str("synced"),
        }
    }
}
