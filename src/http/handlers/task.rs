//! The body of an enqueue call, and what makes the call idempotent.

use std::{collections::BTreeSet, sync::OnceLock};

use axum::{
    body::Body,
    extract::{FromRef, FromRequest, FromRequestParts, Request},
};
use bytes::Bytes;
use tokio_util::sync::CancellationToken;

use crate::{
    access::{Caller, Pass},
    http::{
        handlers::routing::read_routing,
        middleware::body_budget::BodyBudget,
        request::{
            body::{JsonBody, body_budget, is_of, is_plain},
            fields::JsonFields,
            headers::{IdempotencyKey, Traceparent},
            lines::NDJSON,
            query::Query,
            rules,
            time::time,
        },
        response::problem::Problem,
    },
    job::{Backoff, BatchId, JobId, LockName, QueueName, limits},
    payload::meaning,
    sha256::Sha256,
    store::{self, Delay, DerivedIds, Moment, Queues, Task, TimeLimits, TimeLimitsPatch},
};

/// A call that enqueues jobs.
#[expect(clippy::large_enum_variant, reason = "nearly every call is whole, and shall not pay for a box")]
pub enum EnqueueBody {
    Json(JsonCall),
    Lines(Box<NdjsonCall>),
}

/// A JSON body with one job, an array, or a batch.
pub struct JsonCall {
    pub caller: Caller,
    /// `None` without an `Idempotency-Key`.
    pub repeat: Option<IdempotentCall>,
    pub traceparent: Option<String>,
    /// A queue that is not there is made.
    pub creates: bool,
    pub body: JsonBody,
}

/// One job per line, enqueued while the body is read.
pub struct NdjsonCall {
    pub pass: Pass,
    /// Only this form needs it, because cloning it takes a lock.
    pub leaving: CancellationToken,
    /// `None`: it is not said to be safe to repeat.
    pub repeat: Option<IdempotentCall>,
    pub traceparent: Option<String>,
    pub query: Query,
    pub budget: BodyBudget,
    pub body: Body,
}

/// An idempotency key, and the body whose fingerprint distinguishes its call from another under the same key.
pub struct IdempotentCall {
    /// The credential: keys of different callers are unrelated.
    credential: String,
    key: String,
    body: Bytes,
    fingerprint: OnceLock<[u8; 8]>,
}

impl<S: Sync> FromRequest<S> for JsonCall {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let (mut parts, body) = request.into_parts();
        let caller = Caller::from_request_parts(&mut parts, state).await?;
        let mut query = Query::from_request_parts(&mut parts, state).await?;
        let creates = query.take("create", rules::flag_text).unwrap_or(true);
        query.finish(Some(()))?;
        let IdempotencyKey(key) = IdempotencyKey::from_request_parts(&mut parts, state).await?;
        let Ok(Traceparent(traceparent)) = Traceparent::from_request_parts(&mut parts, state).await;
        let body = JsonBody::from_request(Request::from_parts(parts, body), state).await?;
        let repeat = key.map(|key| IdempotentCall::new(key, body.0.clone(), &caller));
        Ok(Self { caller, repeat, traceparent, creates, body })
    }
}

impl<S: Sync> FromRequest<S> for EnqueueBody
where
    CancellationToken: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        if is_of(request.headers(), NDJSON) {
            // Boxed, so that the usual call stays small.
            return Box::pin(NdjsonCall::from_request(request, state)).await.map(|lined| Self::Lines(lined.into()));
        }
        JsonCall::from_request(request, state).await.map(Self::Json)
    }
}

impl<S: Sync> FromRequest<S> for NdjsonCall
where
    CancellationToken: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        if !is_plain(request.headers()) {
            return Err(Problem::content_encoding());
        }
        let budget = body_budget(&request)?;
        let (mut parts, body) = request.into_parts();
        let pass = Pass::from_request_parts(&mut parts, state).await?;
        let query = Query::from_request_parts(&mut parts, state).await?;
        let IdempotencyKey(key) = IdempotencyKey::from_request_parts(&mut parts, state).await?;
        let Ok(Traceparent(traceparent)) = Traceparent::from_request_parts(&mut parts, state).await;
        let repeat = key.map(|key| IdempotentCall::new(key, Bytes::new(), &pass.caller));
        let leaving = CancellationToken::from_ref(state);
        Ok(Self { pass, leaving, repeat, traceparent, query, budget, body })
    }
}

impl IdempotentCall {
    fn new(key: String, body: Bytes, caller: &Caller) -> Self {
        Self { credential: caller.credential().to_owned(), key, body, fingerprint: OnceLock::new() }
    }

    /// The next line is what is repeated: it takes the place of the body.
    pub fn set_line(&mut self, body: Bytes) {
        (self.body, self.fingerprint) = (body, OnceLock::new());
    }

    /// A fingerprint of the body's meaning: libraries serialize equal requests differently. It is made when the first of the
    /// jobs has passed all limits.
    pub fn fingerprint(&self) -> [u8; 8] {
        *self.fingerprint.get_or_init(|| {
            let digest = Sha256::digest(meaning(&self.body));
            std::array::from_fn(|i| digest[i])
        })
    }

    /// The id of the job at an index.
    pub fn job(&self, queue: QueueName, index: usize) -> JobId {
        let (name, index) = (queue.to_string(), index.to_string());
        store::derived_id(queue, &[&self.credential, "POST /jobs", &name, &self.key, &index].map(str::as_bytes))
    }

