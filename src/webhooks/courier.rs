//! Sends the deliveries of one webhook that are due, and reports what became of each.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::{Duration, Instant},
};

use intray_webhook::{Attempt, Sender};
use tokio::{sync::watch, task::JoinSet};
use tokio_util::sync::CancellationToken;

use super::{
    attempt::LastAttempt,
    line::Webhook,
    schedule,
    shared::{Orders, Shared},
};
use crate::{
    job::{Millis, Name, QueueName},
    store::{DueDelivery, Posted, Queues, Sent},
};

/// Deliveries that are sent at the same time.
const IN_FLIGHT: usize = 8;
/// Deliveries of one call: three attempts one after the other are over before another instance may collect them.
const COLLECTED: u32 = 24;
/// After this many failures in a row, one delivery is tried at a time, with a pause.
pub(super) const FAILURES_BEFORE_PAUSE: u32 = 5;
const PAUSE: Duration = Duration::from_secs(30);
/// The pause after a call to Redis that failed.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// What is in flight at the end may take this long. It is sent again by another instance if it took longer.
const LAST_ATTEMPTS: Duration = Duration::from_secs(3);
/// The answer of a receiver that wants no more.
const GONE: u16 = 410;

type Mail = (QueueName, DueDelivery);

/// One webhook on this instance.
pub(super) struct Courier {
    shared: Arc<Shared>,
    sender: Sender,
    /// It stays the same when the line of the file changes.
    name: Name,
    webhook: watch::Receiver<Arc<Webhook>>,
    orders: Arc<Orders>,
    collected: VecDeque<Mail>,
    flight: JoinSet<(Mail, Attempt)>,
    /// Failed attempts in a row.
    failures: u32,
    /// While it pauses: when the next delivery is tried, and how many of those that are due were tried without success.
    probe_at: Instant,
    tried: u32,
}

impl Courier {
    pub(super) fn new(shared: Arc<Shared>, sender: Sender, webhook: watch::Receiver<Arc<Webhook>>) -> Self {
        let name = webhook.borrow().name.clone();
        let orders = shared.courier(&name);
        let (collected, flight) = Default::default();
        Self {
            shared,
            sender,
            name,
            webhook,
            orders,
            collected,
            flight,
            failures: 0,
            probe_at: Instant::now(),
            tried: 0,
        }
    }

    /// Sends until it is stopped.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        while !stop.is_cancelled() {
            let next = self.fill().await;
            let pause = async {
                match next {
                    Some(at) => tokio::time::sleep_until(at.into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                Some(done) = self.flight.join_next(), if !self.flight.is_empty() => self.report(done.ok()).await,
                () = self.orders.changed() => {}
                changed = self.webhook.changed() => {
                    if changed.is_err() {
                        break;
                    }
                    // The receiver may be another now.
                    (self.failures, self.tried) = (0, 0);
                }
                () = pause => {}
                () = stop.cancelled() => {}
            }
        }
        let _ = tokio::time::timeout(LAST_ATTEMPTS, async {
            while let Some(done) = self.flight.join_next().await {
                self.report(done.ok()).await;
            }
        })
        .await;
        self.give_back().await;
    }

    fn pauses(&self) -> bool {
        self.failures >= FAILURES_BEFORE_PAUSE
    }

    /// How many more deliveries may be sent now.
    fn room(&self) -> usize {
        match self.pauses() {
            _ if self.orders.is_stopped() => 0,
            true if Instant::now() < self.probe_at => 0,
            true => usize::from(self.flight.is_empty()),
            false => IN_FLIGHT.saturating_sub(self.flight.len()),
        }
    }

    /// Sends as many as may be. Returns when there is more to send.
    async fn fill(&mut self) -> Option<Instant> {
        if self.orders.was_reached() {
            (self.failures, self.tried) = (0, 0);
        }
        if !self.collected.is_empty() && (self.pauses() || self.orders.is_stopped()) {
            self.give_back().await;
        }
        while self.room() > 0 {
            if let Some(mail) = self.collected.pop_front() {
                self.send(mail);
                continue;
            }
            match self.orders.next() {
                Ok(queue) => self.collect(queue).await,
                Err(at) => return at,
            }
        }
        let is_waiting = self.pauses() && !self.orders.is_stopped() && self.flight.is_empty();
        is_waiting.then_some(self.probe_at)
    }

