//! The state of webhooks: what became of the last attempt, as instances report it to each other, and what waits in queues.

use std::{collections::HashMap, time::Duration};

use intray_webhook::Attempt;
use parking_lot::Mutex;

use super::breaker::FAILURES_BEFORE_PAUSE;
use crate::{
    job::{Millis, Name, QueueName},
    store::{KnownWebhook, OutboxState},
};

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

/// The state of a webhook, for operators.
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

/// What waits for a webhook in all its queues, has failed and is lost.
#[derive(Debug, Default, Clone, Copy)]
pub struct WebhookCounts {
    pub waiting: u64,
    pub failed: u64,
    pub lost: u64,
    pub oldest: Option<Duration>,
}

impl WebhookCounts {
    pub(super) fn of<'s>(states: impl Iterator<Item = &'s OutboxState>, webhook: &Name) -> Self {
        states.filter(|state| state.webhook == *webhook).fold(Self::default(), |sum, state| Self {
            waiting: sum.waiting + state.waiting,
            failed: sum.failed + state.failed,
            lost: sum.lost + state.lost,
            oldest: sum.oldest.max(state.oldest),
        })
    }
}

/// The states of the webhooks in each queue, as this instance has last read them.
#[derive(Default)]
pub(super) struct QueueStates(Mutex<HashMap<QueueName, Vec<OutboxState>>>);

impl QueueStates {
    /// Logs which webhooks have lost more than when this was last read.
    pub(super) fn put(&self, queue: &QueueName, states: Vec<OutboxState>) {
        let mut counts = self.0.lock();
        let before = counts.remove(queue).unwrap_or_default();
        for OutboxState { webhook, lost, .. } in &states {
            if *lost > WebhookCounts::of(before.iter(), webhook).lost {
                tracing::warn!(
                    webhook = webhook.as_str(), %queue, lost,
                    "events were deleted before this webhook could read them: it is too far behind"
                );
            }
        }
        if !states.is_empty() {
            counts.insert(queue.clone(), states);
        }
    }

    pub(super) fn retain(&self, is_there: impl Fn(&QueueName) -> bool) {
        self.0.lock().retain(|queue, _| is_there(queue));
    }

    pub(super) fn in_queue(&self, queue: &QueueName) -> Vec<OutboxState> {
        self.0.lock().get(queue).cloned().unwrap_or_default()
    }

    pub(super) fn of(&self, webhook: &Name) -> WebhookCounts {
        WebhookCounts::of(self.0.lock().values().flatten(), webhook)
    }
}
