//! Every refusal is a problem (RFC 9457), made from one table of types.

mod answer;
mod attempts;
mod failure;
mod removal;
mod reservation;
#[cfg(test)]
mod tests;

use axum::http::Uri;

pub use self::{attempts::Attempts, failure::ProblemType};
use crate::{
    http::response::field_error::{FieldError, MAX_ERRORS, Rule},
    job::{BatchState, EligibilityRule, Ending, QueueName, State},
    store::{
        Applied, FORM_LOST, Fault, Shortage, TimeError, UNCHECKED, UNCONFIRMED, UNSYNCED, UNWRITABLE,
        reason_without_place,
    },
};

/// When to retry after a full queue, a busy service or an unavailable Redis.
const RETRY_AFTER_MS: u32 = 1_000;
/// When to retry after too many queues; unused queues are removed, but not soon.
const QUEUES_AGAIN_MS: u32 = 60_000;

#[derive(Debug, Clone)]
pub struct Problem {
    failure: ProblemType,
    detail: Rule,
    errors: Vec<FieldError>,
    rule: Option<EligibilityRule>,
    reason: Option<Ending>,
    job_state: Option<State>,
    batch_state: Option<BatchState>,
    total: Option<u32>,
    applied: Option<Applied>,
    retry_after_ms: Option<u32>,
    final_in_ms: Option<u64>,
    /// The call named a valid reservation.
    has_valid_reservation: bool,
    /// The body's `Content-Encoding` is not supported.
    packed: bool,
}

impl Problem {
    pub fn new(failure: ProblemType, detail: impl Into<Rule>) -> Self {
        let (errors, rule, reason, job_state, batch_state, total, applied, retry_after_ms) = Default::default();
        let (final_in_ms, has_valid_reservation, packed, detail) = (None, false, false, detail.into());
        Self {
            failure,
            detail,
            errors,
            rule,
            reason,
            job_state,
            batch_state,
            total,
            applied,
            retry_after_ms,
            final_in_ms,
            has_valid_reservation,
            packed,
        }
    }

    fn with_retry(self, after_ms: u32) -> Self {
        Self { retry_after_ms: Some(after_ms), ..self }
    }

    /// Not available now; the call had no effect.
    fn unavailable(detail: &'static str) -> Self {
        Self { applied: Some(Applied::No), ..Self::new(ProblemType::Unavailable, detail).with_retry(RETRY_AFTER_MS) }
    }

    /// Values that break rules, each with its place.
    pub fn invalid(errors: Vec<FieldError>) -> Self {
        let detail = match errors.as_slice() {
            [] => "a value breaks a rule".to_owned(),
            [only] => only.to_text(),
            [first, rest @ ..] => format!("{} (and {} more)", first.to_text(), rest.len()),
        };
        Self { errors, ..Self::new(ProblemType::InvalidRequest, detail) }
    }

    /// Times of a job, or of one item of an array, that break a rule.
    pub fn untimely(errors: &[TimeError]) -> Self {
        let error = |error: &TimeError| FieldError::pointer(format!("/{}", error.field), error.rule);
        Self::invalid(errors.iter().map(error).collect())
    }

    /// The same for jobs of a batch, by their index.
    pub fn untimely_members(errors: &[(usize, TimeError)]) -> Self {
        let errors = errors.iter().take(MAX_ERRORS);
        let error =
            |(i, error): &(usize, TimeError)| FieldError::pointer(format!("/jobs/{i}/{}", error.field), error.rule);
        Self::invalid(errors.map(error).collect())
    }

    /// The same for equal jobs, which are one in the call.
    pub fn untimely_overlap(errors: &[(usize, TimeError)]) -> Self {
        let of_first = errors.iter().filter(|(index, _)| *index == 0);
        let error = |(_, error): &(usize, TimeError)| FieldError::pointer(format!("/job/{}", error.field), error.rule);
        Self::invalid(of_first.map(error).collect())
    }

