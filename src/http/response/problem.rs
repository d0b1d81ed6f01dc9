//! Every refusal of the service is a problem by RFC 9457, made here of one table of failures.

mod aim;
mod answer;
mod failure;
#[cfg(test)]
mod tests;

use axum::http::Uri;

pub use self::{aim::Aim, failure::Failure};
use crate::{
    http::response::field_error::{Place, Rule},
    job::{BatchState, Ending, State},
    store::{Applied, Fault, Lost, UNCONFIRMED, UNSYNCED, UNWRITABLE, is_moved},
};

/// When a caller may hope that what was full or away is not any more.
const RETRY_AFTER_MS: u32 = 1_000;
/// Queues that nobody uses go, but not soon.
const QUEUES_AGAIN_MS: u32 = 60_000;

#[derive(Debug, Clone)]
pub struct Problem {
    failure: Failure,
    detail: Rule,
    errors: Vec<Place>,
    reason: Option<Ending>,
    job_state: Option<State>,
    batch_state: Option<BatchState>,
    total: Option<u32>,
    applied: Option<Applied>,
    retry_after_ms: Option<u32>,
    /// Of a call that named a reservation which is there.
    is_hit: bool,
    /// The body came in a coding that is not read.
    packed: bool,
}

impl Problem {
    pub fn new(failure: Failure, detail: impl Into<Rule>) -> Self {
        let detail = detail.into();
        let (errors, reason, job_state, batch_state, total, applied, retry_after_ms) = Default::default();
        let (is_hit, packed) = (false, false);
        Self { failure, detail, errors, reason, job_state, batch_state, total, applied, retry_after_ms, is_hit, packed }
    }

    /// Values that break rules, each at its place.
    pub fn invalid(errors: Vec<Place>) -> Self {
        let detail = match errors.as_slice() {
            [] => "a value breaks a rule".to_owned(),
            [only] => only.in_words(),
            [first, rest @ ..] => format!("{} (and {} more)", first.in_words(), rest.len()),
        };
        Self { errors, ..Self::new(Failure::InvalidRequest, detail) }
    }

    pub fn no_such_route(uri: &Uri) -> Self {
        Self::new(Failure::NotFound, format!("{} is not a route of this service", uri.path()))
    }

    pub fn unknown_job() -> Self {
        Self::new(Failure::UnknownJob, "no job has this id, or it is forgotten")
    }

    pub fn unknown_queue() -> Self {
        Self::new(Failure::UnknownQueue, "nothing was ever put into this queue, or it is forgotten")
    }

    pub fn unknown_batch() -> Self {
        Self::new(Failure::UnknownBatch, "no batch has this id, or it is forgotten")
    }

    /// RFC 7694: what would have been taken stands in `Accept-Encoding`, and only then.
    pub fn packed() -> Self {
        let refused = Self::new(Failure::UnsupportedMediaType, "send the body as it is, without a Content-Encoding");
        Self { packed: true, ..refused }
    }

    pub fn too_many_items(most: usize) -> Self {
        Self::new(Failure::TooManyItems, format!("an array has at most {most} items here"))
    }

    pub fn key_reused() -> Self {
        Self::new(Failure::IdempotencyKeyReused, "another body came with this Idempotency-Key")
    }

    pub fn wrong_state(state: State) -> Self {
        let detail = format!("the job is {}", state.word());
        Self { job_state: Some(state), ..Self::new(Failure::WrongState, detail) }
    }

    pub fn wrong_batch_state(state: BatchState) -> Self {
        let detail = format!("the batch is {}", state.word());
        Self { batch_state: Some(state), ..Self::new(Failure::WrongState, detail) }
    }

    /// The jobs of an append do not go where its offset says.
    pub fn offset_mismatch(total: u32) -> Self {
        let detail =
            format!("the batch has {total} jobs, and these do not follow or repeat what it has from the offset on");
        Self { total: Some(total), ..Self::new(Failure::OffsetMismatch, detail) }
    }

    /// The job itself would be there for the taking.
    pub fn queue_paused() -> Self {
        Self { job_state: Some(State::Waiting), ..Self::new(Failure::WrongState, "the queue is paused") }
    }

    pub fn queue_full() -> Self {
        let full = Self::new(Failure::QueueFull, "the queue holds as many jobs as max_jobs allows");
        Self { retry_after_ms: Some(RETRY_AFTER_MS), ..full }
    }

