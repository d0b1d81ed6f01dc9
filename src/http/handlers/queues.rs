//! Queues, their workers and their locks.

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};

use crate::{
    access::Caller,
    http::{
        handlers::recent_workers::RecentCall,
        request::{
            path::InPath,
            query::{NoQuery, Query, read_page},
            reader::ReadCall,
            rules,
        },
        response::{counted, entity_tag::EntityTag, problem::Problem, shapes},
    },
    job::{LockName, QueueName, State as JobState, limits},
    store::{Cursor, FORM_LOST, Fault, FormText, QueueInfo, Queues},
};

/// The tag of a queue without a form.
const NO_FORM: &str = "00000000000000000000000000000000";

/// `GET /queues`
pub async fn queues(
    State(queues): State<Queues>,
    caller: Caller,
    reader: ReadCall,
    mut query: Query,
) -> Result<Response, Problem> {
    let after = query.take("after", QueueName::parse);
    let limit = query.take("limit", rules::whole_text(1..=limits::QUEUES)).unwrap_or(limits::QUEUES);
    query.finish(Some(()))?;
    let sees = |queue: &QueueName| caller.may_see(queue);
    let turn = reader.page_permit().await?;
    let page = queues.queue_page(after.as_ref(), limit, sees).await.map_err(Problem::from_read)?;
    Ok(counted::answer(turn, &page))
}

/// `GET /queues/{queue}`
pub async fn queue(
    State(queues): State<Queues>,
    InPath(name): InPath<QueueName>,
    reader: ReadCall,
    _: NoQuery,
) -> Result<Response, Problem> {
    let turn = reader.read_permit().await?;
    let parts = tokio::try_join!(queues.queue(&name), queues.lines(&name));
    let (info, lines) = parts.map_err(Problem::from_read)?;
    let mut info = info.ok_or_else(Problem::unknown_queue)?;
    let form = match info.settings.result_schema_sha256 {
        Some(_) => form_of(&queues, &mut info).await.map_err(Problem::from_read)?,
        None => None,
    };
    Ok(counted::answer(turn, &shapes::QueueBody::new(&info, &lines, form.as_ref())))
}

/// The form of a queue that has one. It may have changed since the settings were read, so they get its digest.
async fn form_of(queues: &Queues, info: &mut QueueInfo) -> Result<Option<FormText>, Fault> {
    match queues.form(&info.name).await {
        // It is to be set again, where the rest of the queue is seen.
        Err(Fault::Unavailable { why, .. }) if why == FORM_LOST => Ok(None),
        Err(fault) => Err(fault),
        Ok(form) => {
            info.settings.result_schema_sha256 = form.as_ref().map(|form| form.digest.clone());
            Ok(form)
        }
    }
}

/// `GET /queues/{queue}/form`
pub async fn form(
    State(queues): State<Queues>,
    InPath(queue): InPath<QueueName>,
    reader: ReadCall,
    _: NoQuery,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let turn = reader.read_permit().await?;
    require_queue(&queues, &queue).await?;
    let form = queues.form(&queue).await.map_err(Problem::from_read)?;
    let tag = EntityTag::of(form.as_ref().map_or(NO_FORM, |form| &form.digest[..NO_FORM.len()]));
    if tag.is_known(&headers) {
        return Ok((StatusCode::NOT_MODIFIED, tag.headers()).into_response());
    }
    let answer = counted::answer(turn, &shapes::FormBody::of(form.as_ref()));
    Ok((tag.headers(), answer).into_response())
}

/// `GET /queues/{queue}/workers`
pub async fn workers(
    State(queues): State<Queues>,
    InPath(queue): InPath<QueueName>,
    call: RecentCall,
    mut query: Query,
) -> Result<Response, Problem> {
    if query.take("recent", rules::flag_text).unwrap_or(false) {
        reject_page(&mut query);
        query.finish(Some(()))?;
        require_queue(&queues, &queue).await?;
        return call.answer(&queue).await;
    }
    let (after, limit) = read_page(&mut query, Cursor::parse);
    query.finish(Some(()))?;
    let turn = call.reader.read_permit().await?;
    require_queue(&queues, &queue).await?;
    let page = queues.workers(&queue, after, limit).await.map_err(Problem::from_read)?;
    let (next, server_time) = (page.next, page.now);
    let workers = shapes::WorkerBody::each(&page.held, page.now);
    Ok(counted::answer(turn, &shapes::WorkerPageBody { workers, next, server_time }))
}

/// `GET /queues/{queue}/locks`
pub async fn locks(
    State(queues): State<Queues>,
    InPath(queue): InPath<QueueName>,
    reader: ReadCall,
    mut query: Query,
) -> Result<Response, Problem> {
    let lock = query.take("lock", LockName::parse);
    let (after, limit) = read_page(&mut query, Cursor::of_jobs);
    query.finish(Some(()))?;
    let turn = reader.read_permit().await?;
    require_queue(&queues, &queue).await?;
    let page = queues.locks(&queue, lock, after, limit).await.map_err(Problem::from_read)?;
    let locks = page.locks.iter().map(|held| shapes::LockBody::new(held, page.now)).collect();
    let (next, server_time) = (page.next, page.now);
    Ok(counted::answer(turn, &shapes::LockPageBody { locks, next, server_time }))
}

/// The list of recent workers has no pages.
fn reject_page(query: &mut Query) {
    for name in ["after", "limit"] {
        if !query.all(name).is_empty() {
            query.reject(name, "is not for the list of recent workers");
        }
    }
}

/// Refuses unknown queues, because a read must not create one.
pub async fn require_queue(queues: &Queues, queue: &QueueName) -> Result<(), Problem> {
    let is_known = queues.exists(queue).await.map_err(Problem::from_read)?;
    if is_known { Ok(()) } else { Err(Problem::unknown_queue()) }
}

/// Names of the states, for an error.
pub fn states() -> String {
    let [rest @ .., last] = JobState::ALL.map(JobState::word);
    format!("{} or {last}", rest.join(", "))
}
