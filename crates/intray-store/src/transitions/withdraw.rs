//! withdraw: the producer cancels a batch.

use intray_redis::{Args, Fault};

use crate::{
    handle::Queues,
    job::{BatchId, BatchState},
    layout::{action::Actor, batch::Batch},
    redis::read::broken,
    transition::{Effect, Reply, Transition},
};

struct Withdraw<'b>(&'b BatchId, &'b Actor);

#[derive(Debug)]
pub enum BatchCancellation {
    /// Its reserved jobs may still be completed.
    Cancelled(Batch),
    UnknownBatch,
    /// The batch had completed or failed before.
    Over(BatchState),
}

impl Queues {
    /// Cancels a batch: no more of its jobs are handed out. An operator's call is listed.
    ///
    /// # Errors
    /// When Redis is not well. The sweep continues a cancellation that has begun.
    pub async fn cancel_batch(&self, id: &BatchId, actor: &Actor) -> Result<BatchCancellation, Fault> {
        self.catch_up(&id.queue).await?;
        if let Err(refusal) = self.run_alone(&id.queue, &Withdraw(id, actor)).await? {
            return Ok(refusal);
        }
        self.continue_stage(id).await?;
        Ok(self.batch(id).await?.map_or(BatchCancellation::UnknownBatch, BatchCancellation::Cancelled))
    }
}

impl Transition for Withdraw<'_> {
    /// Whether the cancellation has begun.
    type Outcome = Result<(), BatchCancellation>;
    const SCRIPT: &'static str = "withdraw";

    fn args(&self) -> Args {
        let mut args = Args::default();
        args.push(self.0.code.as_str()).push(self.1.note());
        args
    }

    fn read(&self, reply: Reply<'_>) -> Result<Self::Outcome, Fault> {
        let (word, mut fields) = reply.words()?;
        match word {
            "withdrawn" => Ok(Ok(())),
            "over" => Ok(Err(BatchCancellation::Over(Batch::parse(self.0.clone(), &fields.bytes()?)?.state))),
            "unknown" => Ok(Err(BatchCancellation::UnknownBatch)),
            _ => Err(broken("withdrawn, over or unknown")),
        }
    }

    fn effect(&self, outcome: &Self::Outcome) -> Effect {
        Effect::moved_if(outcome.is_ok())
    }
}
