//! What operators do to the jobs of others, and to a queue. Of each the log says by whose key.

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use serde_json::value::RawValue;

use super::{
    act::{Act, Done, key_of},
    answer::Json,
    extract::JsonBody,
    fields::Fields,
    guard, operator,
    path::{InPath, NewQueue},
    place::Rule,
    problem::Problem,
    query::{NoQuery, Query},
    rules, shapes,
};
use crate::{
    access::Caller,
    job::{BatchId, Invalid, JobId, Name, QueueName, State as JobState, limits},
    queue::{Meant, Progress, Purge, Purged, Queues, Release, Released, Requeue, Requeued, SettingsPatch, Swept},
};

/// `POST /jobs/release`
pub async fn release(
    State(queues): State<Queues>,
    caller: Caller,
    _: NoQuery,
    body: JsonBody,
) -> Result<Done<shapes::Released>, Problem> {
    let (target, by) = (read_holder(body.fields()?)?, key_of(&caller));
    match &target {
        Release::Job(id) => guard::job(&caller, id)?,
        Release::Worker(queue, _) => guard::queue(&caller, queue)?,
    }
    let done = queues.release(&target, by.as_ref()).await?;
    let Released { released, more } = done.ok_or_else(Problem::unknown_job)?;
    let act = match target {
        Release::Job(id) => Act::on_job("release", id, released, by),
        Release::Worker(queue, worker) => Act::on_worker("release", queue, worker, released, by),
    };
    Ok(Done(act, shapes::Released { released, more }))
}

/// `POST /jobs/requeue`
pub async fn requeue(
    State(queues): State<Queues>,
    caller: Caller,
    _: NoQuery,
    body: JsonBody,
) -> Result<Done<shapes::Requeued>, Problem> {
    let (target, by) = (read_ended(body.fields()?)?, key_of(&caller));
    let (queue, job) = match &target {
        Requeue::Job(id) => (id.queue.clone(), Some(id.clone())),
        Requeue::Queue(queue, ..) => (queue.clone(), None),
    };
    match &job {
        Some(id) => guard::job(&caller, id)?,
        None => guard::queue(&caller, &queue)?,
    }
    match queues.requeue(target, by.as_ref()).await? {
        Requeued::Count { requeued, next } => {
            let (more, act) = (next.is_some(), Act::on("requeue", queue, job, requeued, by));
            Ok(Done(act, shapes::Requeued { requeued, more, next: next.map(shapes::Text) }))
        }
        Requeued::UnknownJob => Err(Problem::unknown_job()),
        Requeued::WrongState(state) => Err(Problem::wrong_state(state)),
    }
}

/// `PATCH /queues/{queue}`
pub async fn configure(
    State(queues): State<Queues>,
    InPath(NewQueue(name)): InPath<NewQueue>,
    caller: Caller,
    _: NoQuery,
    body: JsonBody,
) -> Result<Response, Problem> {
    let (patch, by) = (read_settings(body.fields()?)?, key_of(&caller));
    let info = queues.set(&name, patch, by.as_ref()).await?.ok_or_else(Problem::too_many_queues)?;
    Ok(Done(Act::on_queue("configure", name, 1, by), shapes::Queue::new(&info)).into_response())
}

/// `DELETE /queues/{queue}`
pub async fn purge(
    State(queues): State<Queues>,
    InPath(queue): InPath<QueueName>,
    caller: Caller,
    mut query: Query,
) -> Result<Done<shapes::Purged>, Problem> {
    let (state, force) = read_purge(&mut query);
    let meant = Meant {
        client: query.take("client", Name::parse),
        batch: query.take("batch", |id| batch_of(&queue, id)),
        error: query.take("error", rules::error_part),
    };
    let after = query.take("after", Progress::of_purge);
    let state = query.finish(state)?;
    operator::known(&queues, &queue).await?;
    let by = key_of(&caller);
    let purge = Purge { queue: queue.clone(), state, force, meant, after, by: by.clone() };
    let Purged { removed, next } = queues.purge(purge).await?;
    let (more, next) = (next.is_some(), next.map(shapes::Text));
    Ok(Done(Act::on_queue("purge", queue, removed, by), shapes::Purged { removed, more, next }))
}

/// `POST /queues/{queue}/sweep`
pub async fn sweep(
    State(queues): State<Queues>,
    InPath(queue): InPath<QueueName>,
    _: NoQuery,
    body: JsonBody,
) -> Result<Json<shapes::Swept>, Problem> {
    body.fields_if_any()?.finish(Some(()))?;
    operator::known(&queues, &queue).await?;
    let Swept { expired, due, dead, forgotten, more, .. } = queues.sweep(&queue).await?;
    Ok(Json(shapes::Swept { expired, due, dead, forgotten, more }))
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

fn read_ended(mut fields: Fields<'_>) -> Result<Requeue, Problem> {
    if fields.has("id") {
        let id = fields.take("id", rules::parsed(JobId::parse));
        return fields.finish(id.map(Requeue::Job));
    }
    if !fields.has("queue") {
        let target = fields.blame("id", "is required, or queue");
        return fields.finish(target);
    }
    let queue = fields.take("queue", rules::parsed(QueueName::parse));
    let meant = Meant {
        client: fields.take("client", rules::parsed(Name::parse)),
        batch: queue.as_ref().and_then(|queue| fields.take("batch", rules::parsed(|id| batch_of(queue, id)))),
        error: fields.take("error", rules::parsed(rules::error_part)),
    };
    let after = fields.take("after", rules::parsed(Progress::of_requeue));
    fields.finish(queue.map(|queue| Requeue::Queue(queue, meant, after)))
}

fn batch_of(queue: &QueueName, id: &str) -> Result<BatchId, Invalid> {
    BatchId::parse(id).and_then(|id| if id.queue == *queue { Ok(id) } else { Err(Invalid("must be of this queue")) })
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

/// `Some(None)` is all states.
fn read_purge(query: &mut Query) -> (Option<Option<JobState>>, bool) {
    let state = query.need("state", |word| match word {
        "all" => Ok(None),
        word => JobState::parse(word).map(Some).ok_or_else(|| format!("must be all, {}", operator::states())),
    });
    let force = query.take("force", rules::flag_text).unwrap_or(false);
    if state == Some(Some(JobState::Reserved)) && !force {
        query.blame("force", "must be true to take jobs from their holders");
    }
    (state, force)
}
