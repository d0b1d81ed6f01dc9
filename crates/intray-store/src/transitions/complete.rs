//! complete: the holder reports success.

use intray_redis::{Args, Fault};

use super::close::Close;
use crate::{
    completion::{Complete, CompleteReply, Completion},
    figures::QueueMetrics,
    handle::Queues,
    job::{QueueName, limits},
    reservation::{HOLDER_CALLS, Lost, text},
    transition::{BatchPolicy, BatchedTransition, Effect, Reply, Transition},
};

impl Queues {
    /// Reports success, and keeps the result.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn complete(&self, call: Complete) -> Result<Completion, Fault> {
        let queue = call.reservation.job.queue.clone();
        let reply = match (call.undo_ms, call.resumes) {
            (0, None) => self.parts.batcher.call(&queue, call).await?,
            _ => self.parts.batcher.call(&queue, Close(call)).await?,
        };
        Ok(reply.completion)
    }
}

impl Transition for Complete {
    type Outcome = CompleteReply;
    const SCRIPT: &'static str = "complete";

    fn args(&self) -> Args {
        self.claim(0)
    }

    fn read(&self, reply: Reply<'_>) -> Result<CompleteReply, Fault> {
        CompleteReply::parse(reply)
    }

    fn effect(&self, reply: &CompleteReply) -> Effect {
        reply.effect()
    }

    fn measure(&self, reply: &CompleteReply, queue: &QueueName, metrics: &QueueMetrics) {
        reply.measure(queue, metrics);
    }
}

impl BatchedTransition for Complete {
    const BATCHING: BatchPolicy = HOLDER_CALLS;

    fn needs_memory(&self) -> bool {
        text(self.result.as_ref()).len() > limits::SMALL_RESULT
    }

    fn rejected(&self) -> Result<CompleteReply, Fault> {
        Ok(Completion::Lost(Lost::UNKNOWN).into())
    }
}
