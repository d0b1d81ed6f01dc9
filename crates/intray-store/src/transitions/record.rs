//! record: the background task adds the counts of a minute to the history of the queue.

use intray_redis::{Args, Fault};

use crate::{
    handle::Queues,
    job::QueueName,
    transition::{Effect, Reply, Transition},
};

struct Record;

/// The state of a queue's history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entered {
    /// There are newer counts, to be recorded when the minute ends.
    pub waits: bool,
    /// How long the minute still lasts, by the clock of Redis.
    pub minute_ms: u64,
}

impl Queues {
    /// Records the counts of a queue, at most once a minute over all instances.
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
