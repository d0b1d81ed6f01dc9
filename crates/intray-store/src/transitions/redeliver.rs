//! redeliver: an operator sends failed deliveries again.

use intray_redis::{Args, Fault};

use crate::{
    handle::Queues,
    job::{Name, QueueName},
    layout::{action::Actor, delivery::DeliveryId},
    transition::{Effect, Reply, Transition},
};

/// Deliveries per script.
const PART: u32 = 100;

struct Redeliver<'r> {
    webhook: &'r Name,
    /// All that have failed, if there is none.
    id: Option<&'r DeliveryId>,
    actor: &'r Actor,
}

impl Queues {
    /// All failed deliveries are due now, or this one is, failed or not. Returns how many.
    ///
    /// # Errors
    /// When Redis is not well. Some may be due then.
    pub async fn redeliver(
        &self,
        queue: &QueueName,
        webhook: &Name,
        id: Option<&DeliveryId>,
        actor: &Actor,
    ) -> Result<u64, Fault> {
        let mut sum = 0;
        loop {
            let (count, more) = self.run_alone(queue, &Redeliver { webhook, id, actor }).await?;
            sum += count;
            if !more {
                return Ok(sum);
            }
        }
    }
}

impl Transition for Redeliver<'_> {
    /// How many, and whether there may be more.
    type Outcome = (u64, bool);
    const SCRIPT: &'static str = "redeliver";
    const EFFECT_OF_FAULT: Effect = Effect::None;

    fn args(&self) -> Args {
        let mut args = Args::default();
        args.push(self.webhook.as_str()).push(self.id.map_or("", |id| id.code().as_str())).number(PART.into());
        args.push(self.actor.note());
        args
    }

    fn read(&self, reply: Reply<'_>) -> Result<Self::Outcome, Fault> {
        let mut fields = reply.fields()?;
        Ok((fields.count()?, fields.flag()?))
    }

    fn effect(&self, _: &Self::Outcome) -> Effect {
        Effect::None
    }
}
