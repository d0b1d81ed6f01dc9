//! A queue that webhooks are for. Its task on this instance reads the events, sends the deliveries that are due, and marks what has
//! become of each.

#[cfg(test)]
mod tests;

use std::{
    collections::{HashMap, HashSet},
    panic::{AssertUnwindSafe, resume_unwind},
    sync::Arc,
    time::Duration,
};

use futures_util::FutureExt;
use intray_webhook::Attempt;
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use super::{
    breaker::{SendSlot, is_gone},
    context::{QueueTask, RETRY_AFTER},
    reader::QueueReader,
    schedule,
    state::LastAttempt,
};
use crate::{
    job::{Name, QueueName},
    store::{DueDelivery, Posted, Queues, Sent},
};

/// What is in flight at the end may take this long. It is sent again by another instance if it took longer.
const LAST_ATTEMPTS: Duration = Duration::from_secs(3);

/// Serves the queue until it is stopped.
pub(super) async fn serve(task: Arc<QueueTask>) {
    let read = || async {
        task.stop.run_until_cancelled(QueueReader::new(&task).run()).await;
        task.context.hear(&task.queue, false);
    };
    let work = || async {
        tokio::join!(read(), QueueSender::new(&task).run());
    };
    run_despite_panics(&task.queue, &task.stop, work).await;
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
    was_probe: bool,
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
                Some(ended) = self.flight.join_next() => self.report(ended).await,
                () = task.due_changed.notified() => {}
                () = next_is_due => {}
                () = task.stop.cancelled() => {}
            }
        }
        self.end_flight().await;
    }

    /// Waits for what is in flight: to its end if only the queue is no longer served.
    async fn end_flight(&mut self) {
        let task = self.task;
        let last_attempts = async {
            task.shutdown.cancelled().await;
            tokio::time::sleep(LAST_ATTEMPTS).await;
        };
        let reports = async {
            while let Some(ended) = self.flight.join_next().await {
                self.report(ended).await;
            }
        };
        tokio::select! {
            () = reports => {}
            () = last_attempts => {}
        }
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
                let was_probe = slot.is_probe;
                drop(slot);
                SentDelivery { webhook: webhook.name.clone(), delivery, attempt, was_probe }
            });
        }
    }

    /// Reports what has become of this delivery, and of others that are done.
    async fn report(&mut self, first: Result<SentDelivery, JoinError>) {
        let mut by_webhook = HashMap::<_, Vec<_>>::new();
        let mut next = Some(first);
        while let Some(ended) = next {
            match ended {
                Ok(sent) => by_webhook.entry(sent.webhook.clone()).or_default().push(sent),
                // It was collected, so it is due again after a while.
                Err(_) => tracing::error!(
                    queue = %self.task.queue,
                    "sending a delivery of this queue has met a panic, and it is tried again in a minute: report it"
                ),
            }
            next = self.flight.try_join_next();
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
        let SentDelivery { webhook, delivery, attempt, was_probe } = sent;
        let DueDelivery { id, due_at, mut head, .. } = delivery;
        (head.status, head.error) = (attempt.status, LastAttempt::error_of(&attempt));
        let (outcome, sent) = if attempt.is_taken() {
            ("taken", Sent::Taken)
        } else if is_gone(&attempt) {
            ("retried", Sent::Back(due_at))
        } else if was_probe {
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
