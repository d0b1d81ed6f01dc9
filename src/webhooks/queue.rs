//! A queue that webhooks are for. Its task on this instance reads the events, sends the deliveries that are due, and marks what has
//! become of each.

#[cfg(test)]
mod tests;

use std::{
    collections::{HashMap, HashSet},
    panic::{AssertUnwindSafe, resume_unwind},
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::FutureExt;
use intray_webhook::{Attempt, Sender};
use parking_lot::Mutex;
use tokio::{
    sync::{Notify, watch},
    task::{JoinError, JoinSet},
};
use tokio_util::sync::CancellationToken;

use super::{
    breaker::{SendSlot, is_gone},
    dispatch::{ServedWebhook, WebhookContext},
    reader::QueueReader,
    schedule,
    state::LastAttempt,
};
use crate::{
    job::{Name, QueueName},
    store::{DueDelivery, Posted, Queues, Sent},
};

/// The pause after a call to Redis that failed, and after a panic.
pub(super) const RETRY_AFTER: Duration = Duration::from_secs(1);
/// What is in flight at the end may take this long. It is sent again by another instance if it took longer.
const LAST_ATTEMPTS: Duration = Duration::from_secs(3);

/// The task of a queue, and what it is told.
pub(super) struct QueueTask {
    pub(super) context: Arc<WebhookContext>,
    pub(super) sender: Sender,
    pub(super) queue: QueueName,
    pub(super) served: watch::Receiver<Vec<ServedWebhook>>,
    pub(super) stop: CancellationToken,
    /// There are events that it has not read.
    pub(super) has_events: Notify,
    /// When the next delivery of a webhook is due.
    pub(super) due: Mutex<HashMap<Name, Instant>>,
    pub(super) due_changed: Notify,
}

impl QueueTask {
    /// Serves the queue until it is stopped.
    pub(super) async fn run(self: Arc<Self>) {
        let work = || async {
            tokio::join!(self.stop.run_until_cancelled(QueueReader::new(&self).run()), QueueSender::new(&self).run());
        };
        run_despite_panics(&self.queue, &self.stop, work).await;
        self.context.hear(&self.queue, false);
    }

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
    fn take_due(&self) -> Vec<Name> {
        let now = Instant::now();
        self.due.lock().extract_if(|_, at| *at <= now).map(|(webhook, _)| webhook).collect()
    }
}

/// Does the work of a queue, again after each panic. The panic itself is not logged: its text may have a secret.
async fn run_despite_panics<F: Future<Output = ()>>(queue: &QueueName, stop: &CancellationToken, work: impl Fn() -> F) {
    while AssertUnwindSafe(work()).catch_unwind().await.is_err() {
        tracing::error!(%queue, "the webhooks of this queue have met a panic, and continue in a second: report it");
        stop.run_until_cancelled(tokio::time::sleep(RETRY_AFTER)).await;
    }
}

/// The part of a queue's task that sends and marks.
struct QueueSender<'t> {
    task: &'t QueueTask,
    /// Webhooks that wait for a slot.
    asking: JoinSet<(Name, SendSlot)>,
    asked: HashSet<Name>,
    flight: JoinSet<SentDelivery>,
    /// How many deliveries of a failing webhook, of those that are due, were tried without success.
    tried: HashMap<Name, u32>,
}

struct SentDelivery {
    webhook: Name,
    delivery: DueDelivery,
    attempt: Attempt,
    slot: SendSlot,
}

impl<'t> QueueSender<'t> {
    fn new(task: &'t QueueTask) -> Self {
        let (asking, asked, flight, tried) = Default::default();
        Self { task, asking, asked, flight, tried }
    }

