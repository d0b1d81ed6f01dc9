//! What the tasks of queues and the calls of operators share, and what a task is told.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::{Duration, Instant},
};

use intray_webhook::Sender;
use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore, watch};
use tokio_util::sync::CancellationToken;

use super::{
    breaker::Breaker,
    line::Webhook,
    state::{LastAttempt, QueueStates},
};
use crate::{
    job::{Millis, Name, QueueName},
    store::{Fault, OutboxState, Queues, Wanted},
    waiting::Waiting,
};

/// The pause after a call to Redis that failed, and after a panic.
pub(super) const RETRY_AFTER: Duration = Duration::from_secs(1);
/// Queues whose hints are subscribed to; the others are visited at their next check.
const MAX_HEARD: usize = 1_000;
/// Queues that are read at the same time.
const MAX_VISITS: usize = 16;
/// Queues read in one pipeline: few enough not to delay other calls.
const MAX_PIPELINED: usize = 32;

/// A webhook of the file that is known to Redis, and since when: events from then on are for it.
pub(super) type ServedWebhook = (Arc<Webhook>, Millis);

/// What the tasks of queues and the calls of operators share.
pub(super) struct WebhookContext {
    pub(super) queues: Queues,
    pub(super) waiting: Waiting,
    /// The states of the webhooks in each queue, as this instance has last read them.
    pub(super) counts: QueueStates,
    pub(super) visits: Semaphore,
    pub(super) tasks: Mutex<HashMap<QueueName, Arc<QueueTask>>>,
    pub(super) wanted: Wanted,
    heard: Mutex<HashSet<QueueName>>,
    breakers: Mutex<HashMap<Name, Arc<Breaker>>>,
}

impl WebhookContext {
    pub(super) fn new(queues: Queues, waiting: Waiting) -> Self {
        let (counts, tasks, wanted, heard, breakers) = Default::default();
        Self { queues, waiting, counts, visits: Semaphore::new(MAX_VISITS), tasks, wanted, heard, breakers }
    }

    pub(super) fn breaker(&self, webhook: &Name) -> Arc<Breaker> {
        self.breakers.lock().entry(webhook.clone()).or_insert_with(|| Arc::new(Breaker::new())).clone()
    }

    /// Listens to the hints of a queue, or no longer.
    pub(super) fn hear(&self, queue: &QueueName, is_wanted: bool) {
        let mut heard = self.heard.lock();
        if !is_wanted && heard.remove(queue) {
            self.wanted.remove(queue);
        } else if is_wanted && heard.len() < MAX_HEARD && heard.insert(queue.clone()) {
            self.wanted.add(queue);
        }
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

    /// Tells other instances of the last attempt.
    pub(super) async fn note(&self, webhook: &Name, last: &LastAttempt) {
        if self.breaker(webhook).is_news(last.failures) {
            // The next attempt is noted too.
            let _ = self.queues.note_attempt(webhook, &last.to_string()).await;
        }
    }
}

/// The task of a queue, and what it is told.
pub(super) struct QueueTask {
    pub(super) context: Arc<WebhookContext>,
    pub(super) sender: Sender,
    pub(super) queue: QueueName,
    pub(super) served: watch::Receiver<Vec<ServedWebhook>>,
    pub(super) stop: CancellationToken,
    /// The whole service ends: `stop` is cancelled too.
    pub(super) shutdown: CancellationToken,
    /// There are events that it has not read.
    pub(super) has_events: Notify,
    /// When the next delivery of a webhook is due.
    pub(super) due: Mutex<HashMap<Name, Instant>>,
    pub(super) due_changed: Notify,
}

impl QueueTask {
    /// The webhooks that are for the queue.
    pub(super) fn webhooks(&self) -> Vec<ServedWebhook> {
        self.served.borrow().iter().filter(|(webhook, _)| webhook.pattern.matches(&self.queue)).cloned().collect()
    }

    /// The next delivery of a webhook is due after this time.
    pub(super) fn due_in(&self, webhook: &Name, after: Duration) {
        let at = Instant::now() + after;
        self.due.lock().entry(webhook.clone()).and_modify(|due| *due = at.min(*due)).or_insert(at);
        self.due_changed.notify_one();
    }

    /// The webhooks with deliveries that are due, which it forgets.
    pub(super) fn take_due(&self) -> Vec<Name> {
        let now = Instant::now();
        self.due.lock().extract_if(|_, at| *at <= now).map(|(webhook, _)| webhook).collect()
    }
}
