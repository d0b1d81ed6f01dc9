//! What jobs say of themselves, alone or in a batch, and what tells the call that brings them from others.

use axum::extract::{FromRequest, FromRequestParts, Request};
use bytes::Bytes;

use super::{
    extract::JsonBody,
    fields::Fields,
    headers::{IdempotencyKey, Traceparent},
    problem::{Failure, Problem},
    query::NoQuery,
    rules,
    time::time,
};
use crate::{
    access::Caller,
    job::{BatchId, JobId, LockName, QueueName, limits},
    payload::Json,
    queue::{self, Delay, Task},
    sha256::Sha256,
};

/// A call that brings new jobs.
pub struct Bringing {
    pub caller: Caller,
    /// `None`: it is not said to be safe to repeat.
    pub repeat: Option<Repeat>,
    pub traceparent: Option<String>,
    pub body: JsonBody,
}

/// An idempotency key, and what tells its call from another under the same key.
pub struct Repeat {
    /// Whose key it is: another caller's is another.
    credential: String,
    key: String,
    pub fingerprint: [u8; 8],
}

impl<S: Sync> FromRequest<S> for Bringing {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let (mut parts, body) = request.into_parts();
        let caller = Caller::from_request_parts(&mut parts, state).await?;
        NoQuery::from_request_parts(&mut parts, state).await?;
        let IdempotencyKey(key) = IdempotencyKey::from_request_parts(&mut parts, state).await?;
        let Ok(Traceparent(traceparent)) = Traceparent::from_request_parts(&mut parts, state).await;
        let body = JsonBody::from_request(Request::from_parts(parts, body), state).await?;
        let repeat = key.map(|key| Repeat::new(key, &body.0, &caller));
        Ok(Self { caller, repeat, traceparent, body })
    }
}

impl Repeat {
    fn new(key: String, body: &Bytes, caller: &Caller) -> Self {
        let digest = Sha256::digest(body);
        let credential = caller.credential().to_owned();
        Self { credential, key, fingerprint: std::array::from_fn(|i| digest[i]) }
    }

    /// The id of a job of the call.
    pub fn job(&self, queue: QueueName, index: usize) -> JobId {
        let (name, index) = (queue.to_string(), index.to_string());
        queue::derived_id(queue, &[&self.credential, "POST /jobs", &name, &self.key, &index].map(str::as_bytes))
    }

    /// The id of the batch that the call makes.
    pub fn batch(&self, queue: QueueName) -> BatchId {
        let name = queue.to_string();
        queue::derived_batch(queue, &[&self.credential, "POST /batches", &name, &self.key].map(str::as_bytes))
    }
}

pub fn read_task(fields: &mut Fields<'_>, traceparent: Option<String>) -> Option<Task> {
    let payload = fields.need("payload", rules::json);
    let delay = delay(fields);
    let lease_ms = fields.take("lease_ms", rules::whole(limits::LEASE_MS));
    let max_attempts = fields.take("max_attempts", rules::whole(0..=limits::COUNT));
    let backoff = fields.object("backoff", rules::backoff);
    let locks = fields.list("locks", 0..=limits::LOCKS, rules::parsed(LockName::parse)).unwrap_or_default();
    Some(Task { payload: payload?, delay, lease_ms, max_attempts, backoff, locks, traceparent })
}

fn delay(fields: &mut Fields<'_>) -> Option<Delay> {
    let both = fields.has("delay_ms") && fields.has("run_at");
    let delay = fields.take("delay_ms", rules::whole(0..=limits::DELAY_MS)).map(Delay::For);
    let until = fields.take("run_at", time).map(Delay::Until);
    if both { fields.blame("run_at", "does not go together with delay_ms") } else { delay.or(until) }
}

/// A payload or a result is as large as the operator allows.
pub fn check_size(field: &str, json: &Json, most: usize) -> Result<(), Problem> {
    if json.len() <= most {
        return Ok(());
    }
    Err(Problem::new(Failure::TooLarge, format!("{field}: has at most {most} bytes")))
}
