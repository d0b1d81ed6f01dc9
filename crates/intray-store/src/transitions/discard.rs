//! discard: the background task removes what a forgotten webhook has in a queue.

use intray_redis::{Args, Fault};

use crate::{
    handle::Queues,
    job::{Name, QueueName},
    transition::{Effect, Reply, Transition},
};

/// Deliveries per script.
const PART: u32 = 100;

struct Discard<'d>(&'d Name);

impl Queues {
    /// Removes the deliveries and the cursor of a webhook.
    ///
    /// # Errors
    /// When Redis is not well. The rest is removed another time.
    pub async fn discard(&self, queue: &QueueName, webhook: &Name) -> Result<(), Fault> {
        while self.run_alone(queue, &Discard(webhook)).await? {}
        Ok(())
    }
}

impl Transition for Discard<'_> {
    /// Whether there is more.
    type Outcome = bool;
    const SCRIPT: &'static str = "discard";
    const EFFECT_OF_FAULT: Effect = Effect::None;

    fn args(&self) -> Args {
        let mut args = Args::default();
        args.push(self.0.as_str()).number(PART.into());
        args
    }

    fn read(&self, reply: Reply<'_>) -> Result<bool, Fault> {
        reply.fields()?.flag()
    }

    fn effect(&self, _: &bool) -> Effect {
        Effect::None
    }
}