    /// The id of a batch: alone, or at an index of an array.
    pub fn batch(&self, queue: QueueName, index: Option<usize>) -> BatchId {
        let (name, index) = (queue.to_string(), index.map(|index| index.to_string()));
        let mut parts = vec![&*self.credential, "POST /batches", &name, &self.key];
        parts.extend(index.as_deref());
        let parts: Vec<_> = parts.into_iter().map(str::as_bytes).collect();
        store::derived_batch(queue, &parts)
    }

    /// # Errors
    /// A problem, when another call has made a batch of one of these queues by this key, alone or in an array.
    pub async fn guard_batches(&self, queues: &Queues, named: &BTreeSet<QueueName>) -> Result<(), Problem> {
        let indices = || (0..limits::OVERLAP_BATCHES).map(Some).chain([None]);
        let ids: Vec<_> =
            named.iter().flat_map(|queue| indices().map(|index| self.batch(queue.clone(), index))).collect();
        let is_reused = queues.is_reused(DerivedIds::Batches(&ids), self.fingerprint()).await;
        if is_reused.map_err(Problem::from_read)? { Err(Problem::key_reused()) } else { Ok(()) }
    }
}

pub fn read_task(fields: &mut JsonFields<'_>, traceparent: Option<String>) -> Option<Task> {
    let payload = fields.require("payload", rules::json);
    let delay = delay(fields);
    let lease_ms = fields.take("lease_ms", rules::whole(limits::LEASE_MS));
    let max_attempts = fields.take("max_attempts", rules::whole(0..=limits::COUNT));
    let backoff = fields.object("backoff", backoff);
    let locks = fields.list("locks", 0..=limits::LOCKS, rules::parsed(LockName::parse)).unwrap_or_default();
    let (limits, routing) = (time_limits(fields, delay), read_routing(fields));
    Some(Task { payload: payload?, delay, lease_ms, max_attempts, backoff, locks, traceparent, limits, routing })
}

fn time_limits(fields: &mut JsonFields<'_>, delay: Option<Delay>) -> TimeLimits {
    if fields.has("breached") && !fields.has("sla_at") {
        fields.reject::<()>("breached", "needs sla_at");
    }
    let limits = TimeLimits {
        expires: moment(fields, "expires_ms", "expires_at"),
        sla: moment(fields, "sla_ms", "sla_at"),
        breached: fields.take("breached", rules::flag),
    };
    if let Some(error) = limits.impossible(delay) {
        fields.reject::<()>(error.field, error.rule);
    }
    limits
}

/// A time in one of its two forms.
fn moment(fields: &mut JsonFields<'_>, ms: &'static str, at: &'static str) -> Option<Moment> {
    let both = fields.has(ms) && fields.has(at);
    let from_now = fields.take(ms, rules::whole(limits::JOB_TIME_MS)).map(Moment::In);
    let named = fields.take(at, time).map(Moment::At);
    if both { fields.reject(at, format!("does not go together with {ms}")) } else { from_now.or(named) }
}

/// The fields of [`read_time_limits`].
pub const TIME_FIELDS: [&str; 4] = ["expires_ms", "expires_at", "sla_ms", "sla_at"];

/// Changes of the times of a job: `null` takes one away.
pub fn read_time_limits(fields: &mut JsonFields<'_>) -> TimeLimitsPatch {
    let mut change = |ms, at| {
        if !(fields.has(ms) && fields.has(at)) && (fields.null(ms) || fields.null(at)) {
            return Some(None);
        }
        moment(fields, ms, at).map(Some)
    };
    TimeLimitsPatch { expires: change("expires_ms", "expires_at"), sla: change("sla_ms", "sla_at") }
}

fn delay(fields: &mut JsonFields<'_>) -> Option<Delay> {
    let both = fields.has("delay_ms") && fields.has("run_at");
    let delay = fields.take("delay_ms", rules::whole(0..=limits::DELAY_MS)).map(Delay::For);
    let until = fields.take("run_at", time).map(Delay::Until);
    if both { fields.reject("run_at", "does not go together with delay_ms") } else { delay.or(until) }
}

/// The `backoff` object.
pub fn backoff(fields: &mut JsonFields<'_>) -> Option<Backoff> {
    let exponential = fields.require("type", |raw| match &*rules::text(raw)? {
        "fixed" => Ok(false),
        "exponential" => Ok(true),
        _ => Err("must be fixed or exponential".into()),
    });
    let delay = fields.require("delay_ms", rules::whole(0..=limits::DELAY_MS));
    let max = if fields.null("max_ms") { None } else { fields.take("max_ms", rules::whole(0..=limits::DELAY_MS)) };
    match (exponential?, delay?, max) {
        (false, delay_ms, None) => Some(Backoff::Fixed { delay_ms }),
        (false, _, Some(_)) => fields.reject("max_ms", "is for exponential only"),
        (true, delay_ms, max) => Some(Backoff::Exponential { delay_ms, max_ms: max.unwrap_or(limits::DELAY_MS) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_is_fixed_or_exponential() {
        let read = |text: &'static str| {
            let mut fields = JsonFields::of(text).expect("an object");
            let value = backoff(&mut fields);
            fields.finish(value).ok()
        };
        assert_eq!(read(r#"{"type":"fixed","delay_ms":5,"max_ms":null}"#), Some(Backoff::Fixed { delay_ms: 5 }));
        let exponential = |max_ms| Some(Backoff::Exponential { delay_ms: 5, max_ms });
        assert_eq!(read(r#"{"type":"exponential","delay_ms":5,"max_ms":9}"#), exponential(9));
        assert_eq!(read(r#"{"type":"exponential","delay_ms":5}"#), exponential(limits::DELAY_MS));
        for wrong in
            [r#"{"type":"fixed","delay_ms":5,"max_ms":9}"#, r#"{"type":"no","delay_ms":5}"#, r#"{"type":"fixed"}"#]
        {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
