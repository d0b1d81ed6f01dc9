//! Reserved jobs by worker, and workers that wait for jobs.

use axum::{extract::State, response::Response};

use crate::{
    access::Caller,
    http::{
        request::{
            query::{Query, read_limit},
            reader::ReadCall,
        },
        response::{counted, problem::Problem, shapes},
    },
    job::{QueueName, limits},
    store::{HeldUntil, Queues},
    waiting::Waiting,
};

/// `GET /workers`
pub async fn workers(
    State(queues): State<Queues>,
    State(waiting): State<Waiting>,
    caller: Caller,
    reader: ReadCall,
    mut query: Query,
) -> Result<Response, Problem> {
    let (after, limit) = (query.take("after", HeldUntil::parse), read_limit(&mut query));
    query.finish(Some(()))?;
    let sees = |queue: &QueueName| caller.may_see(queue);
    let turn = reader.page_permit().await?;
    let page = queues.deadlines(after.as_ref(), limit, sees).await.map_err(Problem::from_read)?;
    let (waiters, waiting_total) = waiting.waiters(limits::WAITERS, sees);
    Ok(counted::answer(turn, &shapes::WorkersBody::new(&page, &waiters, waiting_total)))
}
