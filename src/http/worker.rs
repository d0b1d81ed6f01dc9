//! For the page or program that does the work.

use std::time::Duration;

use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};
use serde_json::value::RawValue;

use super::{
    deliver::Delivery,
    extract::{BeaconBody, JsonBody, WorkerInPath},
    fields::Fields,
    guard,
    headers::IdempotencyKey,
    items::Items,
    place::Place,
    problem::{Failure, Problem},
    query::{NoQuery, Query},
    rules, shapes,
    task::check_size,
};
use crate::{
    access::{Caller, Pass},
    job::{JobId, Name, QueueName, Reservation, State as JobState, limits},
    payload::Json as Payload,
    queue::{Abandon, Complete, Completion, Extend, Extension, Fail, Nonce, Queues, Reserve, ReserveOutcome, Return},
    waiting::Waiting,
};

/// `POST /jobs/reserve`
pub async fn reserve(
    State(waiting): State<Waiting>,
    pass: Pass,
    _: NoQuery,
    IdempotencyKey(key): IdempotencyKey,
    body: JsonBody,
) -> Result<Response, Problem> {
    let (call, wait) = read_reserve(body.json_or_nothing()?, key, &pass.caller)?;
    // It is part of the connection's read buffer, 8 KiB, of which those who wait shall not keep two.
    drop(body);
    let outcome = waiting.reserve(call, wait, || pass.is_valid()).await;
    // Dropped, it gives back what it has newly reserved.
    guard::still(&pass, wait)?;
    match outcome? {
        ReserveOutcome::Jobs { jobs, remaining, now, undo } => {
            let jobs = jobs.iter().map(|job| shapes::Handout::new(job, now)).collect();
            let text = serde_json::to_vec(&shapes::Handouts { jobs, remaining, server_time: now.into() });
            Ok(Delivery::new(text.map_err(|_| Problem::internal())?, undo).into_response())
        }
        ReserveOutcome::Nothing { reason, retry_after_ms, remaining, now, .. } => {
            let (reason, server_time) = (reason.word(), now.into());
            Ok(Json(shapes::NothingToReserve { jobs: [], remaining, server_time, reason, retry_after_ms })
                .into_response())
        }
        ReserveOutcome::UnknownJob => Err(Problem::unknown_job()),
        ReserveOutcome::NotWaiting(state) => Err(Problem::wrong_state(state)),
        ReserveOutcome::QueuePaused => Err(Problem::queue_paused()),
        ReserveOutcome::WorkerLimit => Err(Problem::new(Failure::WorkerLimit, "settle a job of this queue first")),
    }
}

/// `POST /jobs/extend`
pub async fn extend(
    State((queues, max_draft)): State<(Queues, usize)>,
    _: NoQuery,
    body: BeaconBody,
) -> Result<Response, Problem> {
    let items = Items::of(body.json()?, limits::SETTLE_ITEMS)?;
    let read = |item| read_extend(item, max_draft);
    Ok(items.each(read, |calls| queues.extend(calls), extended).await.into_response())
}

/// `POST /jobs/complete`
pub async fn complete(
    State((queues, max_result)): State<(Queues, usize)>,
    _: NoQuery,
    body: BeaconBody,
) -> Result<Response, Problem> {
    let items = Items::of(body.json()?, limits::SETTLE_ITEMS)?;
    let read = |item| read_complete(item, max_result);
    Ok(items.each(read, |calls| queues.complete(calls), completed).await.into_response())
}

/// `POST /jobs/abandon`
pub async fn abandon(
    State((queues, max_draft)): State<(Queues, usize)>,
    _: NoQuery,
    body: BeaconBody,
) -> Result<Response, Problem> {
    let items = Items::of(body.json()?, limits::SETTLE_ITEMS)?;
    let read = |item| read_abandon(item, max_draft);
    Ok(items.each(read, |calls| queues.abandon(calls), returned).await.into_response())
}

