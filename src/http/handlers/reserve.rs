//! Reserves jobs, and lists the reservations of a worker.

use std::time::Duration;

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};

use crate::{
    access::{Caller, Pass},
    http::{
        handlers::routing::read_skills,
        middleware::auth,
        request::{
            body::JsonBody,
            fields::JsonFields,
            headers::IdempotencyKey,
            path::InPath,
            query::{NoQuery, Query, default_queues, read_queues},
            reader::ReadCall,
            rules,
        },
        response::{
            counted,
            json::{self, JsonResponse, UndoOnDrop},
            problem::{Problem, ProblemType},
            shapes,
        },
    },
    job::{Invalid, JobId, Name, QueueName, limits},
    store::{Nonce, Queues, Reserve, ReserveOutcome},
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
    let (mut call, wait, rotates) = read_reserve(body.fields_if_any()?, key, &pass.caller)?;
    if rotates {
        call.queues = waiting.rotated(call.queues);
    }
    // The body is a part of the connection's 8 KiB read buffer; a call that waits must not keep a second one.
    drop(body);
    let serve = waiting.reserve(call, wait, || pass.is_valid());
    match auth::while_valid(&pass, wait, serve).await?? {
        ReserveOutcome::Jobs { jobs, remaining, now, undo, unavailable } => {
            let jobs = jobs.iter().map(|job| shapes::HandoutBody::new(job, now)).collect();
            let text =
                json::text(&shapes::HandoutsBody { jobs, remaining, server_time: now, unavailable: &unavailable })?;
            Ok(UndoOnDrop::new(text, undo).into_response())
        }
        ReserveOutcome::Nothing { reason, retry_after_ms, remaining, now, unavailable, .. } => {
            let (reason, server_time, unavailable) = (reason.word(), now, &unavailable);
            let nothing =
                shapes::EmptyReserveBody { jobs: [], remaining, server_time, reason, retry_after_ms, unavailable };
            Ok(JsonResponse(nothing).into_response())
        }
        ReserveOutcome::NotEligible(rule) => Err(Problem::not_eligible(rule)),
        ReserveOutcome::UnknownJob => Err(Problem::unknown_job()),
        ReserveOutcome::NotWaiting(state) => Err(Problem::wrong_state(state)),
        ReserveOutcome::QueuePaused => Err(Problem::queue_paused()),
        ReserveOutcome::WorkerLimit => Err(Problem::new(ProblemType::WorkerLimit, "settle a job of this queue first")),
    }
}

/// `GET /workers/{worker}/reservations`
pub async fn reservations(
    State(queues): State<Queues>,
    caller: Caller,
    InPath(worker): InPath<Name>,
    reader: ReadCall,
    mut query: Query,
) -> Result<Response, Problem> {
    let names = read_queues(&mut query, &caller);
    let names = query.finish(Some(names))?;
    auth::worker(&caller, Some(&worker))?;
    names.iter().try_for_each(|queue| auth::queue(&caller, queue))?;
    let turn = reader.read_permit().await?;
    let (held, now, unavailable) = queues.reservations(&names, &worker).await.map_err(Problem::from_read)?;
    let is_own = caller.worker.as_ref() == Some(&worker);
    let reservations = held.iter().map(|held| shapes::ReservationBody::new(held, now, is_own)).collect();
    let unavailable = &unavailable;
    Ok(counted::answer(turn, &shapes::ReservationsBody { reservations, server_time: now, unavailable }))
}

fn read_reserve(
    mut fields: JsonFields<'_>,
    key: Option<String>,
    caller: &Caller,
) -> Result<(Reserve, Duration, bool), Problem> {
    let worker = fields.take("worker", rules::parsed(Name::of_worker));
    if fields.has("id") && fields.has("queues") {
        fields.reject::<()>("queues", "does not go together with id");
    }
    if fields.has("id") && fields.has("order") {
        fields.reject::<()>("order", "does not go together with id");
    }
    let id = match fields.take("id", rules::parsed(JobId::parse)) {
        // A token for one job says which, if the call names nothing.
        None if !fields.has("queues") => caller.job.clone(),
        id => id,
    };
    let rotates = fields.take("order", rules::parsed(read_order)).unwrap_or(false);
    let named = fields.list("queues", 1..=limits::RESERVE_QUEUES, rules::parsed(QueueName::parse));
    let limit = fields.take("limit", rules::whole(1..=limits::RESERVE_JOBS)).unwrap_or(1);
    if id.is_some() && limit > 1 {
        fields.reject::<()>("limit", "is 1 together with id");
    }
    let wait_ms = fields.take("wait_ms", rules::whole(0..=limits::WAIT_MS)).unwrap_or(0);
    let lease_ms = fields.take("lease_ms", rules::whole(limits::LEASE_MS));
    let skills = read_skills(&mut fields);
    fields.finish(Some(()))?;
    auth::worker(caller, worker.as_ref())?;
    let (worker, skills) = (worker.or_else(|| caller.worker.clone()), caller.skills(skills));
    let queues = match &id {
        Some(JobId { queue, .. }) => vec![queue.clone()],
        None => named.unwrap_or_else(|| default_queues(caller)),
    };
    match &id {
        Some(id) => auth::job(caller, id)?,
        None => queues.iter().try_for_each(|queue| auth::queue(caller, queue))?,
    }
    if caller.job.is_some() && caller.job.as_ref() != id.as_ref() {
        return Err(Problem::forbidden(auth::FOR_ONE_JOB));
    }
    let nonce = nonce_of(key, worker.as_ref(), caller)?;
    let access = caller.access.clone();
    let call = Reserve { queues, worker, access, skills, limit, lease_ms, nonce, id };
    Ok((call, Duration::from_millis(wait_ms.into()), rotates))
}

/// A worker with tokens of two origins is two callers: a repetition has no event, so one must not get the reservations of the other by it.
fn nonce_of(key: Option<String>, worker: Option<&Name>, caller: &Caller) -> Result<Nonce, Problem> {
    let Some(key) = key else { return Ok(Nonce::fresh()) };
    let (worker, credential) = (worker.map_or("", Name::as_str), caller.credential());
    if worker.is_empty() && credential.is_empty() {
        return Err(IdempotencyKey::problem("needs a worker to belong to"));
    }
    let origin = caller.worker.as_ref().map(|_| caller.access.to_string());
    let parts: Vec<_> = [credential, worker, &key].into_iter().chain(origin.as_deref()).map(str::as_bytes).collect();
    Ok(Nonce::derived(&parts))
}

/// Whether the queues are rotated before each call.
fn read_order(word: &str) -> Result<bool, Invalid> {
    match word {
        "listed" => Ok(false),
        "rotate" => Ok(true),
        _ => Err(Invalid("must be listed or rotate")),
    }
}
