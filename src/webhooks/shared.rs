//! What the reader, the couriers and the calls of operators share.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::attempt::LastAttempt;
use crate::{
    job::{Name, QueueName},
    store::{Fault, KnownWebhook, OutboxState, Queues},
    waiting::Waiting,
};

/// How often an attempt that was like the one before is noted.
const NOTE_EVERY: Duration = Duration::from_secs(1);
/// Queues read in one pipeline: few enough not to delay other calls.
const MAX_PIPELINED: usize = 32;

pub(super) struct Shared {
    pub(super) queues: Queues,
    pub(super) waiting: Waiting,
    /// The states of the webhooks in each queue, as this instance has last read them.
    pub(super) counts: QueueStates,
    couriers: Mutex<HashMap<Name, Arc<Orders>>>,
    tests: Mutex<HashMap<Name, Instant>>,
    /// When the last attempt of a webhook was noted, and with how many failures in a row.
    noted: Mutex<HashMap<Name, (Instant, u32)>>,
}

/// What the courier of a webhook has to do.
#[derive(Default)]
pub(super) struct Orders {
    due: Mutex<HashMap<QueueName, Instant>>,
    is_stopped: AtomicBool,
    /// A test was taken, which the courier has not seen yet.
    is_reached: AtomicBool,
    news: Notify,
}

#[derive(Default)]
pub(super) struct QueueStates(Mutex<HashMap<QueueName, Vec<OutboxState>>>);

/// The state of a webhook in all its queues.
#[derive(Debug, Default, Clone, Copy)]
pub struct WebhookCounts {
    pub waiting: u64,
    pub failed: u64,
    pub lost: u64,
    pub oldest: Option<Duration>,
}

impl Shared {
    pub(super) fn new(queues: Queues, waiting: Waiting) -> Self {
        let (counts, couriers, tests, noted) = Default::default();
        Self { queues, waiting, counts, couriers, tests, noted }
    }

    pub(super) fn courier(&self, webhook: &Name) -> Arc<Orders> {
        self.couriers.lock().entry(webhook.clone()).or_default().clone()
    }

    /// The states of the webhooks in each of these queues, and the last known ones where a node is away.
    pub(super) async fn read_all(&self, names: &[QueueName]) -> Result<Vec<Vec<OutboxState>>, Fault> {
        let mut states = Vec::with_capacity(names.len());
        for some in names.chunks(MAX_PIPELINED) {
            let read = some.iter().map(|queue| async move {
                match self.queues.outbox(queue).await {
                    Err(Fault::Unavailable { .. }) if self.queues.is_lost(queue) => Ok(self.counts.in_queue(queue)),
                    answer => answer,
                }
            });
            states.extend(futures_util::future::try_join_all(read).await?);
        }
        Ok(states)
    }

    /// Webhooks whose receiver is gone rest until they are started again.
    pub(super) fn learn(&self, known: &[KnownWebhook]) {
        for webhook in known {
            self.courier(&webhook.name).stop(webhook.stopped_at.is_some());
        }
    }

    /// Tells other instances of the last attempt: of each failure, and of successes once in a while.
    pub(super) async fn note(&self, webhook: &Name, last: &LastAttempt) {
        let is_news = |(at, failures): &(Instant, u32)| *failures != last.failures || at.elapsed() >= NOTE_EVERY;
        if self.noted.lock().get(webhook).is_none_or(is_news) {
            self.noted.lock().insert(webhook.clone(), (Instant::now(), last.failures));
            // The next attempt is noted too.
            let _ = self.queues.note_attempt(webhook, &last.to_string()).await;
        }
    }

    /// Whether a webhook may be tested now: once in `pause`.
    pub(super) fn may_test(&self, webhook: &Name, pause: Duration) -> Result<(), Duration> {
        let (mut tests, now) = (self.tests.lock(), Instant::now());
        if let Some(left) = tests.get(webhook).and_then(|last| pause.checked_sub(last.elapsed())) {
            return Err(left);
        }
        tests.insert(webhook.clone(), now);
        Ok(())
    }
}

impl Orders {
    /// The next delivery of a queue is due after this time.
    pub(super) fn due_in(&self, queue: &QueueName, after: Duration) {
        let at = Instant::now() + after;
        let mut due = self.due.lock();
        let entry = due.entry(queue.clone()).or_insert(at);
        if *entry >= at {
            *entry = at;
            self.news.notify_one();
        }
    }

    /// A queue with deliveries that are due, which it forgets; or the time until one is due.
    pub(super) fn next(&self) -> Result<QueueName, Option<Instant>> {
        let mut due = self.due.lock();
        let Some((queue, at)) = due.iter().min_by_key(|(_, at)| **at).map(|(queue, at)| (queue.clone(), *at)) else {
            return Err(None);
        };
        if at > Instant::now() {
            return Err(Some(at));
        }
        due.remove(&queue);
        Ok(queue)
    }

    pub(super) fn stop(&self, is_stopped: bool) {
        if self.is_stopped.swap(is_stopped, Ordering::Relaxed) != is_stopped {
            self.news.notify_one();
        }
    }

    pub(super) fn end_failing(&self) {
        self.is_reached.store(true, Ordering::Relaxed);
        self.news.notify_one();
    }

    /// Whether a test was taken since this was last asked.
    pub(super) fn was_reached(&self) -> bool {
        self.is_reached.swap(false, Ordering::Relaxed)
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    pub(super) async fn changed(&self) {
        self.news.notified().await;
    }
}

impl QueueStates {
    /// Returns the webhooks that have lost more than when this was last read, with all that they have lost.
    pub(super) fn put(&self, queue: &QueueName, states: Vec<OutboxState>) -> Vec<(Name, u64)> {
        let mut counts = self.0.lock();
        let before = counts.remove(queue).unwrap_or_default();
        let lost_before =
            |webhook: &Name| before.iter().find(|state| state.webhook == *webhook).map_or(0, |state| state.lost);
        let lose = states.iter().filter(|state| state.lost > lost_before(&state.webhook));
        let losers = lose.map(|state| (state.webhook.clone(), state.lost)).collect();
        if !states.is_empty() {
            counts.insert(queue.clone(), states);
        }
        losers
    }

    pub(super) fn retain(&self, is_there: impl Fn(&QueueName) -> bool) {
        self.0.lock().retain(|queue, _| is_there(queue));
    }

    fn in_queue(&self, queue: &QueueName) -> Vec<OutboxState> {
        self.0.lock().get(queue).cloned().unwrap_or_default()
    }

    pub(super) fn of(&self, webhook: &Name) -> WebhookCounts {
        let counts = self.0.lock();
        WebhookCounts::of(counts.values().flatten().filter(|state| state.webhook == *webhook))
    }
}

impl WebhookCounts {
    pub(super) fn of<'s>(states: impl Iterator<Item = &'s OutboxState>) -> Self {
        states.fold(Self::default(), |sum, state| Self {
            waiting: sum.waiting + state.waiting,
            failed: sum.failed + state.failed,
            lost: sum.lost + state.lost,
            oldest: sum.oldest.max(state.oldest),
        })
    }
}
