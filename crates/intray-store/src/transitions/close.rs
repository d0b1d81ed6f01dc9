//! close: the holder reports success and may take that back for a time, says what it knows of the reservation, or has a result that
//! does not fit the form of the queue.

use intray_form::FormFault;
use intray_redis::{Args, Fault};

use crate::{
    completion::{Complete, CompleteReply, Completion},
    figures::QueueMetrics,
    job::QueueName,
    redis::read::word,
    reservation::{HOLDER_CALLS, push_resumes},
    transition::{BatchPolicy, BatchedTransition, Effect, Reply, Transition},
};

/// A completion that the fast path does not know.
pub(crate) struct Close {
    pub(crate) call: Complete,
    /// Why the result is not taken. The script runs as for one that is, so that a caller whose reservation does not count learns
    /// nothing of the form in any state of Redis.
    pub(crate) unfit: Option<Vec<FormFault>>,
}

impl Transition for Close {
    type Outcome = CompleteReply;
    const SCRIPT: &'static str = "close";

    fn args(&self) -> Args {
        let mut args = self.call.claim(2);
        match self.unfit {
            Some(_) => args.push("-1"),
            None => args.number(self.call.undo_ms.into()),
        };
        push_resumes(&mut args, self.call.resumes);
        args
    }

    fn read(&self, reply: Reply<'_>) -> Result<CompleteReply, Fault> {
        match &self.unfit {
            Some(faults) if word(reply.item) == Some("invalid") => Ok(Completion::Invalid(faults.clone()).into()),
            _ => CompleteReply::parse(reply),
        }
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
        self.call.needs_memory()
    }

    fn rejected(&self) -> Result<CompleteReply, Fault> {
        self.call.rejected()
    }
}
