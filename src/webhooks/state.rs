//! The state of a webhook, for operators.

use super::{attempt::LastAttempt, courier::FAILURES_BEFORE_PAUSE, shared::WebhookCounts};
use crate::store::KnownWebhook;

/// Whether a webhook delivers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebhookHealth {
    Ok,
    /// Too many attempts have failed in a row: one is made at a time.
    Failing,
    /// Its receiver has answered 410, and nothing is sent to it.
    Gone,
}

impl WebhookHealth {
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failing => "failing",
            Self::Gone => "gone",
        }
    }
}

#[derive(Debug, Clone)]
pub struct WebhookState {
    pub health: WebhookHealth,
    pub counts: WebhookCounts,
    /// `None`: nothing was sent yet.
    pub last: Option<LastAttempt>,
}

impl WebhookState {
    pub(super) fn new(known: Option<&KnownWebhook>, counts: WebhookCounts) -> Self {
        let last = known.and_then(|known| LastAttempt::parse(&known.last));
        let health = match &last {
            _ if known.is_some_and(|known| known.stopped_at.is_some()) => WebhookHealth::Gone,
            Some(last) if last.failures >= FAILURES_BEFORE_PAUSE => WebhookHealth::Failing,
            Some(_) | None => WebhookHealth::Ok,
        };
        Self { health, counts, last }
    }
}
