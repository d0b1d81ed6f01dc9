//! complete: the holder reports success.

use std::{collections::BTreeSet, sync::Arc};

use foldhash::HashMap;
use futures_util::future::join_all;
use intray_form::{Form, Owner};
use intray_redis::{Applied, Args, Fault};

use super::close::Close;
use crate::{
    completion::{CheckedResult, Complete, CompleteReply, Completion, FORM_TOO_NEW},
    figures::QueueMetrics,
    forms::{FormRead, KnownForm, ReadForm, is_current},
    handle::Queues,
    job::{QueueName, limits},
    payload::Json,
    reservation::{HOLDER_CALLS, Lost, text},
    transition::{BatchPolicy, BatchedTransition, Effect, Reply, Transition, conclude},
};

/// The form of a queue, as it was read; `None` for a queue that does not exist.
type QueueForm = Result<Option<FormRead>, Fault>;

impl Queues {
    /// Reports success, and keeps the result.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn complete(&self, mut call: Complete) -> Result<Completion, Fault> {
        // That of a list may have become too old while the others were checked.
        let checked = match call.checked.take() {
            Some(CheckedResult::Fits { read }) if !is_current(read) => None,
            checked => checked,
        };
        let checked = match checked {
            Some(checked) => checked,
            None => check(&call, &self.known_form(&call.reservation.job.queue).await).await,
        };
        let queue = call.reservation.job.queue.clone();
        let unfit = match checked {
            CheckedResult::Fits { .. } => None,
            CheckedResult::Invalid(faults) => Some(faults),
            CheckedResult::UnknownQueue => {
                return Ok(conclude(&call, call.rejected(), &self.parts.runner, &queue)?.completion);
            }
            CheckedResult::Unread(fault) => return Err(fault),
        };
        let reply = match (&unfit, call.undo_ms, call.resumes) {
            (None, 0, None) => self.parts.batcher.call(&queue, call).await?,
            _ => self.parts.batcher.call(&queue, Close { call, unfit }).await?,
        };
        Ok(reply.completion)
    }

    /// Checks the results of a list, which [`Queues::complete`] does otherwise: the forms of all queues are read together, and then the
    /// results are checked one after the other, so that other calls get their turn.
    pub async fn check_results(&self, calls: &mut [Complete]) {
        let queues: BTreeSet<_> = calls.iter().map(|call| call.reservation.job.queue.clone()).collect();
        let forms = queues.into_iter().map(|queue| async move {
            let form = self.known_form(&queue).await;
            (queue, form)
        });
        let forms: HashMap<_, _> = join_all(forms).await.into_iter().collect();
        for call in calls {
            if let Some(form) = forms.get(&call.reservation.job.queue) {
                call.checked = Some(check(call, form).await);
            }
        }
    }

    /// A queue that does not exist costs no script. A completion has no effect if this fails.
    async fn known_form(&self, queue: &QueueName) -> QueueForm {
        if !self.parts.registry.is_known(queue).await.map_err(|fault| fault.with(Applied::No))? {
            return Ok(None);
        }
        Ok(Some(self.parts.forms.of(queue, async |known| self.parsed_form(queue, known).await).await))
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
                Ok(Some(Arc::new(KnownForm { digest, form })))
            }
        }
    }
}

async fn check(call: &Complete, form: &QueueForm) -> CheckedResult {
    let read = match form {
        Ok(Some(read)) => read,
        Ok(None) => return CheckedResult::UnknownQueue,
        Err(fault) => return CheckedResult::Unread(fault.clone()),
    };
    match &read.form {
        Err(fault) => CheckedResult::Unread(fault.clone()),
        Ok(None) => CheckedResult::Fits { read: read.began },
        Ok(Some(known)) => {
            let faults = known.form.check(call.result.as_ref().map_or("null", Json::as_str));
            tokio::task::yield_now().await;
            if faults.is_empty() { CheckedResult::Fits { read: read.began } } else { CheckedResult::Invalid(faults) }
        }
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
