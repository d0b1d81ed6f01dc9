//! erase: lines or days of the day sheets are removed.

use intray_redis::{Args, Fault};

use super::tally::SheetChange;
use crate::{
    handle::Queues,
    job::QueueName,
    transition::{Effect, Reply, Transition},
};

struct Erase<'c> {
    change: &'c SheetChange,
}

impl Queues {
    /// Removes lines or days, also while Redis is full. False: another instance has changed the sheets since they were read, and nothing
    /// was removed.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn erase(&self, queue: &QueueName, change: &SheetChange) -> Result<bool, Fault> {
        self.run_alone(queue, &Erase { change }).await
    }
}

impl Transition for Erase<'_> {
    type Outcome = bool;
    const SCRIPT: &'static str = "erase";
    const EFFECT_OF_FAULT: Effect = Effect::None;

    fn args(&self) -> Args {
        self.change.args()
    }

    fn effect(&self, _: &bool) -> Effect {
        Effect::None
    }

    fn read(&self, reply: Reply<'_>) -> Result<bool, Fault> {
        SheetChange::read(reply)
    }
}