    /// A change that would exclude each assignee of a job.
    pub fn no_assignee_left(names_assignees: bool) -> Self {
        Self::invalid(vec![match names_assignees {
            true => FieldError::pointer("/assignees", "must name a worker who is not excluded"),
            false => FieldError::pointer("/excluded", "must leave an assignee of the job"),
        }])
    }

    pub fn no_such_route(uri: &Uri) -> Self {
        Self::new(ProblemType::NotFound, format!("{} is not a route of this service", uri.path()))
    }

    pub fn unknown_job() -> Self {
        Self::new(ProblemType::UnknownJob, "no job has this id, or it is forgotten")
    }

    pub fn unknown_queue() -> Self {
        Self::new(ProblemType::UnknownQueue, "nothing was ever put into this queue, or it is forgotten")
    }

    pub fn unknown_batch() -> Self {
        Self::new(ProblemType::UnknownBatch, "no batch has this id, or it is forgotten")
    }

    pub fn unknown_webhook() -> Self {
        Self::new(ProblemType::UnknownWebhook, "no webhook has this name")
    }

    /// `Accept-Encoding` in the answer names what is supported (RFC 7694).
    pub fn content_encoding() -> Self {
        let refused =
            Self::new(ProblemType::UnsupportedMediaType, "send the body as it is, without a Content-Encoding");
        Self { packed: true, ..refused }
    }

    pub fn too_many_items(max: usize) -> Self {
        Self::new(ProblemType::TooManyItems, format!("an array has at most {max} items here"))
    }

    pub fn key_reused() -> Self {
        Self::new(ProblemType::IdempotencyKeyReused, "another body came with this Idempotency-Key")
    }

    pub fn wrong_state(state: State) -> Self {
        let detail = format!("the job is {}", state.word());
        Self { job_state: Some(state), ..Self::new(ProblemType::WrongState, detail) }
    }

    pub fn worker_holds(queue: &QueueName) -> Self {
        let detail = format!("the worker holds a job in the queue {queue}: release it first");
        Self { job_state: Some(State::Reserved), ..Self::new(ProblemType::WrongState, detail) }
    }

    pub fn wrong_batch_state(state: BatchState) -> Self {
        let detail = format!("the batch is {}", state.word());
        Self { batch_state: Some(state), ..Self::new(ProblemType::WrongState, detail) }
    }

    /// The offset of an append is not where the batch ends, nor a repetition.
    pub fn offset_mismatch(total: u32) -> Self {
        let detail =
            format!("the batch has {total} jobs, and these do not follow or repeat what it has from the offset on");
        Self { total: Some(total), ..Self::new(ProblemType::OffsetMismatch, detail) }
    }

    /// The job is waiting, but its queue is paused.
    pub fn queue_paused() -> Self {
        Self { job_state: Some(State::Waiting), ..Self::new(ProblemType::WrongState, "the queue is paused") }
    }

    /// A worker may not take the job.
    pub fn not_eligible(rule: EligibilityRule) -> Self {
        let detail = match rule {
            EligibilityRule::Assignees => "the job is for other workers",
            EligibilityRule::Skill => "the job needs a skill that this worker does not have",
            EligibilityRule::Excluded => "the job is not for this worker, or not for one without a name",
            EligibilityRule::Overlap => "this worker has had a job of this batch, or has no name",
        };
        Self { rule: Some(rule), ..Self::new(ProblemType::NotEligible, detail) }
    }

    pub fn queue_full() -> Self {
        Self::new(ProblemType::QueueFull, "the queue holds as many jobs as max_jobs allows").with_retry(RETRY_AFTER_MS)
    }

    pub fn too_many_queues() -> Self {
        let detail = "the queue would be new, and there are as many as --max-queues allows, in all or for its key";
        Self::new(ProblemType::TooManyQueues, detail).with_retry(QUEUES_AGAIN_MS)
    }

