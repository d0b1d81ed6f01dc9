//! erase: lines or days of the day sheets are removed.

use intray_redis::{Args, Fault};

use super::tally::SheetChange;
use crate::{
    handle::Queues,
    job::{Name, QueueName},
    transition::{Effect, Reply, Transition},
};

struct Erase<'c> {
    change: &'c SheetChange,
    worker: Option<&'c Name>,
}

impl Queues {
    /// Removes days, or lines of a worker, also while Redis is full. False: the sheets have changed since they were read, or an event that
    /// is not counted yet names the worker, and nothing was removed.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn erase(&self, queue: &QueueName, worker: Option<&Name>, change: &SheetChange) -> Result<bool, Fault> {
        self.run_alone(queue, &Erase { change, worker }).await
    }
}

impl Transition for Erase<'_> {
    type Outcome = bool;
    const SCRIPT: &'static str = "erase";
    const EFFECT_OF_FAULT: Effect = Effect::None;

    fn args(&self) -> Args {
        self.change.args(Some(self.worker.map_or("", Name::as_str)))
    }

    fn effect(&self, _: &bool) -> Effect {
        Effect::None
    }

    fn read(&self, reply: Reply<'_>) -> Result<bool, Fault> {
        SheetChange::read(reply)
    }
}
