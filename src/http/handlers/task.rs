//! What jobs say of themselves, alone or in a batch, and what tells the call that brings them from others.

use axum::{
    body::Body,
    extract::{FromRef, FromRequest, FromRequestParts, Request},
};
use tokio_util::sync::CancellationToken;

use crate::{
    access::{Caller, Pass},
    http::{
        middleware::body_budget::Purse,
        request::{
            body::{is_of, is_plain},
            extract::{JsonBody, purse},
            fields::Fields,
            headers::{IdempotencyKey, Traceparent},
            lines::NDJSON,
            query::{NoQuery, Query},
            rules,
            time::time,
        },
        response::problem::Problem,
    },
    job::{BatchId, JobId, LockName, QueueName, limits},
    payload::meaning,
    sha256::Sha256,
    store::{self, Delay, Task},
};

/// A call that brings new jobs, in one of two forms.
#[expect(clippy::large_enum_variant, reason = "nearly every call is whole, and shall not pay for a box")]
pub enum Brought {
    Whole(Bringing),
    Lines(Box<Lined>),
}

/// One job, or a list, or what holds one.
pub struct Bringing {
    pub caller: Caller,
    /// `None`: it is not said to be safe to repeat.
    pub repeat: Option<Repeat>,
    pub traceparent: Option<String>,
    pub body: JsonBody,
}

/// A job a line, as many as there are, which are read while they are put into their queues.
pub struct Lined {
    pub pass: Pass,
    /// Asked for by these alone: to have one takes a lock.
    pub leaving: CancellationToken,
    /// `None`: it is not said to be safe to repeat.
    pub repeat: Option<Repeat>,
    pub traceparent: Option<String>,
    pub query: Query,
    pub purse: Purse,
    pub body: Body,
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

impl<S: Sync> FromRequest<S> for Brought
where
    CancellationToken: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        if is_of(request.headers(), NDJSON) {
            // In a box: what is rare shall not make each call as large.
            return Box::pin(Lined::from_request(request, state)).await.map(|lined| Self::Lines(lined.into()));
        }
        Bringing::from_request(request, state).await.map(Self::Whole)
    }
}

impl<S: Sync> FromRequest<S> for Lined
where
    CancellationToken: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        if !is_plain(request.headers()) {
            return Err(Problem::packed());
        }
        let purse = purse(&request)?;
        let (mut parts, body) = request.into_parts();
        let pass = Pass::from_request_parts(&mut parts, state).await?;
        let query = Query::from_request_parts(&mut parts, state).await?;
        let IdempotencyKey(key) = IdempotencyKey::from_request_parts(&mut parts, state).await?;
        let Ok(Traceparent(traceparent)) = Traceparent::from_request_parts(&mut parts, state).await;
        let repeat = key.map(|key| Repeat::new(key, b"", &pass.caller));
        let leaving = CancellationToken::from_ref(state);
        Ok(Self { pass, leaving, repeat, traceparent, query, purse, body })
    }
}

impl Repeat {
    fn new(key: String, body: &[u8], caller: &Caller) -> Self {
        let credential = caller.credential().to_owned();
        Self { credential, key, fingerprint: fingerprint(body) }
    }

    /// From now on it is told by this from others under the same key.
    pub fn is_of(&mut self, body: &[u8]) {
        self.fingerprint = fingerprint(body);
    }

    /// The id of a job of the call.
    pub fn job(&self, queue: QueueName, index: usize) -> JobId {
        let (name, index) = (queue.to_string(), index.to_string());
        store::derived_id(queue, &[&self.credential, "POST /jobs", &name, &self.key, &index].map(str::as_bytes))
    }

    /// The id of the batch that the call makes.
    pub fn batch(&self, queue: QueueName) -> BatchId {
        let name = queue.to_string();
        store::derived_batch(queue, &[&self.credential, "POST /batches", &name, &self.key].map(str::as_bytes))
    }
}

/// Of what the body means: another library spells the same request in another way.
fn fingerprint(body: &[u8]) -> [u8; 8] {
    let digest = Sha256::digest(meaning(body));
    std::array::from_fn(|i| digest[i])
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