    pub fn forbidden(detail: impl Into<Rule>) -> Self {
        Self::new(ProblemType::Forbidden, detail)
    }

    pub fn rate_limited(retry_after_ms: u32) -> Self {
        let detail = "this key or token calls more often than it may";
        Self::new(ProblemType::RateLimited, detail).with_retry(retry_after_ms)
    }

    pub fn too_many_failures(retry_after_ms: u32) -> Self {
        let detail = "too many calls from this address hit no reservation";
        Self::new(ProblemType::RateLimited, detail).with_retry(retry_after_ms)
    }

    /// This field of one reservation comes too often.
    pub fn stored_too_often(field: &str, retry_after_ms: u32) -> Self {
        let detail =
            format!("too many {field}s of this reservation: one a second is stored, ten at once; nothing was done");
        Self::new(ProblemType::RateLimited, detail).with_retry(retry_after_ms)
    }

    /// Too many reads at once.
    pub fn too_many_reads() -> Self {
        let detail = "too much is being read at once by this key or token, or by all: wait for what is on its way";
        Self::new(ProblemType::RateLimited, detail).with_retry(RETRY_AFTER_MS)
    }

    /// The caller has too many connections; the rest is reserved for others.
    pub fn too_many_connections() -> Self {
        let detail = "this key or token has too many of the connections that --max-connections allows to all; the call had no effect";
        Self::new(ProblemType::RateLimited, detail).with_retry(RETRY_AFTER_MS)
    }

    /// The memory for request bodies is used up.
    pub fn body_budget_exhausted() -> Self {
        Self::unavailable(
            "too many bytes of bodies are in hand, here or of this caller, of 128 MiB in all; the call had no effect",
        )
    }

    /// A call that lasts ends because the service shuts down.
    pub fn shutting_down() -> Self {
        Self::unavailable("the service ends; what was not answered had no effect")
    }

    /// A fault of a read, which never changes anything.
    pub fn from_read(fault: Fault) -> Self {
        match fault {
            Fault::Unavailable { why, .. } => Fault::Unavailable { applied: Applied::No, why }.into(),
            Fault::Full(_) => fault.into(),
            Fault::Broken(_) => {
                let detail = "the log has more under this request id; nothing was changed".into();
                Self { applied: Some(Applied::No), detail, ..fault.into() }
            }
        }
    }

    /// A broken call may have written before: an error inside a script undoes nothing.
    pub fn internal() -> Self {
        let detail = "the log has more under this request id; the call may have had an effect";
        Self { applied: Some(Applied::Unknown), ..Self::new(ProblemType::Internal, detail) }
    }
}

impl From<Fault> for Problem {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Unavailable { applied, why } => {
                let known =
                    [UNWRITABLE, UNCONFIRMED, UNSYNCED, FORM_LOST, UNCHECKED].into_iter().find(|known| why == *known);
                let (what, effect) = match applied {
                    Applied::No => ("Redis does not answer", "the call had no effect"),
                    Applied::Unknown => ("Redis did not answer in time", "the call may have had an effect"),
                };
                let detail = match known {
                    Some(UNWRITABLE) => format!("Redis cannot write to its disk; {effect}"),
                    Some(known) => format!("{known}; {effect}"),
                    None => format!("{}; {effect}", reason_without_place(&why).unwrap_or(what)),
                };
                let problem = Self::new(ProblemType::Unavailable, detail).with_retry(RETRY_AFTER_MS);
                Self { applied: Some(applied), ..problem }
            }
            Fault::Full(Shortage::Memory) => {
                Self::new(ProblemType::StorageFull, "Redis's memory is used up to `maxmemory`; nothing was stored")
            }
            Fault::Full(Shortage::Disk) => Self::new(
                ProblemType::StorageFull,
                "too little is free on the disk of Redis's data; nothing was stored",
            ),
            Fault::Broken(_) => {
                tracing::error!(%fault, "a call failed");
                Self::internal()
            }
        }
    }
}
