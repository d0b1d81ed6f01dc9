//! For the service that has work to give away, and wants the results.

use axum::{
    Json,
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::{
    extract::{JobInPath, JsonBody},
    fields::Fields,
    headers::{IdempotencyKey, Traceparent},
    items::{Answers, Items},
    problem::{Failure, Problem},
    query::{NoQuery, Query},
    rules, shapes,
};
use crate::{
    job::{JobId, Name, Priority, QueueName, State as JobState, limits},
    payload::Json as Payload,
    queue::{self, Cancellation, Dedupe, Delay, Enqueued, NewJob, Queues, Reprioritized},
};

/// `POST /jobs`
pub async fn enqueue(
    State((queues, max_payload)): State<(Queues, usize)>,
    _: NoQuery,
    IdempotencyKey(key): IdempotencyKey,
    Traceparent(traceparent): Traceparent,
    body: JsonBody,
) -> Result<Response, Problem> {
    let items = Items::of(body.json()?, limits::ENQUEUE_ITEMS)?;
    let mut call = Call { repeat: key.map(|key| Repeat::new(key, &body.0)), traceparent, max_payload, index: 0 };
    let answers = items.each(|item| call.job(item), |jobs| queues.enqueue(jobs), |(), outcome| enqueued(outcome)).await;
    Ok(match answers {
        Answers::One(Ok(job)) if !job.duplicate => created(job),
        answers => answers.into_response(),
    })
}

/// `GET /jobs/{id}`
pub async fn inspect(
    State(queues): State<Queues>,
    JobInPath(id): JobInPath,
    mut query: Query,
) -> Result<Response, Problem> {
    query.take("wait_ms", rules::whole_text(0..=limits::WAIT_MS));
    query.finish(Some(()))?;
    let job = queues.job(id).await.map_err(Problem::of_a_look)?.ok_or_else(Problem::unknown_job)?;
    Ok(Json(shapes::Job::new(&job)).into_response())
}

/// `DELETE /jobs/{id}`
pub async fn cancel(
    State(queues): State<Queues>,
    JobInPath(id): JobInPath,
    mut query: Query,
) -> Result<Json<shapes::Cancelled>, Problem> {
    let force = query.take("force", rules::flag_text).unwrap_or(false);
    let force = query.finish(Some(force))?;
    match queues.cancel(id.clone(), force).await? {
        Cancellation::Cancelled => Ok(Json(shapes::Cancelled { id: shapes::Text(id), state: JobState::Cancelled })),
        Cancellation::UnknownJob => Err(Problem::unknown_job()),
        Cancellation::WrongState(state) => Err(Problem::wrong_state(state)),
    }
}

/// `PATCH /jobs/{id}`
pub async fn reprioritize(
    State(queues): State<Queues>,
    JobInPath(id): JobInPath,
    _: NoQuery,
    body: JsonBody,
) -> Result<Json<shapes::Reprioritized>, Problem> {
    let mut fields = Fields::of(body.json()?)?;
    let priority = fields.need("priority", rules::priority);
    let priority = fields.finish(priority)?;
    match queues.reprioritize(id.clone(), priority).await? {
        Reprioritized::Changed(state) => Ok(Json(shapes::Reprioritized { id: shapes::Text(id), state, priority })),
        Reprioritized::UnknownJob => Err(Problem::unknown_job()),
        Reprioritized::WrongState(state) => Err(Problem::wrong_state(state)),
    }
}

/// A payload or a result is as large as the operator allows.
pub(super) fn check_size(field: &str, json: &Payload, most: usize) -> Result<(), Problem> {
    if json.len() <= most {
        return Ok(());
    }
    Err(Problem::new(Failure::TooLarge, format!("{field}: has at most {most} bytes")))
}

/// What the jobs of one call have in common.
struct Call {
    repeat: Option<Repeat>,
    traceparent: Option<String>,
    max_payload: usize,
    /// Of the next item: a repeated call must find each of its jobs again.
    index: usize,
}

/// An idempotency key, and what tells its call from another under the same key.
struct Repeat {
    key: String,
    fingerprint: [u8; 8],
}

impl Repeat {
    fn new(key: String, body: &Bytes) -> Self {
        let digest = Sha256::digest(body);
        Self { key, fingerprint: std::array::from_fn(|i| digest[i]) }
    }

    fn id(&self, queue: QueueName, index: usize) -> JobId {
        let (name, index) = (queue.to_string(), index.to_string());
        // First the credential, of which there is none yet, then the route.
        let parts = ["", "POST /jobs", &name, &self.key, &index];
        queue::derived_id(queue, &parts.map(str::as_bytes))
    }
}

impl Call {
    fn job(&mut self, item: &RawValue) -> Result<((), NewJob), Problem> {
        let index = self.index;
        self.index += 1;
        let mut fields = Fields::of(item)?;
        let queue = fields.take("queue", rules::parsed(QueueName::parse)).unwrap_or_default();
        let payload = fields.need("payload", rules::json);
        let job = NewJob {
            id: match &self.repeat {
                Some(repeat) => repeat.id(queue, index),
                None => queue::random_id(queue),
            },
            priority: fields.take("priority", rules::priority).unwrap_or_else(Priority::default),
            client: fields.take("client", rules::parsed(Name::parse)),
            dedupe: dedupe(&mut fields),
            delay: delay(&mut fields),
            lease_ms: fields.take("lease_ms", rules::whole(limits::LEASE_MS)),
            max_attempts: fields.take("max_attempts", rules::whole(0..=limits::COUNT)),
            backoff: fields.object("backoff", rules::backoff),
            traceparent: self.traceparent.clone(),
            fingerprint: self.repeat.as_ref().map(|repeat| repeat.fingerprint),
            payload: fields.finish(payload)?,
        };
        check_size("payload", &job.payload, self.max_payload)?;
        Ok(((), job))
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

fn delay(fields: &mut Fields<'_>) -> Option<Delay> {
    let both = fields.has("delay_ms") && fields.has("run_at");
    let delay = fields.take("delay_ms", rules::whole(0..=limits::DELAY_MS)).map(Delay::For);
    let until = fields.take("run_at", rules::time).map(Delay::Until);
    if both { fields.blame("run_at", "does not go together with delay_ms") } else { delay.or(until) }
}

fn enqueued(outcome: Enqueued) -> Result<shapes::Enqueued, Problem> {
    match outcome {
        Enqueued::Stored { id, state } => Ok(shapes::Enqueued::new(id, state, false)),
        Enqueued::Twin { id, state } => Ok(shapes::Enqueued::new(id, state, true)),
        Enqueued::KeyReused => {
            Err(Problem::new(Failure::IdempotencyKeyReused, "another body came with this Idempotency-Key"))
        }
        Enqueued::QueueFull => Err(Problem::queue_full()),
    }
}

fn created(job: shapes::Enqueued) -> Response {
    let place = HeaderValue::try_from(format!("/jobs/{}", job.id.0)).expect("an id is ASCII");
    (StatusCode::CREATED, [(header::LOCATION, place)], Json(job)).into_response()
}
