//! What a producer says of a job, alone, in a list or on a line.

use crate::{
    access::Caller,
    http::{
        handlers::task::{Repeat, read_task},
        middleware::auth,
        request::{
            fields::Fields,
            rules::{self, check_size},
        },
        response::{problem::Problem, shapes},
    },
    job::{JobId, Name, QueueName},
    store::{self, Dedupe, Enqueued, NewJob},
};

/// What the jobs of one call have in common.
pub struct Call {
    pub caller: Caller,
    pub repeat: Option<Repeat>,
    pub traceparent: Option<String>,
    pub max_payload: usize,
    /// Of the next item: a repeated call must find each of its jobs again.
    pub index: usize,
    /// The ids that the idempotency key gives, to bad items too.
    pub derived: Vec<JobId>,
}

impl Call {
    /// # Errors
    /// A problem with the item.
    pub fn job(&mut self, item: &str) -> Result<((), NewJob), Problem> {
        let index = self.index;
        self.index += 1;
        let mut fields = Fields::of(item)?;
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
        let fingerprint = self.repeat.as_ref().map(|repeat| repeat.fingerprint);
        Ok(((), NewJob { id, task, priority, client, dedupe, fingerprint }))
    }
}

/// A key says which jobs are the same; without one, `dedupe` says whether the payload does.
fn dedupe(fields: &mut Fields<'_>) -> Dedupe {
    let by_payload = fields.take("dedupe", rules::flag);
    match (fields.take("dedupe_key", rules::parsed(rules::key)), by_payload) {
        (Some(key), _) => Dedupe::Key(key),
        (None, None) => Dedupe::QueueSetting,
        (None, Some(true)) => Dedupe::Payload,
        (None, Some(false)) => Dedupe::Off,
    }
}

/// # Errors
/// The problem that a refusal is.
pub fn enqueued(outcome: Enqueued) -> Result<shapes::Enqueued, Problem> {
    match outcome {
        Enqueued::Stored { id, state } => Ok(shapes::Enqueued::new(id, state, false)),
        Enqueued::Twin { id, state } => Ok(shapes::Enqueued::new(id, state, true)),
        Enqueued::KeyReused => Err(Problem::key_reused()),
        Enqueued::QueueFull => Err(Problem::queue_full()),
        Enqueued::TooManyQueues => Err(Problem::too_many_queues()),
    }
}
