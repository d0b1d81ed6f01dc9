//! One table of failures. Every refusal of the service is a problem by RFC 9457 that starts here.

mod aim;
#[cfg(test)]
mod tests;

use axum::{
    http::{HeaderValue, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use serde::{Serialize, Serializer, ser::SerializeMap};

pub use self::aim::Aim;
use super::place::{Place, Rule};
use crate::{
    job::{BatchState, Ending, State},
    queue::{Applied, Fault, Lost, UNWRITABLE},
};

/// When a caller may hope that what was full or away is not any more.
const RETRY_AFTER_MS: u32 = 1_000;
/// Queues that nobody uses go, but not soon.
const QUEUES_AGAIN_MS: u32 = 60_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    NotJson,
    Unauthorized,
    Forbidden,
    OriginNotAllowed,
    NotFound,
    UnknownJob,
    UnknownQueue,
    UnknownBatch,
    MethodNotAllowed,
    RequestTimeout,
    ReservationLost,
    WrongState,
    WorkerLimit,
    OffsetMismatch,
    TooLarge,
    TooManyItems,
    UnsupportedMediaType,
    HostNotAllowed,
    InvalidRequest,
    IdempotencyKeyReused,
    QueueFull,
    TooManyQueues,
    RateLimited,
    Internal,
    Unavailable,
    StorageFull,
}

impl Failure {
    /// The table: status, slug, title.
    fn row(self) -> (u16, &'static str, &'static str) {
        match self {
            Self::NotJson => (400, "not-json", "The body is not JSON"),
            Self::Unauthorized => (401, "unauthorized", "A key or a token is needed"),
            Self::Forbidden => (403, "forbidden", "The key or token is not for this"),
            Self::OriginNotAllowed => (403, "origin-not-allowed", "The origin is not allowed"),
            Self::NotFound => (404, "not-found", "There is no such route"),
            Self::UnknownJob => (404, "unknown-job", "There is no such job"),
            Self::UnknownQueue => (404, "unknown-queue", "There is no such queue"),
            Self::UnknownBatch => (404, "unknown-batch", "There is no such batch"),
            Self::MethodNotAllowed => (405, "method-not-allowed", "The route does not have this method"),
            Self::RequestTimeout => (408, "request-timeout", "The request took too long"),
            Self::ReservationLost => (409, "reservation-lost", "The reservation has ended"),
            Self::WrongState => (409, "wrong-state", "The state does not allow it"),
            Self::WorkerLimit => (409, "worker-limit", "The worker holds as many jobs as allowed"),
            Self::OffsetMismatch => (409, "offset-mismatch", "The batch does not go on there"),
            Self::TooLarge => (413, "too-large", "Too large"),
            Self::TooManyItems => (413, "too-many-items", "Too many items"),
            Self::UnsupportedMediaType => (415, "unsupported-media-type", "The content type is not supported"),
            Self::HostNotAllowed => (421, "host-not-allowed", "The host is not allowed"),
            Self::InvalidRequest => (422, "invalid-request", "The request breaks a rule"),
            Self::IdempotencyKeyReused => (422, "idempotency-key-reused", "The idempotency key was used before"),
            Self::QueueFull => (429, "queue-full", "The queue is full"),
            Self::TooManyQueues => (429, "too-many-queues", "There are too many queues"),
            Self::RateLimited => (429, "rate-limited", "Too many calls"),
            Self::Internal => (500, "internal", "A fault of the service"),
            Self::Unavailable => (503, "unavailable", "Not available now"),
            Self::StorageFull => (507, "storage-full", "Redis is full"),
        }
    }
}

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
        let full =
            Self::new(Failure::TooManyQueues, "the queue would be new, and there are as many as --max-queues allows");
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

    /// More bytes of bodies than there is room for.
    pub fn too_much_in_hand() -> Self {
        let busy = Self::new(Failure::Unavailable, "too many bytes of bodies are in hand; the call had no effect");
        Self { applied: Some(Applied::No), retry_after_ms: Some(RETRY_AFTER_MS), ..busy }
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

    fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.failure.row().0).expect("the table holds statuses")
    }
}

impl From<Lost> for Problem {
    fn from(lost: Lost) -> Self {
        let detail = match lost.ending {
            Ending::Expired => "the reservation expired",
            Ending::Abandoned => "the job was given back",
            Ending::Failed => "the job was reported as failed",
            Ending::Released => "an operator took the job back",
            Ending::Cancelled => "the job was cancelled",
            Ending::Completed => "the job was completed",
            Ending::Unknown => "the reservation is not known, or its job is gone",
        };
        Self { reason: Some(lost.ending), job_state: lost.state, ..Self::new(Failure::ReservationLost, detail) }
    }
}

impl From<Fault> for Problem {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Unavailable { applied, why } => {
                let detail = match (applied, why == UNWRITABLE) {
                    (Applied::No, true) => "Redis cannot write to its disk; the call had no effect",
                    (Applied::Unknown, true) => "Redis cannot write to its disk; the call may have had an effect",
                    (Applied::No, false) => "Redis does not answer; the call had no effect",
                    (Applied::Unknown, false) => "Redis did not answer in time; the call may have had an effect",
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

impl Serialize for Problem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (status, slug, title) = self.failure.row();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", &format_args!("/problems/{slug}"))?;
        map.serialize_entry("title", title)?;
        map.serialize_entry("status", &status)?;
        map.serialize_entry("detail", &self.detail)?;
        if !self.errors.is_empty() {
            map.serialize_entry("errors", &self.errors)?;
        }
        if let Some(reason) = self.reason {
            map.serialize_entry("reason", &reason)?;
        }
        if let Some(state) = self.job_state {
            map.serialize_entry("job_state", &state)?;
        }
        if let Some(state) = self.batch_state {
            map.serialize_entry("batch_state", &state)?;
        }
        if let Some(total) = self.total {
            map.serialize_entry("total", &total)?;
        }
        match self.applied {
            Some(Applied::No) => map.serialize_entry("applied", &false)?,
            Some(Applied::Unknown) => map.serialize_entry("applied", "unknown")?,
            None => {}
        }
        if let Some(ms) = self.retry_after_ms {
            map.serialize_entry("retry_after_ms", &ms)?;
        }
        map.end()
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status(), axum::Json(&self)).into_response();
        if self.is_miss() {
            response.extensions_mut().insert(Aim { missed: 1, hit: false });
        }
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(ms) = self.retry_after_ms {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(ms.div_ceil(1_000)));
        }
        if self.packed {
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        }
        if self.failure == Failure::Unauthorized {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
