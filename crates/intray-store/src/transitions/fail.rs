//! fail: the holder reports failure.

use intray_redis::{Args, Fault};

use crate::{
    handle::Queues,
    job::{Reservation, chance},
    reservation::{HOLDER_CALLS, Lost, Return, handle},
    transition::{BatchPolicy, BatchedTransition, Effect, Reply, Transition},
};

/// The holder reports failure.
#[derive(Debug, Clone)]
pub struct Fail {
    pub reservation: Reservation,
    pub error: Option<String>,
}

impl Queues {
    /// Counts an attempt. The job is retried at once or after its backoff, or it is dead.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn fail(&self, call: Fail) -> Result<Return, Fault> {
        let queue = call.reservation.job.queue.clone();
        self.parts.batcher.call(&queue, call).await
    }
}

impl Transition for Fail {
    type Outcome = Return;
    const SCRIPT: &'static str = "fail";

    fn args(&self) -> Args {
        let error = self.error.as_deref().unwrap_or_default();
        let mut args = handle(&self.reservation, 2, error.len() + 3);
        args.push(error).number(chance::jitter());
        args
    }

    fn read(&self, reply: Reply<'_>) -> Result<Return, Fault> {
        Return::read(reply.words()?)
    }

    fn effect(&self, outcome: &Return) -> Effect {
        outcome.effect()
    }
}

impl BatchedTransition for Fail {
    const BATCHING: BatchPolicy = HOLDER_CALLS;

    fn rejected(&self) -> Result<Return, Fault> {
        Ok(Return::Lost(Lost::UNKNOWN))
    }
}