    async fn collect(&mut self, queue: QueueName) {
        let (limit, passed_over) = if self.pauses() { (1, self.tried) } else { (COLLECTED, 0) };
        let Ok(collected) = self.shared.queues.collect(&queue, &self.name, limit, passed_over).await else {
            self.orders.due_in(&queue, RETRY_AFTER);
            return;
        };
        if let Some(next) = collected.next {
            self.orders.due_in(&queue, if collected.due.is_empty() { next.max(RETRY_AFTER) } else { next });
        }
        if collected.due.is_empty() {
            // All that are due were tried.
            self.tried = 0;
        }
        self.collected.extend(collected.due.into_iter().map(|delivery| (queue.clone(), delivery)));
    }

    fn send(&mut self, (queue, delivery): Mail) {
        let (sender, webhook) = (self.sender.clone(), self.webhook.borrow().clone());
        self.flight.spawn(async move {
            let (id, body) = (delivery.id.to_string(), delivery.body.clone());
            let attempt = sender.send(&webhook.target, &webhook.secrets, &id, body).await;
            ((queue, delivery), attempt)
        });
    }

    /// Reports what has become of this delivery, and of others that are done.
    async fn report(&mut self, first: Option<(Mail, Attempt)>) {
        let mut done: Vec<_> = first.into_iter().collect();
        while let Some(next) = self.flight.try_join_next() {
            done.extend(next.ok());
        }
        let (mut posted, mut last, was_probe) = (Vec::new(), None, self.pauses());
        for ((queue, delivery), attempt) in done {
            // An attempt that stops the webhook is the one to note.
            last = last.filter(|last: &Attempt| last.status == Some(GONE)).or(Some(attempt));
            posted.push((queue, self.judge(delivery, &attempt, was_probe)));
        }
        let now = self.post(posted).await;
        if let (Some(attempt), Some(now)) = (last, now) {
            self.note(&attempt, now).await;
        }
    }

    /// What becomes of a delivery after an attempt.
    fn judge(&mut self, delivery: DueDelivery, attempt: &Attempt, was_probe: bool) -> Posted {
        let DueDelivery { id, due_at, mut head, .. } = delivery;
        (head.status, head.error) = (attempt.status, LastAttempt::error_of(attempt));
        let sent = if attempt.is_taken() {
            (self.failures, self.tried) = (0, 0);
            Sent::Taken
        } else if attempt.status == Some(GONE) {
            self.orders.stop(true);
            Sent::Back(due_at)
        } else {
            self.failures = self.failures.saturating_add(1);
            if self.pauses() {
                self.probe_at = Instant::now() + PAUSE;
            }
            if was_probe {
                // The next one is tried then: this one alone may be what the receiver cannot take.
                self.tried += 1;
                Sent::Back(due_at)
            } else {
                head.attempts += 1;
                schedule::pause(head.attempts, attempt.retry_after).map_or(Sent::Failed, Sent::Again)
            }
        };
        self.count(sent);
        Posted { id, head, sent }
    }

    fn count(&self, sent: Sent) {
        let outcome = match sent {
            Sent::Taken => "taken",
            Sent::Again(_) | Sent::Back(_) => "retried",
            Sent::Failed => "failed",
        };
        intray_metrics::WEBHOOK_DELIVERIES_TOTAL.of(&[self.name.as_str(), outcome]).inc();
    }

    /// Reports what became of deliveries, queue by queue. Returns the time of Redis.
    async fn post(&self, posted: Vec<(QueueName, Posted)>) -> Option<Millis> {
        let mut by_queue = HashMap::<_, Vec<_>>::new();
        for (queue, posted) in posted {
            by_queue.entry(queue).or_default().push(posted);
        }
        let mut last = None;
        for (queue, posted) in by_queue {
            match self.shared.queues.posted(&queue, &self.name, &posted).await {
                Ok((now, next)) => {
                    last = Some(now);
                    if let Some(next) = next {
                        self.orders.due_in(&queue, next);
                    }
                }
                // They are due again after a while.
                Err(_) => self.orders.due_in(&queue, Queues::COLLECTED_FOR),
            }
        }
        last
    }

    /// What was collected and not sent waits as before.
    async fn give_back(&mut self) {
        let back = |(queue, DueDelivery { id, due_at, head, .. }): Mail| {
            (queue, Posted { id, head, sent: Sent::Back(due_at) })
        };
        let unsent = self.collected.drain(..).map(back).collect();
        self.post(unsent).await;
    }

    async fn note(&self, attempt: &Attempt, now: Millis) {
        self.shared.note(&self.name, &LastAttempt::new(now, attempt, self.failures)).await;
        if attempt.status == Some(GONE) {
            tracing::warn!(
                webhook = self.name.as_str(),
                "the receiver answered 410: the webhook rests until `redeliver`"
            );
            // On failure the next attempt gets the same answer.
            let _ = self.shared.queues.stop_webhook(&self.name, now).await;
        }
    }
}
