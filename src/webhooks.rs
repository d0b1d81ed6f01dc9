//! Webhooks: receivers that the operator's file names, to which the events of queues are sent. The stream of events is the outbox: no
//! call that changes jobs knows of a webhook.

mod body;
mod breaker;
mod context;
mod dispatch;
mod file;
mod forget;
mod line;
mod queue;
mod reader;
mod schedule;
mod state;
mod test_event;
mod types;

use std::{sync::Arc, time::Duration};

use intray_webhook::{Attempt, Sender};
use tokio_util::sync::CancellationToken;

use self::{context::WebhookContext, dispatch::Dispatch, reader::QueueReader};
pub use self::{
    file::{WebhookFile, Webhooks},
    line::{NewWebhook, Webhook},
    state::{LastAttempt, WebhookCounts, WebhookHealth, WebhookState},
    test_event::{TestReport, send_test, test_all},
    types::Types,
};
use crate::{
    job::{Name, QueueName},
    store::{Actor, DeliveryId, Fault, KnownWebhook, Queues},
    waiting::Waiting,
};

/// The webhooks of this instance. A cheap handle.
#[derive(Clone)]
pub struct Dispatcher {
    /// `None`: this instance sends nothing.
    source: Option<(WebhookFile, Sender)>,
    context: Arc<WebhookContext>,
}

impl Dispatcher {
    /// With the file of the webhooks and what sends them.
    pub fn new(queues: Queues, waiting: Waiting, source: Option<(WebhookFile, Sender)>) -> Self {
        Self { source, context: Arc::new(WebhookContext::new(queues, waiting)) }
    }

    /// Names the webhooks of the file: events from then on are for them. What Redis does not take now, [`Self::run`] names later.
    pub async fn begin(&self) {
        if self.source.is_some() {
            let _ = self.name().await;
        }
    }

    /// Names the webhooks of the file. Returns all that instances have named.
    async fn name(&self) -> Result<Vec<KnownWebhook>, Fault> {
        let file = self.all();
        self.context.queues.name_webhooks(file.iter().map(|webhook| webhook.named())).await
    }

    /// Reads events and sends deliveries until it is stopped.
    pub async fn run(self, stop: CancellationToken) {
        let forgetting = forget::run(self.clone(), stop.clone());
        match self.source {
            Some((file, sender)) => {
                let dispatch = Dispatch::new(self.context, sender, file.subscribe());
                tokio::join!(forgetting, file.run(stop.clone()), dispatch.run(stop));
            }
            None => forgetting.await,
        }
    }

    /// Makes deliveries of all events of a queue, for the webhooks of the file that it is for. False: its task is not there yet.
    ///
    /// # Errors
    /// When Redis is not well, or has no memory for deliveries.
    pub async fn catch_up(&self, queue: &QueueName) -> Result<bool, Fault> {
        if !self.all().iter().any(|webhook| webhook.pattern.matches(queue)) {
            return Ok(true);
        }
        let task = self.context.tasks.lock().get(queue).cloned();
        let Some(task) = task else { return Ok(false) };
        QueueReader::new(&task).catch_up().await?;
        Ok(true)
    }

    /// The webhooks of the file, in its order.
    pub fn all(&self) -> Vec<Arc<Webhook>> {
        self.source.as_ref().map(|(file, _)| file.current().to_vec()).unwrap_or_default()
    }

    pub fn find(&self, name: &str) -> Option<Arc<Webhook>> {
        self.all().into_iter().find(|webhook| webhook.name.as_str() == name)
    }

    /// The states of webhooks on all instances, with the counts of the queues that `sees` allows; of queues whose node is away, as they
    /// stood last.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn states(
        &self,
        webhooks: &[Arc<Webhook>],
        sees: impl Fn(&QueueName) -> bool,
    ) -> Result<Vec<WebhookState>, Fault> {
        let known = self.name().await?;
        let mut names = self.context.queues.names().await?;
        names.retain(|queue| sees(queue) && webhooks.iter().any(|webhook| webhook.pattern.matches(queue)));
        let states = self.context.read_all(&names).await?;
        let of = |webhook: &Arc<Webhook>| {
            let counts = WebhookCounts::of(states.iter().flatten(), &webhook.name);
            WebhookState::new(known.iter().find(|known| known.name == webhook.name), counts)
        };
        Ok(webhooks.iter().map(of).collect())
    }

    /// The failed deliveries of a queue are due now, or this delivery is, on new connections; a webhook that was stopped continues. Returns
    /// how many.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn redeliver(
        &self,
        actor: &Actor,
        queue: &QueueName,
        webhook: &Name,
        id: Option<&DeliveryId>,
    ) -> Result<u64, Fault> {
        let WebhookContext { queues, tasks, .. } = &*self.context;
        let count = queues.redeliver(queue, webhook, id, actor).await?;
        queues.start_webhook(webhook).await?;
        self.source.iter().for_each(|(_, sender)| sender.reconnect());
        self.context.breaker(webhook).stop(false);
        if let Some(task) = tasks.lock().get(queue) {
            task.due_in(webhook, Duration::ZERO);
        }
        Ok(count)
    }

    /// Sends `intray.test` now. If it is taken, the webhook no longer fails.
    ///
    /// # Errors
    /// The time until this webhook may be tested again.
    pub async fn test(&self, webhook: &Webhook) -> Result<Attempt, Duration> {
        self.context.breaker(&webhook.name).may_test()?;
        let (_, sender) = self.source.as_ref().ok_or(Duration::ZERO)?;
        let attempt = send_test(sender, webhook).await;
        if attempt.is_taken() {
            // Where Redis is not well, the next delivery that is taken reports it.
            let _ = self.end_failing(&webhook.name).await;
        }
        Ok(attempt)
    }

    /// The receiver is there again: this instance no longer pauses.
    async fn end_failing(&self, webhook: &Name) -> Result<(), Fault> {
        self.context.breaker(webhook).end_failing();
        let known = self.name().await?.into_iter().find(|known| known.name == *webhook);
        if let Some(last) = known.and_then(|known| LastAttempt::parse(&known.last)).filter(|last| last.failures > 0) {
            self.context.note(webhook, &LastAttempt { failures: 0, ..last }).await;
        }
        Ok(())
    }

    /// The webhooks of the file with their counts, as this instance has last read them.
    pub fn last_counts(&self) -> Vec<(Arc<Webhook>, WebhookCounts)> {
        self.all().into_iter().map(|webhook| (webhook.clone(), self.context.counts.of(&webhook.name))).collect()
    }
}
