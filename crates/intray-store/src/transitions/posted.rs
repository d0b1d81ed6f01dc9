//! posted: an instance reports what became of deliveries that it has sent.

use std::time::Duration;

use intray_redis::{Args, Fault};

use crate::{
    handle::Queues,
    job::{Millis, Name, QueueName},
    layout::delivery::{DeliveryHead, DeliveryId},
    transition::{Effect, Reply, Transition},
};

/// A delivery that was sent.
#[derive(Debug)]
pub struct Posted {
    pub id: DeliveryId,
    pub head: DeliveryHead,
    pub sent: Sent,
}

/// What becomes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// The receiver has it.
    Taken,
    /// It is sent again after this time.
    Again(Duration),
    /// It waits as before, since this time.
    Back(Millis),
    /// It was tried as often as it may be.
    Failed,
}

struct PostedTo<'p>(&'p Name, &'p [Posted]);

impl Queues {
    /// Returns the time of Redis, and the time until the next delivery is due.
    ///
    /// # Errors
    /// When Redis is not well. What was sent is then sent again.
    pub async fn posted(
        &self,
        queue: &QueueName,
        webhook: &Name,
        posted: &[Posted],
    ) -> Result<(Millis, Option<Duration>), Fault> {
        self.run_alone(queue, &PostedTo(webhook, posted)).await
    }
}

impl Transition for PostedTo<'_> {
    type Outcome = (Millis, Option<Duration>);
    const SCRIPT: &'static str = "posted";
    const EFFECT_OF_FAULT: Effect = Effect::None;

    fn args(&self) -> Args {
        let mut args = Args::default();
        args.push(self.0.as_str());
        for Posted { id, head, sent } in self.1 {
            let (how, ms) = match sent {
                Sent::Taken => ("taken", 0),
                Sent::Again(after) => ("again", after.as_millis() as u64),
                Sent::Back(since) => ("back", since.0),
                Sent::Failed => ("failed", 0),
            };
            args.push(id.code().as_bytes()).push(how).number(ms).push(head.to_string());
        }
        args
    }

    fn read(&self, reply: Reply<'_>) -> Result<Self::Outcome, Fault> {
        let mut fields = reply.fields()?;
        Ok((fields.time()?, fields.maybe()?.map(Duration::from_millis)))
    }

    fn effect(&self, _: &Self::Outcome) -> Effect {
        Effect::None
    }
}
