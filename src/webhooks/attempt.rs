//! What became of the last attempt of a webhook, as instances report it to each other.

use intray_webhook::Attempt;

use crate::job::Millis;

/// The last attempt of a webhook on any instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastAttempt {
    pub at: Millis,
    pub status: Option<u16>,
    /// Failures in a row on that instance.
    pub failures: u32,
    /// Why there was no answer; empty if there was one.
    pub error: String,
}

impl LastAttempt {
    pub(super) fn new(at: Millis, attempt: &Attempt, failures: u32) -> Self {
        Self { at, status: attempt.status, failures, error: Self::error_of(attempt) }
    }

    /// Why there was no answer, without a secret; empty if there was one.
    pub(super) fn error_of(attempt: &Attempt) -> String {
        attempt.error.map(|error| error.to_string()).unwrap_or_default()
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut words = text.splitn(4, ' ');
        let (at, status) = (Millis(words.next()?.parse().ok()?), words.next()?.parse().ok());
        Some(Self { at, status, failures: words.next()?.parse().ok()?, error: words.next()?.to_owned() })
    }
}

impl std::fmt::Display for LastAttempt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let status = self.status.map_or_else(|| "-".to_owned(), |status| status.to_string());
        write!(f, "{} {status} {} {}", self.at.0, self.failures, self.error)
    }
}
