//! For the people who look after the queues.

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use serde_json::value::RawValue;

use super::{
    answer::Json,
    extract::JsonBody,
    fields::Fields,
    guard,
    path::{InPath, NewQueue},
    place::Rule,
    problem::Problem,
    query::{NoQuery, Query, read_page},
    rules, shapes,
};
use crate::{
    access::Caller,
    job::{JobId, LockName, Name, QueueName, State as JobState, limits},
    queue::{Cursor, Queues, Release, Released, SettingsPatch, Swept},
};

/// `POST /jobs/release`
pub async fn release(
    State(queues): State<Queues>,
    caller: Caller,
    _: NoQuery,
    body: JsonBody,
) -> Result<Json<shapes::Released>, Problem> {
    let target = read_holder(body.fields()?)?;
    match &target {
        Release::Job(id) => guard::job(&caller, id)?,
        Release::Worker(queue, _) => guard::queue(&caller, queue)?,
    }
    let Released { released, more } = queues.release(target).await?.ok_or_else(Problem::unknown_job)?;
    Ok(Json(shapes::Released { released, more }))
}

/// `GET /queues`
pub async fn queues(State(queues): State<Queues>, caller: Caller, mut query: Query) -> Result<Response, Problem> {
    let after = query.take("after", QueueName::parse);
    let limit = query.take("limit", rules::whole_text(1..=limits::QUEUES)).unwrap_or(limits::QUEUES);
    query.finish(Some(()))?;
    let sees = |queue: &QueueName| caller.sees(queue);
    let page = queues.queue_page(after.as_ref(), limit, sees).await.map_err(Problem::of_a_look)?;
    let queues = page.queues.iter().map(shapes::Queue::new).collect();
    let (next, unavailable) = (page.next.map(shapes::Text), shapes::named(&page.unavailable));
    Ok(Json(shapes::QueueList { queues, next, unavailable }).into_response())
}

/// `GET /queues/{queue}`
pub async fn queue(
    State(queues): State<Queues>,
    InPath(name): InPath<QueueName>,
    _: NoQuery,
) -> Result<Response, Problem> {
    let info = queues.queue(&name).await.map_err(Problem::of_a_look)?.ok_or_else(Problem::unknown_queue)?;
    Ok(Json(shapes::Queue::new(&info)).into_response())
}

/// `PATCH /queues/{queue}`
pub async fn configure(
    State(queues): State<Queues>,
    InPath(NewQueue(name)): InPath<NewQueue>,
    _: NoQuery,
    body: JsonBody,
) -> Result<Response, Problem> {
    let info = queues.set(&name, read_settings(body.fields()?)?).await?.ok_or_else(Problem::too_many_queues)?;
    Ok(Json(shapes::Queue::new(&info)).into_response())
}

/// `POST /queues/{queue}/sweep`
pub async fn sweep(
    State(queues): State<Queues>,
    InPath(queue): InPath<QueueName>,
    _: NoQuery,
    body: JsonBody,
) -> Result<Json<shapes::Swept>, Problem> {
    body.fields_if_any()?.finish(Some(()))?;
    known(&queues, &queue).await?;
    let Swept { expired, due, dead, forgotten, more, .. } = queues.sweep(&queue).await?;
    queues.record(&queue).await?;
    Ok(Json(shapes::Swept { expired, due, dead, forgotten, more }))
}

/// `GET /queues/{queue}/workers`
pub async fn workers(
    State(queues): State<Queues>,
    InPath(queue): InPath<QueueName>,
    mut query: Query,
) -> Result<Response, Problem> {
    let (after, limit) = read_page(&mut query, Cursor::parse);
    query.finish(Some(()))?;
    known(&queues, &queue).await?;
    let page = queues.workers(&queue, after, limit).await.map_err(Problem::of_a_look)?;
    let (next, server_time) = (page.next.map(shapes::Text), page.now.into());
    Ok(Json(shapes::WorkerPage { workers: shapes::Worker::each(&page.held, page.now), next, server_time })
        .into_response())
}

/// `GET /queues/{queue}/locks`
pub async fn locks(
    State(queues): State<Queues>,
    InPath(queue): InPath<QueueName>,
    mut query: Query,
) -> Result<Response, Problem> {
    let lock = query.take("lock", LockName::parse);
    let (after, limit) = read_page(&mut query, Cursor::of_jobs);
    query.finish(Some(()))?;
    known(&queues, &queue).await?;
    let page = queues.locks(&queue, lock, after, limit).await.map_err(Problem::of_a_look)?;
    let locks = page.locks.iter().map(|held| shapes::Lock::new(held, page.now)).collect();
    let (next, server_time) = (page.next.map(shapes::Text), page.now.into());
    Ok(Json(shapes::LockPage { locks, next, server_time }).into_response())
}

/// Asking about a queue does not bring it into being.
pub(super) async fn known(queues: &Queues, queue: &QueueName) -> Result<(), Problem> {
    let known = queues.exists(queue).await.map_err(Problem::of_a_look)?;
    if known { Ok(()) } else { Err(Problem::unknown_queue()) }
}

fn read_holder(mut fields: Fields<'_>) -> Result<Release, Problem> {
    if fields.has("id") {
        let id = fields.take("id", rules::parsed(JobId::parse));
        return fields.finish(id.map(Release::Job));
    }
    if !fields.has("queue") && !fields.has("worker") {
        let target = fields.blame("id", "is required, or queue and worker");
        return fields.finish(target);
    }
    let queue = fields.need("queue", rules::parsed(QueueName::parse));
    let worker = fields.need("worker", rules::parsed(Name::of_worker));
    fields.finish(queue.zip(worker).map(|(queue, worker)| Release::Worker(queue, worker)))
}

fn read_settings(mut fields: Fields<'_>) -> Result<SettingsPatch, Problem> {
    let counted = 0..=limits::COUNT;
    let patch = SettingsPatch {
        paused: set(&mut fields, "paused", rules::flag),
        lease_ms: set(&mut fields, "lease_ms", rules::whole(limits::LEASE_MS)),
        max_hold_ms: set(&mut fields, "max_hold_ms", rules::whole(0..=limits::DELAY_MS)),
        warn_ms: set(&mut fields, "warn_ms", rules::whole(0..=*limits::LEASE_MS.end())),
        max_attempts: set(&mut fields, "max_attempts", rules::whole(counted.clone())),
        backoff: match fields.null("backoff") {
            true => Some(None),
            false => fields.object("backoff", rules::backoff).map(Some),
        },
        dedupe: set(&mut fields, "dedupe", rules::flag),
        share_drafts: set(&mut fields, "share_drafts", rules::flag),
        worker_limit: set(&mut fields, "worker_limit", rules::whole(0..=limits::WORKER_LIMIT)),
        retention_ms: set(&mut fields, "retention_ms", rules::whole(limits::RETENTION_MS)),
        retention_max: set(&mut fields, "retention_max", rules::whole(counted.clone())),
        max_jobs: set(&mut fields, "max_jobs", rules::whole(counted)),
    };
    fields.finish(Some(patch))
}

/// Absent leaves a setting, `null` takes it back to the default.
fn set<T>(fields: &mut Fields<'_>, key: &str, rule: impl FnOnce(&RawValue) -> Result<T, Rule>) -> Option<Option<T>> {
    if fields.null(key) { Some(None) } else { fields.take(key, rule).map(Some) }
}

/// In words.
pub(super) fn states() -> String {
    let [rest @ .., last] = JobState::ALL.map(JobState::word);
    format!("{} or {last}", rest.join(", "))
}
