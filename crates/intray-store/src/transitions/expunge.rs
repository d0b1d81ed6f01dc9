//! expunge: events that name a worker are deleted after the name was taken out of the queue.

use intray_redis::{Args, Fault};

use super::unname::in_json;
use crate::{
    handle::Queues,
    job::{Name, QueueName},
    redis::read::broken,
    transition::{Effect, Reply, Transition},
};

/// Steps of one visit for one name: of the background task, and of a call, which leaves the rest to that.
const VISIT_STEPS: u32 = 50;
const CALL_STEPS: u32 = 5;

/// The names that were taken out of a queue, and whose events wait.
struct UnnamedWorkers;

struct Expunge<'n>(&'n Name);

/// What a step leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExpungeLeft {
    More,
    /// For readers of the events, or for a call that goes on.
    Waits,
    Nothing,
}

impl Queues {
    /// Deletes the events that name workers whose names were taken out of the queue, as far as their readers have passed, in bounded steps.
    /// A task of each instance does that every few seconds.
    ///
    /// # Errors
    /// When Redis is not well. The next visit continues from there.
    pub async fn expunge(&self, queue: &QueueName) -> Result<(), Fault> {
        let mut is_any = false;
        for name in self.run_alone(queue, &UnnamedWorkers).await? {
            is_any |= !self.expunge_worker(queue, &name, VISIT_STEPS).await?;
        }
        self.note_erasures(queue, is_any);
        Ok(())
    }

    /// The first steps for one name.
    ///
    /// # Errors
    /// As [`Self::expunge`].
    pub async fn begin_expunge(&self, queue: &QueueName, worker: &Name) -> Result<(), Fault> {
        self.expunge_worker(queue, worker, CALL_STEPS).await?;
        Ok(())
    }

    /// Returns whether nothing is left of the name.
    async fn expunge_worker(&self, queue: &QueueName, worker: &Name, max_steps: u32) -> Result<bool, Fault> {
        for _ in 0..max_steps {
            match self.run_alone(queue, &Expunge(worker)).await? {
                ExpungeLeft::More => {}
                ExpungeLeft::Waits => return Ok(false),
                ExpungeLeft::Nothing => return Ok(true),
            }
        }
        Ok(false)
    }
}

impl Transition for UnnamedWorkers {
    type Outcome = Vec<Name>;
    const SCRIPT: &'static str = "expunge";
    const EFFECT_OF_FAULT: Effect = Effect::None;

    fn args(&self) -> Args {
        let mut args = Args::default();
        args.push("").push("");
        args
    }

    fn read(&self, reply: Reply<'_>) -> Result<Vec<Name>, Fault> {
        let ((_, mut fields), mut names) = (reply.words()?, Vec::new());
        while !fields.is_done() {
            names.extend(Name::parse(&fields.text()?).ok());
        }
        Ok(names)
    }

    fn effect(&self, _: &Vec<Name>) -> Effect {
        Effect::None
    }
}

impl Transition for Expunge<'_> {
    type Outcome = ExpungeLeft;
    const SCRIPT: &'static str = "expunge";
    const EFFECT_OF_FAULT: Effect = Effect::None;

    fn args(&self) -> Args {
        let mut args = Args::default();
        args.push(self.0.as_str()).push(in_json(self.0));
        args
    }

    fn read(&self, reply: Reply<'_>) -> Result<ExpungeLeft, Fault> {
        match reply.words()?.0 {
            "more" => Ok(ExpungeLeft::More),
            "waits" => Ok(ExpungeLeft::Waits),
            "done" => Ok(ExpungeLeft::Nothing),
            _ => Err(broken("more, waits or done")),
        }
    }

    fn effect(&self, _: &ExpungeLeft) -> Effect {
        Effect::None
    }
}
