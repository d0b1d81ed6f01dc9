//! undo: gives back the new reservations of a caller that left before its answer was delivered.

use std::sync::Arc;

use intray_redis::{Args, Fault};

use crate::{
    job::{Code, QueueName},
    runner::Runner,
    transition::{Effect, Reply, Transition, run},
};

/// The new reservations of a call. If it is dropped before [`Undo::disarm`], the jobs are given back, because the answer was
/// not delivered.
#[derive(Default)]
pub struct Undo(Vec<UndoGroup>);

struct UndoGroup {
    runner: Arc<Runner>,
    queue: QueueName,
    jobs: Jobs,
}

/// Each job, and the secret of its reservation.
type Jobs = Vec<(Code, Code)>;

impl std::fmt::Debug for Undo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Undo({})", self.0.len())
    }
}

impl Undo {
    pub(crate) fn of(runner: &Arc<Runner>, queue: &QueueName, jobs: Jobs) -> Self {
        Self(vec![UndoGroup { runner: runner.clone(), queue: queue.clone(), jobs }])
    }

    /// The answer was delivered.
    pub fn disarm(mut self) {
        self.0.clear();
    }

    pub(crate) fn join(&mut self, mut other: Self) {
        if self.0.is_empty() {
            std::mem::swap(self, &mut other);
        }
        self.0.append(&mut other.0);
    }
}

impl Drop for Undo {
    fn drop(&mut self) {
        for taken in self.0.drain(..) {
            let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
            let tasks = taken.runner.tasks.clone();
            tasks.spawn_on(give_back(taken), &runtime);
        }
    }
}

async fn give_back(taken: UndoGroup) {
    let mut step = GiveBack(taken.jobs);
    while !step.0.is_empty() {
        // If this fails too, the leases expire.
        let Ok(done @ 1..) = run(&taken.runner, &taken.queue, &step).await else { return };
        step.0.drain(..done.min(step.0.len()));
    }
    tracing::debug!(queue = %taken.queue, "gave the jobs of a caller that has left back");
}

struct GiveBack(Jobs);

impl Transition for GiveBack {
    /// How many reservations were given back, from the front; the next script takes the rest.
    type Outcome = usize;
    const SCRIPT: &'static str = "undo";

    fn args(&self) -> Args {
        let mut args = Args::default();
        for (code, secret) in &self.0 {
            args.push(code.as_str()).push(secret.as_str());
        }
        args
    }

    fn read(&self, reply: Reply<'_>) -> Result<usize, Fault> {
        let mut done = 0;
        for answer in reply.fields()?.lists() {
            if answer?.word()? == "later" {
                break;
            }
            done += 1;
        }
        Ok(done)
    }

    fn effect(&self, _: &usize) -> Effect {
        Effect::Moved
    }
}
