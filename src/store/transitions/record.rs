//! record: what was counted goes into the history of the queue, when a minute is over.

use intray_redis::{Args, Fault};

use crate::{
    job::QueueName,
    store::{
        handle::Queues,
        transition::{Effect, Reply, Transition},
    },
};

struct Record;

/// What is in the history of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entered {
    /// Something was counted since, and is to be entered when the minute is over.
    pub waits: bool,
    /// How long the minute goes on, by Redis's clock.
    pub minute_ms: u64,
}

impl Queues {
    /// Enters what was counted of a queue, once a minute at most, whichever instances ask for it.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn record(&self, queue: &QueueName) -> Result<Entered, Fault> {
        self.run_alone(queue, &Record).await
    }
}

impl Transition for Record {
    type Outcome = Entered;
    const SCRIPT: &'static str = "record";
    const EFFECT_OF_FAULT: Effect = Effect::None;

    fn args(&self) -> Args {
        Args::default()
    }

    fn read(&self, reply: Reply<'_>) -> Result<Entered, Fault> {
        let mut fields = reply.fields()?;
        Ok(Entered { waits: fields.flag()?, minute_ms: fields.count()? })
    }

    fn effect(&self, _: &Entered) -> Effect {
        Effect::None
    }
}
