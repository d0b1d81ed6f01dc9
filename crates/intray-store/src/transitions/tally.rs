//! tally: events of a queue are added to its day sheets, and the cursor moves past them.

use intray_redis::{Args, Fault};

use crate::{
    handle::Queues,
    job::QueueName,
    redis::read::broken,
    transition::{Effect, Reply, Transition},
};

/// A change of day sheets.
#[derive(Debug, Clone, Default)]
pub struct SheetChange {
    /// The cursor's record as it was read.
    pub read: String,
    pub reached: String,
    /// Fields with their new values; an empty one is removed.
    pub fields: Vec<(String, Vec<u8>)>,
}

struct TallyEvents<'c>(&'c SheetChange);

impl Queues {
    /// Adds events. False: another instance has changed the sheets since they were read, and nothing was written.
    ///
    /// # Errors
    /// When Redis is not well, or has no memory for more.
    pub async fn tally(&self, queue: &QueueName, change: &SheetChange) -> Result<bool, Fault> {
        self.run_alone(queue, &TallyEvents(change)).await
    }
}

impl SheetChange {
    /// `worker`: whose lines these are, for the script that asks.
    pub(super) fn args(&self, worker: Option<&str>) -> Args {
        let mut args = Args::default();
        args.push(&self.read).push(&self.reached);
        worker.iter().for_each(|worker| _ = args.push(worker));
        for (field, value) in &self.fields {
            args.push(field).push(value);
        }
        args
    }

    /// Whether it was made.
    pub(super) fn read(reply: Reply<'_>) -> Result<bool, Fault> {
        match reply.words()?.0 {
            "changed" => Ok(true),
            "moved" => Ok(false),
            _ => Err(broken("changed or moved")),
        }
    }
}

impl Transition for TallyEvents<'_> {
    type Outcome = bool;
    const SCRIPT: &'static str = "tally";
    const EFFECT_OF_FAULT: Effect = Effect::None;

    fn args(&self) -> Args {
        self.0.args(None)
    }

    fn read(&self, reply: Reply<'_>) -> Result<bool, Fault> {
        SheetChange::read(reply)
    }

    fn effect(&self, _: &bool) -> Effect {
        Effect::None
    }
}
