//! For the page or program that does the work.

use std::time::Duration;

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};

use crate::{
    access::{Caller, Pass},
    http::{
        middleware::auth,
        request::{
            extract::JsonBody,
            fields::Fields,
            headers::IdempotencyKey,
            path::InPath,
            query::{NoQuery, Query, read_queues, usual_queues},
            reader::Reader,
            rules,
        },
        response::{
            counted,
            json::{self, Json},
            problem::{Failure, Problem},
            shapes,
            undo_body::Delivery,
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
    // It is part of the connection's read buffer, 8 KiB, of which those who wait shall not keep two.
    drop(body);
    let outcome = waiting.reserve(call, wait, || pass.is_valid()).await;
    // Dropped, it gives back what it has newly reserved.
    auth::still(&pass, wait)?;
    match outcome? {
        ReserveOutcome::Jobs { jobs, remaining, now, undo, unavailable } => {
            let jobs = jobs.iter().map(|job| shapes::Handout::new(job, now)).collect();
            let text = json::text(&shapes::Handouts {
                jobs,
                remaining,
                server_time: now.into(),
                unavailable: shapes::named(&unavailable),
            })?;
            Ok(Delivery::new(text, undo).into_response())
        }
        ReserveOutcome::Nothing { reason, retry_after_ms, remaining, now, unavailable, .. } => {
            let (reason, server_time, unavailable) = (reason.word(), now.into(), shapes::named(&unavailable));
            let nothing =
                shapes::NothingToReserve { jobs: [], remaining, server_time, reason, retry_after_ms, unavailable };
            Ok(Json(nothing).into_response())
        }
        ReserveOutcome::UnknownJob => Err(Problem::unknown_job()),
        ReserveOutcome::NotWaiting(state) => Err(Problem::wrong_state(state)),
        ReserveOutcome::QueuePaused => Err(Problem::queue_paused()),
        ReserveOutcome::WorkerLimit => Err(Problem::new(Failure::WorkerLimit, "settle a job of this queue first")),
    }
}

/// `GET /workers/{worker}/reservations`
pub async fn reservations(
    State(queues): State<Queues>,
    caller: Caller,
    InPath(worker): InPath<Name>,
    reader: Reader,
    mut query: Query,
) -> Result<Response, Problem> {
    let names = read_queues(&mut query, &caller);
    let names = query.finish(Some(names))?;
    auth::worker(&caller, Some(&worker))?;
    names.iter().try_for_each(|queue| auth::queue(&caller, queue))?;
    let turn = reader.look().await?;
    let (held, now, unavailable) = queues.reservations(&names, &worker).await.map_err(Problem::of_a_look)?;
    let is_own = caller.worker.as_ref() == Some(&worker);
    let reservations = held.iter().map(|held| shapes::Reservation::new(held, now, is_own)).collect();
    let unavailable = shapes::named(&unavailable);
    Ok(counted::answer(turn, &shapes::Reservations { reservations, server_time: now.into(), unavailable }))
}

fn read_reserve(
    mut fields: Fields<'_>,
    key: Option<String>,
    caller: &Caller,
) -> Result<(Reserve, Duration, bool), Problem> {
    let worker = fields.take("worker", rules::parsed(Name::of_worker));
    if fields.has("id") && fields.has("queues") {
        fields.blame::<()>("queues", "does not go together with id");
    }
    if fields.has("id") && fields.has("order") {
        fields.blame::<()>("order", "does not go together with id");
    }
    let id = fields.take("id", rules::parsed(JobId::parse));
    let rotates = fields.take("order", rules::parsed(read_order)).unwrap_or(false);
    let named = fields.list("queues", 1..=limits::RESERVE_QUEUES, rules::parsed(QueueName::parse));
    let limit = fields.take("limit", rules::whole(1..=limits::RESERVE_JOBS)).unwrap_or(1);
    if id.is_some() && limit > 1 {
        fields.blame::<()>("limit", "is 1 together with id");
    }
    let wait_ms = fields.take("wait_ms", rules::whole(0..=limits::WAIT_MS)).unwrap_or(0);
    let lease_ms = fields.take("lease_ms", rules::whole(limits::LEASE_MS));
    fields.finish(Some(()))?;
    auth::worker(caller, worker.as_ref())?;
    let worker = worker.or_else(|| caller.worker.clone());
    let queues = match &id {
        Some(JobId { queue, .. }) => vec![queue.clone()],
        None => named.unwrap_or_else(|| usual_queues(caller)),
    };
    match &id {
        Some(id) => auth::job(caller, id)?,
        None => queues.iter().try_for_each(|queue| auth::queue(caller, queue))?,
    }
    let nonce = match (key, worker.as_ref().map_or("", Name::as_str), caller.credential()) {
        (None, ..) => Nonce::fresh(),
        (Some(_), "", "") => return Err(IdempotencyKey::problem("needs a worker to belong to")),
        (Some(key), worker, credential) => Nonce::derived(&[credential, worker, &key].map(str::as_bytes)),
    };
    Ok((Reserve { queues, worker, limit, lease_ms, nonce, id }, Duration::from_millis(wait_ms.into()), rotates))
}

/// Whether another queue is the first each time.
fn read_order(word: &str) -> Result<bool, Invalid> {
    match word {
        "listed" => Ok(false),
        "rotate" => Ok(true),
        _ => Err(Invalid("must be listed or rotate")),
    }
}
