//! What the people who look after the queues see.

use axum::{extract::State, response::Response};

use crate::{
    access::Caller,
    http::{
        request::{
            path::InPath,
            query::{NoQuery, Query, read_page},
            reader::Reader,
            rules,
        },
        response::{counted, problem::Problem, shapes},
    },
    job::{LockName, QueueName, State as JobState, limits},
    store::{Cursor, Queues},
};

/// `GET /queues`
pub async fn queues(
    State(queues): State<Queues>,
    caller: Caller,
    reader: Reader,
    mut query: Query,
) -> Result<Response, Problem> {
    let after = query.take("after", QueueName::parse);
    let limit = query.take("limit", rules::whole_text(1..=limits::QUEUES)).unwrap_or(limits::QUEUES);
    query.finish(Some(()))?;
    let sees = |queue: &QueueName| caller.may_see(queue);
    let turn = reader.page().await?;
    let page = queues.queue_page(after.as_ref(), limit, sees).await.map_err(Problem::of_a_look)?;
    let queues = page.queues.iter().map(shapes::Queue::new).collect();
    let (next, unavailable) = (page.next.map(shapes::Text), shapes::named(&page.unavailable));
    Ok(counted::answer(turn, &shapes::QueueList { queues, next, unavailable }))
}

/// `GET /queues/{queue}`
pub async fn queue(
    State(queues): State<Queues>,
    InPath(name): InPath<QueueName>,
    reader: Reader,
    _: NoQuery,
) -> Result<Response, Problem> {
    let turn = reader.look().await?;
    let info = queues.queue(&name).await.map_err(Problem::of_a_look)?.ok_or_else(Problem::unknown_queue)?;
    Ok(counted::answer(turn, &shapes::Queue::new(&info)))
}

/// `GET /queues/{queue}/workers`
pub async fn workers(
    State(queues): State<Queues>,
    InPath(queue): InPath<QueueName>,
    reader: Reader,
    mut query: Query,
) -> Result<Response, Problem> {
    let (after, limit) = read_page(&mut query, Cursor::parse);
    query.finish(Some(()))?;
    let turn = reader.look().await?;
    known(&queues, &queue).await?;
    let page = queues.workers(&queue, after, limit).await.map_err(Problem::of_a_look)?;
    let (next, server_time) = (page.next.map(shapes::Text), page.now.into());
    let workers = shapes::Worker::each(&page.held, page.now);
    Ok(counted::answer(turn, &shapes::WorkerPage { workers, next, server_time }))
}

/// `GET /queues/{queue}/locks`
pub async fn locks(
    State(queues): State<Queues>,
    InPath(queue): InPath<QueueName>,
    reader: Reader,
    mut query: Query,
) -> Result<Response, Problem> {
    let lock = query.take("lock", LockName::parse);
    let (after, limit) = read_page(&mut query, Cursor::of_jobs);
    query.finish(Some(()))?;
    let turn = reader.look().await?;
    known(&queues, &queue).await?;
    let page = queues.locks(&queue, lock, after, limit).await.map_err(Problem::of_a_look)?;
    let locks = page.locks.iter().map(|held| shapes::Lock::new(held, page.now)).collect();
    let (next, server_time) = (page.next.map(shapes::Text), page.now.into());
    Ok(counted::answer(turn, &shapes::LockPage { locks, next, server_time }))
}

/// Asking about a queue does not bring it into being.
pub async fn known(queues: &Queues, queue: &QueueName) -> Result<(), Problem> {
    let known = queues.exists(queue).await.map_err(Problem::of_a_look)?;
    if known { Ok(()) } else { Err(Problem::unknown_queue()) }
}

/// In words.
pub fn states() -> String {
    let [rest @ .., last] = JobState::ALL.map(JobState::word);
    format!("{} or {last}", rest.join(", "))
}
