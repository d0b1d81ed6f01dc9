//! stage: continues a long operation on a batch in bounded steps.

use intray_redis::{Args, Fault};

use crate::{
    handle::Queues,
    job::{BatchId, limits},
    transition::{Effect, Reply, Transition},
};

/// One bounded step.
struct BatchStage<'b> {
    id: &'b BatchId,
    how: &'static str,
}

impl Queues {
    /// Continues a long operation on a batch. The sweep continues one that is longer than a call may take.
    pub(crate) async fn continue_stage(&self, id: &BatchId) -> Result<(), Fault> {
        self.stage(BatchStage { id, how: "on" }).await
    }

    /// Removes a batch whose creation failed.
    pub(crate) async fn give_up(&self, id: &BatchId) -> Result<(), Fault> {
        self.stage(BatchStage { id, how: "give up" }).await
    }

    async fn stage(&self, step: BatchStage<'_>) -> Result<(), Fault> {
        for _ in 0..limits::BATCH_STEPS {
            if !self.run_alone(&step.id.queue, &step).await? {
                break;
            }
        }
        Ok(())
    }
}

impl Transition for BatchStage<'_> {
    /// Whether there is more to do.
    type Outcome = bool;
    const SCRIPT: &'static str = "stage";

    fn args(&self) -> Args {
        let mut args = Args::default();
        args.push(self.id.code.as_str()).push(self.how);
        args
    }

    fn read(&self, reply: Reply<'_>) -> Result<bool, Fault> {
        Ok(reply.words()?.0 == "more")
    }

    fn effect(&self, _: &bool) -> Effect {
        Effect::Moved
    }
}
