//! withdraw: the producer cancels a batch.

use intray_redis::{Args, Fault};

use crate::{
    job::{BatchId, BatchState},
    store::{
        handle::Queues,
        layout::batch::Batch,
        redis::read::broken,
        transition::{Effect, Reply, Transition},
    },
};

struct Withdraw<'b>(&'b BatchId);

#[derive(Debug)]
pub enum BatchCancellation {
    /// Its reserved jobs may still be completed.
    Cancelled(Batch),
    UnknownBatch,
    /// The batch had completed or failed before.
    Over(BatchState),
}

/// A reply of the script.
enum Withdrawal {
    Begun,
    UnknownBatch,
    Over(BatchState),
}

impl Queues {
    /// Cancels a batch: no more of its jobs are handed out.
    ///
    /// # Errors
    /// When Redis is not well. The sweep continues a cancellation that has begun.
    pub async fn cancel_batch(&self, id: &BatchId) -> Result<BatchCancellation, Fault> {
        match self.run_alone(&id.queue, &Withdraw(id)).await? {
            Withdrawal::Begun => {}
            Withdrawal::Over(state) => return Ok(BatchCancellation::Over(state)),
            Withdrawal::UnknownBatch => return Ok(BatchCancellation::UnknownBatch),
        }
        self.continue_stage(id).await?;
        Ok(self.batch(id).await?.map_or(BatchCancellation::UnknownBatch, BatchCancellation::Cancelled))
    }
}

impl Transition for Withdraw<'_> {
    type Outcome = Withdrawal;
    const SCRIPT: &'static str = "withdraw";

    fn args(&self) -> Args {
        let mut args = Args::default();
        args.push(self.0.code.as_str());
        args
    }

    fn read(&self, reply: Reply<'_>) -> Result<Withdrawal, Fault> {
        let (word, mut fields) = reply.words()?;
        match word {
            "withdrawn" => Ok(Withdrawal::Begun),
            "over" => Ok(Withdrawal::Over(Batch::parse(self.0.clone(), &fields.bytes()?)?.state)),
            "unknown" => Ok(Withdrawal::UnknownBatch),
            _ => Err(broken("withdrawn, over or unknown")),
        }
    }

    fn effect(&self, outcome: &Withdrawal) -> Effect {
        match outcome {
            Withdrawal::Begun => Effect::Moved,
            Withdrawal::UnknownBatch | Withdrawal::Over(_) => Effect::None,
        }
    }
}
