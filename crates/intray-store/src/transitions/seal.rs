//! seal: a producer closes a batch for further jobs.

use intray_redis::{Args, Fault};

use crate::{
    handle::Queues,
    job::BatchId,
    layout::batch::Batch,
    redis::read::broken,
    transition::{Effect, Reply, Transition},
};

struct Seal<'b>(&'b BatchId);

impl Queues {
    /// Closes a batch for further jobs. `None`: there is no such batch.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn seal(&self, id: &BatchId) -> Result<Option<Batch>, Fault> {
        self.run_alone(&id.queue, &Seal(id)).await
    }
}

impl Transition for Seal<'_> {
    type Outcome = Option<Batch>;
    const SCRIPT: &'static str = "seal";

    fn args(&self) -> Args {
        let mut args = Args::default();
        args.push(self.0.code.as_str());
        args
    }

    fn read(&self, reply: Reply<'_>) -> Result<Option<Batch>, Fault> {
        let (word, mut fields) = reply.words()?;
        match word {
            "sealed" => Batch::parse(self.0.clone(), &fields.bytes()?).map(Some),
            "unknown" => Ok(None),
            _ => Err(broken("sealed or unknown")),
        }
    }

    fn effect(&self, outcome: &Option<Batch>) -> Effect {
        Effect::moved_if(outcome.is_some())
    }
}