    /// Sends what is due until it is stopped.
    async fn run(mut self) {
        let task = self.task;
        while !task.stop.is_cancelled() {
            self.ask();
            let next = task.due.lock().values().min().copied();
            let next_is_due = async {
                match next {
                    Some(at) => tokio::time::sleep_until(at.into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                Some(slot) = self.asking.join_next() => self.send(joined(slot)).await,
                Some(sent) = self.flight.join_next() => self.report(joined(sent)).await,
                () = task.due_changed.notified() => {}
                () = next_is_due => {}
                () = task.stop.cancelled() => {}
            }
        }
        let _ = tokio::time::timeout(LAST_ATTEMPTS, async {
            while let Some(sent) = self.flight.join_next().await {
                self.report(joined(sent)).await;
            }
        })
        .await;
    }

    /// Waits for a slot for each webhook with a delivery that is due. One that waits for a slot already gets all that are due with it.
    fn ask(&mut self) {
        for webhook in self.task.take_due() {
            if self.asked.insert(webhook.clone()) {
                let breaker = self.task.context.breaker(&webhook);
                self.asking.spawn(async move { (webhook, breaker.slot().await) });
            }
        }
    }

    /// Sends deliveries that are due, as many as have a slot: no other instance collects them again before they are sent.
    async fn send(&mut self, (name, slot): (Name, SendSlot)) {
        self.asked.remove(&name);
        let task = self.task;
        let Some((webhook, _)) = task.webhooks().into_iter().find(|(webhook, _)| webhook.name == name) else { return };
        if !slot.is_probe {
            self.tried.remove(&name);
        }
        let passed_over = self.tried.get(&name).copied().unwrap_or_default();
        let breaker = task.context.breaker(&name);
        let slots: Vec<_> = std::iter::once(slot).chain(breaker.free_slots()).collect();
        let collected = task.context.queues.collect(&task.queue, &name, slots.len() as u32, passed_over).await;
        let Ok(collected) = collected else {
            task.due_in(&name, RETRY_AFTER);
            return;
        };
        if collected.due.is_empty() {
            // All that are due were tried.
            self.tried.remove(&name);
        }
        if let Some(next) = collected.next {
            task.due_in(&name, if collected.due.is_empty() { next.max(RETRY_AFTER) } else { next });
        }
        for (delivery, slot) in collected.due.into_iter().zip(slots) {
            let (sender, webhook, breaker) = (task.sender.clone(), webhook.clone(), breaker.clone());
            self.flight.spawn(async move {
                let (id, body) = (delivery.id.to_string(), delivery.body.clone());
                let attempt = sender.send(&webhook.target, &webhook.secrets, &id, body).await;
                breaker.record(&attempt);
                SentDelivery { webhook: webhook.name.clone(), delivery, attempt, slot }
            });
        }
    }

    /// Reports what has become of this delivery, and of others that are done.
    async fn report(&mut self, first: SentDelivery) {
        let mut by_webhook = HashMap::<_, Vec<_>>::new();
        let mut next = Some(first);
        while let Some(sent) = next {
            by_webhook.entry(sent.webhook.clone()).or_default().push(sent);
            next = self.flight.try_join_next().map(joined);
        }
        for (webhook, all) in by_webhook {
            self.mark(&webhook, all).await;
        }
    }

    async fn mark(&mut self, webhook: &Name, all: Vec<SentDelivery>) {
        let task = self.task;
        // An attempt that stops the webhook is the one to note.
        let last = all.iter().find(|sent| is_gone(&sent.attempt)).or(all.last()).map(|sent| sent.attempt);
        let posted: Vec<_> = all.into_iter().map(|sent| self.judge(sent)).collect();
        let Ok((now, next)) = task.context.queues.posted(&task.queue, webhook, &posted).await else {
            // They are due again after a while.
            task.due_in(webhook, Queues::COLLECTED_FOR);
            return;
        };
        if let Some(next) = next {
            task.due_in(webhook, next);
        }
        let Some(attempt) = last else { return };
        let failures = task.context.breaker(webhook).failures();
        task.context.note(webhook, &LastAttempt::new(now, &attempt, failures)).await;
        if is_gone(&attempt) {
            tracing::warn!(
                webhook = webhook.as_str(),
                "the receiver answered 410: the webhook rests until `redeliver`"
            );
            // On failure the next attempt gets the same answer.
            let _ = task.context.queues.stop_webhook(webhook, now).await;
        }
    }

    /// What becomes of a delivery after an attempt.
    fn judge(&mut self, sent: SentDelivery) -> Posted {
        let SentDelivery { webhook, delivery, attempt, slot } = sent;
        let DueDelivery { id, due_at, mut head, .. } = delivery;
        (head.status, head.error) = (attempt.status, LastAttempt::error_of(&attempt));
        let (outcome, sent) = if attempt.is_taken() {
            ("taken", Sent::Taken)
        } else if is_gone(&attempt) {
            ("retried", Sent::Back(due_at))
        } else if slot.is_probe {
            // The next one is tried then: this one alone may be what the receiver cannot take.
            *self.tried.entry(webhook.clone()).or_default() += 1;
            ("retried", Sent::Back(due_at))
        } else {
            head.attempts += 1;
            let pause = schedule::pause(head.attempts, attempt.retry_after);
            pause.map_or(("failed", Sent::Failed), |pause| ("retried", Sent::Again(pause)))
        };
        intray_metrics::WEBHOOK_DELIVERIES_TOTAL.of(&[webhook.as_str(), outcome]).inc();
        Posted { id, head, sent }
    }
}

/// A panic goes on in the task of the queue.
fn joined<T>(ended: Result<T, JoinError>) -> T {
    ended.unwrap_or_else(|error| resume_unwind(error.into_panic()))
}
