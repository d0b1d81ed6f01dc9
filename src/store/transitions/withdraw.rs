//! withdraw: the producer takes a batch back.

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
    /// Those of its jobs that somebody holds may finish.
    Cancelled(Batch),
    UnknownBatch,
    /// Completed or failed before.
    Over(BatchState),
}

/// What the script says of it.
enum Withdrawal {
    Begun,
    UnknownBatch,
    Over(BatchState),
}

impl Queues {
    /// Nothing more of it is handed out.
    ///
    /// # Errors
    /// When Redis is not well. What was begun, the sweep goes on with.
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