/// `POST /jobs/fail`
pub async fn fail(State(queues): State<Queues>, _: NoQuery, body: BeaconBody) -> Result<Response, Problem> {
    let items = Items::of(body.json()?, limits::SETTLE_ITEMS)?;
    Ok(items.each(read_fail, |calls| queues.fail(calls), returned).await.into_response())
}

/// `GET /workers/{worker}/reservations`
pub async fn reservations(
    State(queues): State<Queues>,
    caller: Caller,
    WorkerInPath(worker): WorkerInPath,
    mut query: Query,
) -> Result<Response, Problem> {
    let names = read_queues(&mut query, &caller);
    let names = query.finish(Some(names))?;
    guard::worker(&caller, Some(&worker))?;
    names.iter().try_for_each(|queue| guard::queue(&caller, queue))?;
    let (held, now) = queues.reservations(&names, &worker).await.map_err(Problem::of_a_look)?;
    let is_own = caller.worker.as_ref() == Some(&worker);
    let reservations = held.iter().map(|held| shapes::Reservation::new(held, now, is_own)).collect();
    Ok(Json(shapes::Reservations { reservations, server_time: now.into() }).into_response())
}

fn read_reserve(body: &RawValue, key: Option<String>, caller: &Caller) -> Result<(Reserve, Duration), Problem> {
    let mut fields = Fields::of(body)?;
    let worker = fields.take("worker", rules::parsed(Name::of_worker));
    if fields.has("id") && fields.has("queues") {
        fields.blame::<()>("queues", "does not go together with id");
    }
    let id = fields.take("id", rules::parsed(JobId::parse));
    let named = fields.list("queues", 1..=limits::RESERVE_QUEUES, rules::parsed(QueueName::parse));
    let limit = fields.take("limit", rules::whole(1..=limits::RESERVE_JOBS)).unwrap_or(1);
    if id.is_some() && limit > 1 {
        fields.blame::<()>("limit", "is 1 together with id");
    }
    let wait_ms = fields.take("wait_ms", rules::whole(0..=limits::WAIT_MS)).unwrap_or(0);
    let lease_ms = fields.take("lease_ms", rules::whole(limits::LEASE_MS));
    fields.finish(Some(()))?;
    guard::worker(caller, worker.as_ref())?;
    let worker = worker.or_else(|| caller.worker.clone());
    let queues = match &id {
        Some(JobId { queue, .. }) => vec![queue.clone()],
        None => named.unwrap_or_else(|| usual_queues(caller)),
    };
    match &id {
        Some(id) => guard::job(caller, id)?,
        None => queues.iter().try_for_each(|queue| guard::queue(caller, queue))?,
    }
    let nonce = match (key, worker.as_ref().map_or("", Name::as_str), caller.credential()) {
        (None, ..) => Nonce::fresh(),
        (Some(_), "", "") => return Err(IdempotencyKey::problem("needs a worker to belong to")),
        (Some(key), worker, credential) => Nonce::derived(&[credential, worker, &key].map(str::as_bytes)),
    };
    Ok((Reserve { queues, worker, limit, lease_ms, nonce, id }, Duration::from_millis(wait_ms.into())))
}

/// Of a call that does not name any.
fn usual_queues(caller: &Caller) -> Vec<QueueName> {
    caller.own_queues().unwrap_or_else(|| vec![QueueName::default()])
}

pub(super) fn read_queues(query: &mut Query, caller: &Caller) -> Vec<QueueName> {
    let mut names = Vec::new();
    for text in query.list("queue", limits::RESERVE_QUEUES) {
        match QueueName::parse(&text) {
            Ok(name) if names.contains(&name) => query.blame("queue", "names a queue twice"),
            Ok(name) => names.push(name),
            Err(rule) => query.blame("queue", rule),
        }
    }
    if names.is_empty() { usual_queues(caller) } else { names }
}

fn check_size_if(field: &str, json: Option<&Payload>, most: usize) -> Result<(), Problem> {
    json.map_or(Ok(()), |json| check_size(field, json, most))
}

