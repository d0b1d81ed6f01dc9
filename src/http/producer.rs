//! For the service that has work to give away, and wants the results.

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};

use super::{
    act::{Act, Done, key_of},
    answer::{Json, created},
    app::PayloadLimit,
    extract::JsonBody,
    fields::Fields,
    guard,
    items::{Answers, Items},
    path::InPath,
    problem::Problem,
    query::{NoQuery, Query, read_wait},
    rules, shapes,
    task::{Bringing, Repeat, check_size, read_task},
};
use crate::{
    access::{Caller, Pass},
    job::{JobId, Name, QueueName, State as JobState, limits},
    queue::{self, Cancellation, Dedupe, Enqueued, NewJob, Queues, Reprioritized},
    waiting::Waiting,
};

/// `POST /jobs`
pub async fn enqueue(
    State(queues): State<Queues>,
    State(PayloadLimit(max_payload)): State<PayloadLimit>,
    Bringing { caller, repeat, traceparent, body }: Bringing,
) -> Result<Response, Problem> {
    let items = Items::of(body.text()?, limits::ENQUEUE_ITEMS)?;
    let mut call = Call { caller, repeat, traceparent, max_payload, index: 0, derived: Vec::new() };
    let items = items.read(|item| call.job(item));
    // One job says so itself; of an array nothing is stored if a part of it is another call's.
    if let Some(repeat) = call.repeat.filter(|_| items.is_array()) {
        let is_reused = queues.is_reused(&call.derived, repeat.fingerprint).await;
        if is_reused.map_err(Problem::of_a_look)? {
            return Err(Problem::key_reused());
        }
    }
    let answers = items.each(|job| queues.enqueue(job), |(), outcome| enqueued(outcome)).await;
    Ok(match answers {
        Answers::One(Ok(job)) if !job.duplicate => {
            let JobId { queue, code } = &job.id.0;
            created(&["/jobs/", queue.as_str(), "-", code.as_str()], &job)
        }
        answers => answers.into_response(),
    })
}

/// `GET /jobs/{id}`
pub async fn inspect(
    State(waiting): State<Waiting>,
    pass: Pass,
    InPath(id): InPath<JobId>,
    mut query: Query,
) -> Result<Response, Problem> {
    let wait = read_wait(&mut query);
    let wait = query.finish(Some(wait))?;
    let job = waiting.job(&id, wait).await;
    guard::still(&pass, wait)?;
    let job = job.map_err(Problem::of_a_look)?.ok_or_else(Problem::unknown_job)?;
    Ok(Json(shapes::Job::new(&job)).into_response())
}

/// `DELETE /jobs/{id}`
pub async fn cancel(
    State(queues): State<Queues>,
    InPath(id): InPath<JobId>,
    caller: Caller,
    mut query: Query,
) -> Result<Done<shapes::Cancelled>, Problem> {
    let force = query.take("force", rules::flag_text).unwrap_or(false);
    let force = query.finish(Some(force))?;
    let by = key_of(&caller);
    match queues.cancel(id.clone(), force, by.as_ref()).await? {
        Cancellation::Cancelled => {
            let act = Act::on_job("cancel", id.clone(), 1, by);
            Ok(Done(act, shapes::Cancelled { id: shapes::Text(id), state: JobState::Cancelled }))
        }
        Cancellation::UnknownJob => Err(Problem::unknown_job()),
        Cancellation::WrongState(state) => Err(Problem::wrong_state(state)),
    }
}

/// `PATCH /jobs/{id}`
pub async fn reprioritize(
    State(queues): State<Queues>,
    InPath(id): InPath<JobId>,
    caller: Caller,
    _: NoQuery,
    body: JsonBody,
) -> Result<Done<shapes::Reprioritized>, Problem> {
    let mut fields = body.fields()?;
    let priority = fields.need("priority", rules::priority);
    let priority = fields.finish(priority)?;
    let by = key_of(&caller);
    match queues.reprioritize(id.clone(), priority, by.as_ref()).await? {
        Reprioritized::Changed(state) => {
            let act = Act::on_job("reprioritize", id.clone(), 1, by);
            Ok(Done(act, shapes::Reprioritized { id: shapes::Text(id), state, priority }))
        }
        Reprioritized::UnknownJob => Err(Problem::unknown_job()),
        Reprioritized::WrongState(state) => Err(Problem::wrong_state(state)),
    }
}

/// What the jobs of one call have in common.
struct Call {
    caller: Caller,
    repeat: Option<Repeat>,
    traceparent: Option<String>,
    max_payload: usize,
    /// Of the next item: a repeated call must find each of its jobs again.
    index: usize,
    /// The ids that the idempotency key gives, to bad items too.
    derived: Vec<JobId>,
}

impl Call {
    fn job(&mut self, item: &str) -> Result<((), NewJob), Problem> {
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
            None => queue::random_id(queue),
        };
        let task = read_task(&mut fields, self.traceparent.clone());
        let priority = fields.take("priority", rules::priority).unwrap_or_default();
        let client = fields.take("client", rules::parsed(Name::parse));
        let dedupe = dedupe(&mut fields);
        let task = fields.finish(task)?;
        guard::queue(&self.caller, &id.queue)?;
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

fn enqueued(outcome: Enqueued) -> Result<shapes::Enqueued, Problem> {
    match outcome {
        Enqueued::Stored { id, state } => Ok(shapes::Enqueued::new(id, state, false)),
        Enqueued::Twin { id, state } => Ok(shapes::Enqueued::new(id, state, true)),
        Enqueued::KeyReused => Err(Problem::key_reused()),
        Enqueued::QueueFull => Err(Problem::queue_full()),
        Enqueued::TooManyQueues => Err(Problem::too_many_queues()),
    }
}
