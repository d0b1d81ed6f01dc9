//! What the people who look after the queues see.

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};

use super::{
    answer::Json,
    guard,
    meant::meant,
    path::InPath,
    problem::Problem,
    query::{NoQuery, Query, read_wait},
    rules, shapes,
};
use crate::{
    access::{Caller, Pass, Role},
    job::{Invalid, LockName, Name, QueueName, State as JobState, limits},
    queue::{Cursor, JobFilter, Queues},
    waiting::Waiting,
};

/// Jobs on a page that does not say how many.
const PAGE: u32 = 50;
const MOST_ON_A_PAGE: u32 = 100;

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

/// `GET /queues/{queue}/jobs`
pub async fn jobs(
    State(queues): State<Queues>,
    State(waiting): State<Waiting>,
    pass: Pass,
    InPath(queue): InPath<QueueName>,
    mut query: Query,
) -> Result<Response, Problem> {
    let asked = (read_filter(&mut query, &queue), read_wait(&mut query));
    let (filter, wait) = query.finish(Some(asked))?;
    if pass.caller.role == Role::Producer && filter.state != JobState::Completed {
        return Err(Problem::forbidden("a producer reads the results of a queue: state=completed"));
    }
    known(&queues, &queue).await?;
    let page = waiting.jobs(&queue, filter, wait).await;
    guard::still(&pass, wait)?;
    let page = page.map_err(Problem::of_a_look)?;
    let jobs = page.jobs.iter().map(shapes::Job::new).collect();
    Ok(Json(shapes::JobPage { jobs, next: page.next.map(shapes::Text), looked: page.looked }).into_response())
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

fn read_filter(query: &mut Query, queue: &QueueName) -> JobFilter {
    let word = |word: &str| JobState::parse(word).ok_or_else(|| format!("must be {}", states()));
    let (after, limit) = read_page(query, Cursor::of_jobs);
    let worker = query.take("worker", Name::of_worker);
    // Nobody has what waits.
    let usual = if worker.is_some() { JobState::Reserved } else { JobState::Waiting };
    JobFilter {
        state: query.take("state", word).unwrap_or(usual),
        meant: meant(query, queue),
        worker,
        search: query.take("search", rules::search),
        after,
        limit,
    }
}

/// In words.
pub(super) fn states() -> String {
    let [rest @ .., last] = JobState::ALL.map(JobState::word);
    format!("{} or {last}", rest.join(", "))
}

pub(super) fn read_page(query: &mut Query, cursor: fn(&str) -> Result<Cursor, Invalid>) -> (Option<Cursor>, u32) {
    let after = query.take("after", cursor);
    (after, query.take("limit", rules::whole_text(1..=MOST_ON_A_PAGE)).unwrap_or(PAGE))
}