/// An item of a settle call, with the id that its answer names.
type Read<C> = Result<(JobId, C), Problem>;

fn read_extend(item: &RawValue, max_draft: usize) -> Read<Extend> {
    let mut fields = Fields::of(item)?;
    let reservation = fields.need("reservation", rules::parsed(Reservation::parse));
    let lease_ms = fields.take("lease_ms", rules::whole(limits::LEASE_MS));
    let draft = fields.take("draft", rules::json);
    let reservation = fields.finish(reservation)?;
    check_size_if("draft", draft.as_ref(), max_draft)?;
    Ok((reservation.job.clone(), Extend { reservation, lease_ms, draft }))
}

fn read_complete(item: &RawValue, max_result: usize) -> Read<Complete> {
    let mut fields = Fields::of(item)?;
    let reservation = fields.need("reservation", rules::parsed(Reservation::parse));
    let result = fields.take("result", rules::json);
    let reservation = fields.finish(reservation)?;
    check_size_if("result", result.as_ref(), max_result)?;
    Ok((reservation.job.clone(), Complete { reservation, result }))
}

fn read_abandon(item: &RawValue, max_draft: usize) -> Read<Abandon> {
    let mut fields = Fields::of(item)?;
    let reservation = fields.need("reservation", rules::parsed(Reservation::parse));
    let reason = fields.take("reason", rules::words(limits::REASON));
    if fields.has("delay_ms") && fields.has("grace_ms") {
        fields.blame::<()>("grace_ms", "does not go together with delay_ms");
    }
    let delay_ms = fields.take("delay_ms", rules::whole(0..=limits::DELAY_MS));
    let skip = fields.take("skip", rules::flag).unwrap_or(false);
    let grace_ms = fields.take("grace_ms", rules::whole(0..=*limits::LEASE_MS.end()));
    let resumes = fields.take("resumes", rules::whole(0..=limits::COUNT));
    let draft = fields.take("draft", rules::json);
    let reservation = fields.finish(reservation)?;
    check_size_if("draft", draft.as_ref(), max_draft)?;
    let job = reservation.job.clone();
    Ok((job, Abandon { reservation, reason, delay_ms, skip, grace_ms, resumes, draft }))
}

fn read_fail(item: &RawValue) -> Read<Fail> {
    let mut fields = Fields::of(item)?;
    let reservation = fields.need("reservation", rules::parsed(Reservation::parse));
    let error = fields.take("error", rules::words(limits::ERROR));
    let reservation = fields.finish(reservation)?;
    Ok((reservation.job.clone(), Fail { reservation, error }))
}

fn extended(id: JobId, outcome: Extension) -> Result<shapes::Extended, Problem> {
    match outcome {
        Extension::Extended { deadline, now } => {
            let (expires_in_ms, server_time) = (deadline.since(now), now.into());
            Ok(shapes::Extended { id: shapes::Text(id), state: JobState::Reserved, expires_in_ms, server_time })
        }
        Extension::Lost(lost) => Err(lost.into()),
    }
}

fn completed(id: JobId, outcome: Completion) -> Result<shapes::Completed, Problem> {
    match outcome {
        Completion::Done { late, duplicate } => {
            Ok(shapes::Completed { id: shapes::Text(id), state: JobState::Completed, duplicate, late })
        }
        Completion::Lost(lost) => Err(lost.into()),
    }
}

fn returned(id: JobId, outcome: Return) -> Result<shapes::Returned, Problem> {
    match outcome {
        Return::Returned { state, duplicate } => Ok(shapes::Returned { id: shapes::Text(id), state, duplicate }),
        Return::Stays => Ok(shapes::Returned { id: shapes::Text(id), state: JobState::Reserved, duplicate: false }),
        Return::NobodySkips => Err(Problem::invalid(vec![Place::pointer("/skip", "needs a named worker")]).of_a_hit()),
        Return::Lost(lost) => Err(lost.into()),
    }
}
