//! collect: an instance takes deliveries that are due, to send them.

use std::time::Duration;

use bytes::Bytes;
use intray_redis::{Args, Fault};

use crate::{
    handle::Queues,
    job::{Millis, Name, QueueName},
    layout::delivery::{DeliveryHead, DeliveryId},
    redis::read::Fields,
    transition::{Effect, Reply, Transition},
};

struct Collect<'c> {
    webhook: &'c Name,
    limit: u32,
    passed_over: u32,
}

/// A delivery to be sent now.
#[derive(Debug)]
pub struct DueDelivery {
    pub id: DeliveryId,
    /// When it was due.
    pub due_at: Millis,
    pub head: DeliveryHead,
    pub body: Bytes,
}

#[derive(Debug)]
pub struct Collected {
    pub due: Vec<DueDelivery>,
    /// Until the next one is due; `None`: there is no other.
    pub next: Option<Duration>,
}

impl Queues {
    /// For this long no other instance collects a delivery again. It is longer than all attempts of one call take together.
    pub const COLLECTED_FOR: Duration = Duration::from_secs(60);

    /// Takes up to `limit` deliveries that are due, after those that are `passed_over`.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn collect(
        &self,
        queue: &QueueName,
        webhook: &Name,
        limit: u32,
        passed_over: u32,
    ) -> Result<Collected, Fault> {
        self.run_alone(queue, &Collect { webhook, limit, passed_over }).await
    }
}

impl Transition for Collect<'_> {
    type Outcome = Collected;
    const SCRIPT: &'static str = "collect";
    const EFFECT_OF_FAULT: Effect = Effect::None;

    fn args(&self) -> Args {
        let mut args = Args::default();
        args.push(self.webhook.as_str()).number(self.limit.into()).number(self.passed_over.into());
        args.number(Queues::COLLECTED_FOR.as_millis() as u64);
        args
    }

    fn read(&self, reply: Reply<'_>) -> Result<Collected, Fault> {
        let mut fields = reply.fields()?;
        let next = fields.maybe()?.map(Duration::from_millis);
        let due = fields.lists().map(|delivery| read_due(delivery?)).collect::<Result<_, Fault>>()?;
        Ok(Collected { due, next })
    }

    fn effect(&self, _: &Collected) -> Effect {
        Effect::None
    }
}

fn read_due(mut fields: Fields<'_>) -> Result<DueDelivery, Fault> {
    let (id, due_at) = (DeliveryId::of_code(fields.code()?), fields.time()?);
    Ok(DueDelivery { id, due_at, head: DeliveryHead::parse(fields.word()?)?, body: fields.bytes()?.into() })
}
