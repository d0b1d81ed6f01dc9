//! Reads a new job, alone, in an array or on a line.

use crate::{
    access::Caller,
    http::{
        handlers::task::{IdempotentCall, read_task},
        middleware::auth,
        request::{
            fields::JsonFields,
            rules::{self, check_size},
        },
        response::{problem::Problem, shapes},
    },
    job::{JobId, Name, QueueName},
    store::{self, Dedupe, Enqueued, NewJob},
};

/// What the jobs of one call share.
pub struct EnqueueContext {
    pub caller: Caller,
    pub repeat: Option<IdempotentCall>,
    pub traceparent: Option<String>,
    pub max_payload: usize,
    /// The index of the next item, from which a repeated call derives the same ids.
    pub index: usize,
    /// Ids derived from the idempotency key, for invalid items too.
    pub derived: Vec<JobId>,
}

impl EnqueueContext {
    /// # Errors
    /// A problem, when the item is invalid.
    pub fn job(&mut self, item: &str) -> Result<((), NewJob), Problem> {
        let index = self.index;
        self.index += 1;
        let mut fields = JsonFields::of(item)?;
        let queue = fields.take("queue", rules::parsed(QueueName::parse)).unwrap_or_default();
        let id = match &self.repeat {
            Some(repeat) => {
                let id = repeat.job(queue, index);
                self.derived.push(id.clone());
                id
            }
            None => store::random_id(queue),
        };
        let task = read_task(&mut fields, self.traceparent.clone());
        let priority = fields.take("priority", rules::priority).unwrap_or_default();
        let client = fields.take("client", rules::parsed(Name::parse));
        let dedupe = dedupe(&mut fields);
        let task = fields.finish(task)?;
        auth::queue(&self.caller, &id.queue)?;
        check_size("payload", &task.payload, self.max_payload)?;
        let fingerprint = self.repeat.as_ref().map(IdempotentCall::fingerprint);
        Ok(((), NewJob { id, task, priority, client, dedupe, fingerprint }))
    }
}

/// `dedupe_key` names duplicates; without it, `dedupe` says whether equal payloads are duplicates.
fn dedupe(fields: &mut JsonFields<'_>) -> Dedupe {
    let by_payload = fields.take("dedupe", rules::flag);
    match (fields.take("dedupe_key", rules::parsed(rules::key)), by_payload) {
        (Some(key), _) => Dedupe::Key(key),
        (None, None) => Dedupe::QueueSetting,
        (None, Some(true)) => Dedupe::Payload,
        (None, Some(false)) => Dedupe::Off,
    }
}

/// `None`: the job's queue is not there, and the call makes none.
///
/// # Errors
/// A problem, when the job was refused.
pub fn enqueued(outcome: Option<Enqueued>) -> Result<shapes::EnqueuedBody, Problem> {
    match outcome.ok_or_else(Problem::unknown_queue)? {
        Enqueued::Stored { id, state, is_new } => {
            Ok(shapes::EnqueuedBody { is_new, ..shapes::EnqueuedBody::new(id, state) })
        }
        Enqueued::Twin { id, state, differs } => Ok(shapes::EnqueuedBody::of_twin(id, state, differs)),
        Enqueued::KeyReused => Err(Problem::key_reused()),
        Enqueued::QueueFull => Err(Problem::queue_full()),
        Enqueued::TooManyQueues => Err(Problem::too_many_queues()),
        Enqueued::Untimely(errors) => Err(Problem::untimely(&errors)),
    }
}
