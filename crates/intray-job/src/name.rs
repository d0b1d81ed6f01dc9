//! Names given by clients: of queues, workers, clients and locks.

use std::{fmt, sync::Arc};

use serde::Serialize;

use super::{Invalid, limits};

/// A named stream of jobs.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct QueueName(Arc<str>);

impl QueueName {
    pub const RULE: Invalid =
        Invalid("must be 1 to 64 characters of A-Z, a-z, 0-9, '.', '_' and '-', and neither '.' nor '..'");

    /// # Errors
    /// [`Self::RULE`].
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let fits = (1..=limits::QUEUE_NAME).contains(&text.len()) && !is_dot_segment(text);
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

/// `.` and `..` in a path are resolved even when they are encoded, so no browser can address such a name.
fn is_dot_segment(name: &str) -> bool {
    matches!(name, "." | "..")
}

/// The name of a worker or a client.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Name(Arc<str>);

impl Name {
    pub const RULE: Invalid = Invalid("must be 1 to 128 bytes of text without control characters");
    pub const WORKERS_RULE: Invalid = Invalid(
        "must be 1 to 128 bytes of text without control characters, with white space at neither end, and neither '.' nor '..'",
    );

    /// A name that can stand in a path and has no blanks around it. [`Self::parse`] still reads names that were stored before
    /// this rule.
    ///
    /// # Errors
    /// [`Self::WORKERS_RULE`].
    pub fn of_worker(text: &str) -> Result<Self, Invalid> {
        let name = Self::parse(text).ok().filter(|_| !is_dot_segment(text) && text.trim() == text);
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

/// A lock of a queue: of the jobs that share it, one is reserved at a time.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
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

    /// White space as defined by Unicode. Tab and line feed are control characters, which are rejected anyway.
    const BLANK: [&str; 7] = [" ann", "ann ", " ", "\u{a0}ann", "ann\u{3000}", "ann\u{2028}", "\u{2003}ann\u{202f}"];

    #[test]
    fn worker_names_with_outer_blanks_are_refused() {
        for wrong in BLANK {
            assert_eq!(Name::of_worker(wrong), Err(Name::WORKERS_RULE), "{wrong:?}");
        }
        for fine in ["ann", "Ann Smith", "ann\u{a0}smith", "Jos\u{e9}", "Jose\u{301}"] {
            assert_eq!(Name::of_worker(fine).map(|name| name.as_str() == fine), Ok(true), "{fine:?}");
        }
    }

    #[test]
    fn kept_names_with_outer_blanks_are_still_read() {
        for kept in BLANK {
            assert_eq!(Name::parse(kept).map(|name| name.as_str() == kept), Ok(true), "{kept:?}");
        }
    }

    #[test]
    fn names_hold_no_control_characters() {
        assert!(Name::parse("ann@example.org ü").is_ok());
        for wrong in ["", "a\0b", "a\nb", "\u{7f}", &"x".repeat(129)] {
            assert!(Name::parse(wrong).is_err());
        }
    }
}
