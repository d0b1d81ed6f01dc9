//! abandon: the holder gives the job back.

use intray_redis::{Args, Fault};

use crate::{
    handle::Queues,
    job::{Reservation, limits},
    payload::Json,
    reservation::{HOLDER_CALLS, Lost, Return, handle, push_resumes, text},
    transition::{BatchPolicy, BatchedTransition, Effect, Reply, Transition},
};

/// The holder gives the job back.
#[derive(Debug, Clone)]
pub struct Abandon {
    pub reservation: Reservation,
    pub reason: Option<String>,
    pub delay_ms: Option<u32>,
    /// Do not offer the job to this worker again.
    pub skip: bool,
    /// Give it back only after this time, unless the holder resumes it before.
    pub grace_ms: Option<u32>,
    /// Give it back only if the holder has resumed it no more often than this.
    pub resumes: Option<u32>,
    /// The draft to keep; JSON null removes it.
    pub draft: Option<Json>,
}

impl Queues {
    /// Gives a job back to its place in line, without counting an attempt.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn abandon(&self, call: Abandon) -> Result<Return, Fault> {
        let queue = call.reservation.job.queue.clone();
        self.parts.batcher.call(&queue, call).await
    }
}

impl Transition for Abandon {
    type Outcome = Return;
    const SCRIPT: &'static str = "abandon";

    fn args(&self) -> Args {
        let reason = self.reason.as_deref().unwrap_or_default();
        let mut args = handle(&self.reservation, 6, reason.len() + text(self.draft.as_ref()).len() + 32);
        args.push(reason).number(self.delay_ms.unwrap_or(0).into());
        args.number(self.skip.into()).number(self.grace_ms.unwrap_or(0).into());
        push_resumes(&mut args, self.resumes);
        args.push(text(self.draft.as_ref()));
        args
    }

    fn read(&self, reply: Reply<'_>) -> Result<Return, Fault> {
        Return::read(reply.words()?)
    }

    fn effect(&self, outcome: &Return) -> Effect {
        outcome.effect()
    }
}

impl BatchedTransition for Abandon {
    const BATCHING: BatchPolicy = HOLDER_CALLS;

    fn needs_memory(&self) -> bool {
        text(self.draft.as_ref()).len() > limits::SMALL_RESULT
    }

    fn rejected(&self) -> Result<Return, Fault> {
        Ok(Return::Lost(Lost::UNKNOWN))
    }
}