    pub fn too_many_queues() -> Self {
        let full = Self::new(
            Failure::TooManyQueues,
            "the queue would be new, and there are as many as --max-queues allows, in all or for its key",
        );
        Self { retry_after_ms: Some(QUEUES_AGAIN_MS), ..full }
    }

    pub fn forbidden(detail: impl Into<Rule>) -> Self {
        Self::new(Failure::Forbidden, detail)
    }

    pub fn rate_limited(retry_after_ms: u32) -> Self {
        let limited = Self::new(Failure::RateLimited, "this key or token calls more often than it may");
        Self { retry_after_ms: Some(retry_after_ms), ..limited }
    }

    pub fn too_many_misses(retry_after_ms: u32) -> Self {
        let limited = Self::new(Failure::RateLimited, "too many calls from this address hit no reservation");
        Self { retry_after_ms: Some(retry_after_ms), ..limited }
    }

    /// More is read at once than may be.
    pub fn too_many_reads() -> Self {
        let detail = "too much is being read at once by this key or token, or by all: wait for what is on its way";
        Self { retry_after_ms: Some(RETRY_AFTER_MS), ..Self::new(Failure::RateLimited, detail) }
    }

    /// A caller has many connections, and the rest of what there may be is kept for others.
    pub fn too_many_connections() -> Self {
        let limited = Self::new(
            Failure::RateLimited,
            "this key or token has too many of the connections that --max-connections allows to all; the call had no effect",
        );
        Self { retry_after_ms: Some(RETRY_AFTER_MS), ..limited }
    }

    /// More bytes of bodies than there is room for.
    pub fn too_much_in_hand() -> Self {
        let rule =
            "too many bytes of bodies are in hand, here or of this caller, of 128 MiB in all; the call had no effect";
        let busy = Self::new(Failure::Unavailable, rule);
        Self { applied: Some(Applied::No), retry_after_ms: Some(RETRY_AFTER_MS), ..busy }
    }

    /// A call that lasts is cut short by the end of the service.
    pub fn leaving() -> Self {
        let leaving = Self::new(Failure::Unavailable, "the service ends; what was not answered had no effect");
        Self { applied: Some(Applied::No), retry_after_ms: Some(RETRY_AFTER_MS), ..leaving }
    }

    /// Looking changes nothing, whether or not Redis has looked.
    pub fn of_a_look(fault: Fault) -> Self {
        match fault {
            Fault::Unavailable { why, .. } => Fault::Unavailable { applied: Applied::No, why }.into(),
            Fault::Full => fault.into(),
            Fault::Broken(_) => {
                let detail = "the log has more under this request id; nothing was changed".into();
                Self { applied: Some(Applied::No), detail, ..fault.into() }
            }
        }
    }

    /// What broke may have written before: an error inside a script undoes nothing.
    pub fn internal() -> Self {
        let detail = "the log has more under this request id; the call may have had an effect";
        Self { applied: Some(Applied::Unknown), ..Self::new(Failure::Internal, detail) }
    }
}

impl From<Lost> for Problem {
    fn from(lost: Lost) -> Self {
        let detail = lost.ending.detail();
        Self { reason: Some(lost.ending), job_state: lost.state, ..Self::new(Failure::ReservationLost, detail) }
    }
}

impl From<Fault> for Problem {
    fn from(fault: Fault) -> Self {
        let is_elsewhere = is_moved(&fault);
        match fault {
            Fault::Unavailable { applied, why } => {
                let known = [UNWRITABLE, UNCONFIRMED, UNSYNCED].into_iter().find(|known| why == *known);
                let (what, effect) = match applied {
                    Applied::No => ("Redis does not answer", "the call had no effect"),
                    Applied::Unknown => ("Redis did not answer in time", "the call may have had an effect"),
                };
                let detail = match known {
                    Some(UNWRITABLE) => format!("Redis cannot write to its disk; {effect}"),
                    Some(known) => format!("{known}; {effect}"),
                    None if is_elsewhere => format!("{why}; {effect}"),
                    None => format!("{what}; {effect}"),
                };
                let retry_after_ms = Some(RETRY_AFTER_MS);
                Self { applied: Some(applied), retry_after_ms, ..Self::new(Failure::Unavailable, detail) }
            }
            Fault::Full => Self::new(
                Failure::StorageFull,
                "there is no room left in Redis's memory or on its disk; nothing was stored",
            ),
            Fault::Broken(_) => {
                tracing::error!(%fault, "a call failed");
                Self::internal()
            }
        }
    }
}
