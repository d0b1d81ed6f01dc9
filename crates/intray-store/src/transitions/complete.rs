//! complete: the holder reports success.

use std::sync::Arc;

use intray_form::{Form, FormFault, Owner};
use intray_redis::{Applied, Args, Fault};

use super::close::Close;
use crate::{
    completion::{CheckedResult, Complete, CompleteReply, Completion},
    figures::QueueMetrics,
    forms::KnownForm,
    handle::Queues,
    job::{QueueName, limits},
    payload::Json,
    redis::read::word,
    reservation::{HOLDER_CALLS, Lost, push_resumes, text},
    transition::{BatchPolicy, BatchedTransition, Effect, Reply, Transition, conclude},
};

/// Why a form that was set is not read.
const OF_NEWER_VERSION: &str = "the form of the queue was set by a newer version of intray";

impl Queues {
    /// Reports success, and keeps the result.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn complete(&self, mut call: Complete) -> Result<Completion, Fault> {
        let checked = match call.checked.take() {
            Some(checked) => checked,
            None => self.checked(&call).await,
        };
        let queue = call.reservation.job.queue.clone();
        match checked {
            CheckedResult::Fits => {}
            CheckedResult::Invalid(faults) => {
                return Ok(self.run_alone(&queue, &Refusal { call, faults }).await?.completion);
            }
            CheckedResult::UnknownQueue => {
                return Ok(conclude(&call, call.rejected(), &self.parts.runner, &queue)?.completion);
            }
            CheckedResult::Unread(fault) => return Err(fault),
        }
        let reply = match (call.undo_ms, call.resumes) {
            (0, None) => self.parts.batcher.call(&queue, call).await?,
            _ => self.parts.batcher.call(&queue, Close(call)).await?,
        };
        Ok(reply.completion)
    }

    /// Checks the result of a completion, which [`Queues::complete`] does otherwise. The results of a list are checked one after the
    /// other, so that other calls get their turn, and then completed together.
    pub async fn check_result(&self, call: &mut Complete) {
        call.checked = Some(self.checked(call).await);
    }

    async fn checked(&self, call: &Complete) -> CheckedResult {
        let queue = &call.reservation.job.queue;
        match self.known_form(queue).await {
            Ok(Some(Some(form))) => {
                let faults = form.check(call.result.as_ref().map_or("null", Json::as_str));
                tokio::task::yield_now().await;
                if faults.is_empty() { CheckedResult::Fits } else { CheckedResult::Invalid(faults) }
            }
            Ok(Some(None)) => CheckedResult::Fits,
            Ok(None) => CheckedResult::UnknownQueue,
            Err(fault) => CheckedResult::Unread(fault),
        }
    }

    /// The form of a queue, if it has one; `None` for a queue that does not exist, which costs no script. A completion has no effect
    /// if this fails.
    async fn known_form(&self, queue: &QueueName) -> Result<Option<Option<Arc<Form>>>, Fault> {
        if !self.parts.registry.is_known(queue).await.map_err(|fault| fault.with(Applied::No))? {
            return Ok(None);
        }
        self.parts.forms.of(queue, async || self.parsed_form(queue).await).await.map(Some)
    }

    async fn parsed_form(&self, queue: &QueueName) -> KnownForm {
        let form = self.form(queue).await.map_err(|fault| Fault::unavailable(&fault.why()))?;
        let parse = |form: &Json| Form::parse(form.as_str(), Owner::Queue).map(Arc::new);
        let form = form.map(|form| parse(&form.text)).transpose();
        form.map_err(|_| Fault::unavailable(&OF_NEWER_VERSION))
    }
}

/// A completion whose result does not fit the form of its queue.
struct Refusal {
    call: Complete,
    faults: Vec<FormFault>,
}

impl Transition for Refusal {
    type Outcome = CompleteReply;
    const SCRIPT: &'static str = "refusal";
    const EFFECT_OF_FAULT: Effect = Effect::None;

    fn args(&self) -> Args {
        let mut args = self.call.claim(1);
        push_resumes(&mut args, self.call.resumes);
        args
    }

    fn read(&self, reply: Reply<'_>) -> Result<CompleteReply, Fault> {
        match word(reply.item) {
            Some("invalid") => Ok(Completion::Invalid(self.faults.clone()).into()),
            Some(_) | None => CompleteReply::parse(reply),
        }
    }

    fn effect(&self, reply: &CompleteReply) -> Effect {
        reply.effect()
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
