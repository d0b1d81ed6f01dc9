//! complete: the holder reports success, in time or late, or for a time so that it can be taken back; or has a result that does not fit the
//! form of the queue.

use std::{sync::Arc, time::Instant};

use futures_util::{FutureExt, future::BoxFuture};
use intray_form::{Form, FormFault, Owner};
use intray_redis::{Args, Fault};

use crate::{
    completion::{Complete, CompleteReply, Completion, FORM_TOO_NEW, UNCHECKED},
    figures::QueueMetrics,
    forms::{FormRead, KnownForm, ReadForm, is_current},
    handle::{FORM_LOST, Queues},
    job::{QueueName, limits},
    payload::Json,
    redis::read::word,
    reservation::{HOLDER_CALLS, Lost, text},
    transition::{BatchPolicy, BatchedTransition, Effect, Reply, Transition},
};

/// About how many bytes a byte of a form takes once it is parsed.
const PARSED: usize = 4;

impl Queues {
    /// Reports success, and keeps the result.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn complete(&self, call: Complete) -> Result<Completion, Fault> {
        let queue = call.reservation.job.queue.clone();
        let call = CheckedCompletion { call, queues: self.clone(), read: None, unfit: None };
        Ok(self.parts.batcher.call(&queue, call).await?.completion)
    }

    /// A completion has no effect if this fails.
    async fn read_form(&self, queue: &QueueName) -> FormRead {
        self.parts.forms.of(queue, async |known| self.parsed_form(queue, known).await).await
    }

    /// Parses the form only if it is not the one that is known.
    async fn parsed_form(&self, queue: &QueueName, known: Option<Arc<KnownForm>>) -> ReadForm {
        let digest = known.as_ref().map_or("", |known| &known.digest);
        let found = self.form_after(queue, digest).await.map_err(|fault| Fault::unavailable(&fault.why()))?;
        match found {
            None => Ok(None),
            Some((_, None)) => Ok(known),
            Some((digest, Some(text))) => {
                let form = Form::parse(text.as_str(), Owner::Queue);
                let form = form.map_err(|_| self.unread_form(queue, FORM_TOO_NEW))?;
                let size = form.pattern_size() + text.as_str().len() * PARSED;
                Ok(Some(Arc::new(KnownForm { digest, form, size })))
            }
        }
    }
}

/// A completion whose result is checked when it is sent, however long it has waited.
pub(crate) struct CheckedCompletion {
    pub(crate) call: Complete,
    pub(crate) queues: Queues,
    /// When the read began of the form that the result was checked against.
    pub(crate) read: Option<Instant>,
    /// Why the result is not taken. The script runs as for one that is, so that a caller whose reservation does not count learns
    /// nothing of the form in any state of Redis.
    pub(crate) unfit: Option<Vec<FormFault>>,
}

impl CheckedCompletion {
    async fn check(&mut self) -> Result<bool, Fault> {
        let FormRead { began, form, .. } = self.queues.read_form(&self.call.reservation.job.queue).await;
        let was_unfit = self.unfit.take().is_some();
        if let Some(known) = form.map_err(untold)? {
            let faults = known.form.check(self.call.result.as_ref().map_or("null", Json::as_str));
            self.unfit = (!faults.is_empty()).then_some(faults);
            // Others get their turn.
            tokio::task::yield_now().await;
        }
        self.read = Some(began);
        Ok(was_unfit != self.unfit.is_some())
    }
}

/// Why a form cannot be used is in the log: the caller may be a stranger.
fn untold(fault: Fault) -> Fault {
    match fault {
        Fault::Unavailable { why, .. } if why == FORM_LOST || why == FORM_TOO_NEW => Fault::unavailable(&UNCHECKED),
        fault => fault,
    }
}

impl Transition for CheckedCompletion {
    type Outcome = CompleteReply;
    const SCRIPT: &'static str = "complete";

    fn args(&self) -> Args {
        let mut args = self.call.claim(1);
        let undo_ms = match (&self.unfit, self.call.undo_ms) {
            (None, ms) => i64::from(ms),
            // One that fits takes the same way.
            (Some(_), 0) => -1,
            (Some(_), _) => -2,
        };
        let resumes = self.call.resumes.map_or(-1, i64::from);
        match (undo_ms, resumes) {
            (0, -1) => args.push(""),
            _ => args.push(format!("{undo_ms} {resumes}")),
        };
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

impl BatchedTransition for CheckedCompletion {
    const BATCHING: BatchPolicy = BatchPolicy { is_checked: true, ..HOLDER_CALLS };

    fn needs_memory(&self) -> bool {
        text(self.call.result.as_ref()).len() > limits::SMALL_RESULT
    }

    fn is_ready(&mut self, since: Instant) -> bool {
        if self.read.is_some_and(|read| read >= since || is_current(read)) {
            return true;
        }
        let formless = self.queues.parts.forms.none_since(&self.call.reservation.job.queue);
        let fits = self.unfit.is_none() && formless.is_some();
        if fits {
            self.read = formless;
        }
        fits
    }

    fn make_ready(&mut self) -> BoxFuture<'_, Result<bool, Fault>> {
        self.check().boxed()
    }

    fn rejected(&self) -> Result<CompleteReply, Fault> {
        Ok(Completion::Lost(Lost::UNKNOWN).into())
    }
}
