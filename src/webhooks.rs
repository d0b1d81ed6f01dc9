//! Webhooks: receivers that the operator's file names, to which the events of queues are sent. The stream of events is the outbox: no
//! call that changes jobs knows of a webhook.

mod attempt;
mod body;
mod courier;
mod dispatch;
mod file;
mod forget;
mod line;
mod reader;
mod schedule;
mod shared;
mod state;
mod test_event;
mod types;

use std::{sync::Arc, time::Duration};

use intray_webhook::{Attempt, Sender};
use tokio_util::sync::CancellationToken;

pub use self::{
    attempt::LastAttempt,
    file::{WebhookFile, Webhooks},
    line::{NewWebhook, Webhook},
    shared::WebhookCounts,
    state::{WebhookHealth, WebhookState},
    test_event::{TestReport, send_test, test_all},
    types::Types,
};
use self::{dispatch::Dispatch, shared::Shared};
use crate::{
    job::{Name, QueueName},
    store::{Actor, DeliveryId, Fault, KnownWebhook, Queues},
    waiting::Waiting,
};

/// How often one webhook may be tested.
const TEST_PAUSE: Duration = Duration::from_secs(1);

/// The webhooks of this instance. A cheap handle.
#[derive(Clone)]
pub struct Dispatcher {
    /// `None`: this instance sends nothing.
    source: Option<(WebhookFile, Sender)>,
    shared: Arc<Shared>,
}

impl Dispatcher {
    /// With the file of the webhooks and what sends them.
    pub fn new(queues: Queues, waiting: Waiting, source: Option<(WebhookFile, Sender)>) -> Self {
        Self { source, shared: Arc::new(Shared::new(queues, waiting)) }
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
        self.shared.queues.name_webhooks(file.iter().map(|webhook| webhook.named())).await
    }

    /// Reads events and sends deliveries until it is stopped.
    pub async fn run(self, stop: CancellationToken) {
        let forgetting = forget::run(self.clone(), stop.clone());
        match self.source {
            Some((file, sender)) => {
                let dispatch = Dispatch::new(self.shared, sender, file.subscribe());
                tokio::join!(forgetting, file.run(stop.clone()), dispatch.run(stop));
            }
            None => forgetting.await,
        }
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
        let mut names = self.shared.queues.names().await?;
        names.retain(|queue| sees(queue) && webhooks.iter().any(|webhook| webhook.pattern.matches(queue)));
        let states = self.shared.read_all(&names).await?;
        let of = |webhook: &Arc<Webhook>| {
            let counts = states.iter().flatten().filter(|state| state.webhook == webhook.name);
            WebhookState::new(known.iter().find(|known| known.name == webhook.name), WebhookCounts::of(counts))
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
        let Shared { queues, .. } = &*self.shared;
        let count = queues.redeliver(queue, webhook, id, actor).await?;
        queues.start_webhook(webhook).await?;
        self.source.iter().for_each(|(_, sender)| sender.reconnect());
        let orders = self.shared.courier(webhook);
        orders.stop(false);
        orders.due_in(queue, Duration::ZERO);
        Ok(count)
    }

    /// Sends `intray.test` now. If it is taken, the webhook no longer fails.
    ///
    /// # Errors
    /// The time until this webhook may be tested again.
    pub async fn test(&self, webhook: &Webhook) -> Result<Attempt, Duration> {
        self.shared.may_test(&webhook.name, TEST_PAUSE)?;
        let (_, sender) = self.source.as_ref().ok_or(TEST_PAUSE)?;
        let attempt = send_test(sender, webhook).await;
        if attempt.is_taken() {
            // Where Redis is not well, the next delivery that is taken reports it.
            let _ = self.end_failing(&webhook.name).await;
        }
        Ok(attempt)
    }

    /// The receiver is there again: this instance no longer pauses.
    async fn end_failing(&self, webhook: &Name) -> Result<(), Fault> {
        self.shared.courier(webhook).end_failing();
        let known = self.name().await?.into_iter().find(|known| known.name == *webhook);
        if let Some(last) = known.and_then(|known| LastAttempt::parse(&known.last)).filter(|last| last.failures > 0) {
            self.shared.note(webhook, &LastAttempt { failures: 0, ..last }).await;
        }
        Ok(())
    }

    /// The webhooks of the file with their counts, as this instance has last read them.
    pub fn last_counts(&self) -> Vec<(Arc<Webhook>, WebhookCounts)> {
        self.all().into_iter().map(|webhook| (webhook.clone(), self.shared.counts.of(&webhook.name))).collect()
    }
}
