//! close: the holder reports success and may take that back for a time, or says what it knows of the reservation.

use intray_redis::{Args, Fault};

use crate::{
    completion::{Complete, CompleteReply},
    figures::QueueMetrics,
    job::QueueName,
    reservation::{HOLDER_CALLS, push_resumes},
    transition::{BatchPolicy, BatchedTransition, Effect, Reply, Transition},
};

/// A completion that the fast path does not know.
pub(crate) struct Close(pub(crate) Complete);

impl Transition for Close {
    type Outcome = CompleteReply;
    const SCRIPT: &'static str = "close";

    fn args(&self) -> Args {
        let mut args = self.0.claim(2);
        args.number(self.0.undo_ms.into());
        push_resumes(&mut args, self.0.resumes);
        args
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

impl BatchedTransition for Close {
    const BATCHING: BatchPolicy = HOLDER_CALLS;

    fn needs_memory(&self) -> bool {
        self.0.needs_memory()
    }

    fn rejected(&self) -> Result<CompleteReply, Fault> {
        self.0.rejected()
    }
}
