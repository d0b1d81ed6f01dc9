//! For the service that has work to give away, and wants the results.

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};

use crate::{
    access::{Caller, Pass},
    http::{
        handlers::{
            ingest,
            new_job::{Call, enqueued},
            task::{Bringing, Brought},
        },
        middleware::{
            audit::{Act, Done, key_of},
            auth,
        },
        request::{
            extract::JsonBody,
            items::{Answers, Items},
            path::InPath,
            query::{NoQuery, Query, read_wait},
            reader,
            rules::{self, PayloadLimit},
        },
        response::{counted, json::created, problem::Problem, shapes},
    },
    job::{JobId, State as JobState, limits},
    store::{Cancellation, Queues, Reprioritized},
    waiting::{WaitedRead, Waiting},
};

/// `POST /jobs`
pub async fn enqueue(
    State(queues): State<Queues>,
    State(PayloadLimit(max_payload)): State<PayloadLimit>,
    brought: Brought,
) -> Result<Response, Problem> {
    let Bringing { caller, repeat, traceparent, body } = match brought {
        Brought::Whole(whole) => whole,
        Brought::Lines(lines) => return ingest::take(queues, max_payload, *lines).await,
    };
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
            created(&["jobs/", queue.as_str(), "-", code.as_str()], &job)
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
    let seen = waiting.job(&id, wait, &pass.caller.credential_owned()).await;
    auth::still(&pass, wait)?;
    let WaitedRead { what, turn } = seen.map_err(reader::refused)?;
    let job = (*what).as_ref().ok_or_else(Problem::unknown_job)?;
    Ok(counted::answer(turn, &shapes::Job::new(job)))
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
