//! Names from outside: of queues, of those who work and who ask, of locks.

use std::{fmt, sync::Arc};

use super::{Invalid, limits};

/// A named stream of jobs.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueueName(Arc<str>);

impl QueueName {
    pub const RULE: Invalid =
        Invalid("must be 1 to 64 characters of A-Z, a-z, 0-9, '.', '_' and '-', and neither '.' nor '..'");

    /// # Errors
    /// [`Self::RULE`].
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let fits = (1..=limits::QUEUE_NAME).contains(&text.len()) && !is_a_way(text);
        let clean = text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
        if fits && clean { Ok(Self(text.into())) } else { Err(Self::RULE) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for QueueName {
    fn default() -> Self {
        Self("default".into())
    }
}

impl fmt::Display for QueueName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for QueueName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// In a path such a name leads elsewhere, however it is encoded: no browser can address it.
fn is_a_way(name: &str) -> bool {
    matches!(name, "." | "..")
}

/// A name from outside: a worker or a client.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(Arc<str>);

impl Name {
    pub const RULE: Invalid = Invalid("must be 1 to 128 bytes of text without control characters");
    pub const WORKERS_RULE: Invalid =
        Invalid("must be 1 to 128 bytes of text without control characters, and neither '.' nor '..'");

    /// A name that can stand in a path.
    ///
    /// # Errors
    /// [`Self::WORKERS_RULE`].
    pub fn of_worker(text: &str) -> Result<Self, Invalid> {
        let name = Self::parse(text).ok().filter(|_| !is_a_way(text));
        name.ok_or(Self::WORKERS_RULE)
    }

    /// # Errors
    /// [`Self::RULE`].
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let fits = (1..=limits::NAME).contains(&text.len());
        if fits && !text.chars().any(char::is_control) { Ok(Self(text.into())) } else { Err(Self::RULE) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A name within a queue: of the jobs that share it, one is reserved at a time.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LockName(Arc<str>);

impl LockName {
    pub const RULE: Invalid = Invalid("must be 1 to 256 bytes of text without control characters");

    /// # Errors
    /// [`Self::RULE`].
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let fits = (1..=limits::KEY).contains(&text.len());
        if fits && !text.chars().any(char::is_control) { Ok(Self(text.into())) } else { Err(Self::RULE) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_hold_no_control_characters() {
        assert!(Name::parse("ann@example.org ü").is_ok());
        for wrong in ["", "a\0b", "a\nb", "\u{7f}", &"x".repeat(129)] {
            assert!(Name::parse(wrong).is_err());
        }
    }
}
