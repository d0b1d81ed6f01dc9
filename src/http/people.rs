//! Who is at work, and who waits for some.

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};

use super::{
    answer::Json,
    problem::Problem,
    query::{Query, read_limit},
    shapes,
};
use crate::{
    access::Caller,
    job::{QueueName, limits},
    queue::{HeldUntil, Queues},
    waiting::Waiting,
};

/// `GET /workers`
pub async fn people(
    State(queues): State<Queues>,
    State(waiting): State<Waiting>,
    caller: Caller,
    mut query: Query,
) -> Result<Response, Problem> {
    let (after, limit) = (query.take("after", HeldUntil::parse), read_limit(&mut query));
    query.finish(Some(()))?;
    let sees = |queue: &QueueName| caller.sees(queue);
    let page = queues.deadlines(after.as_ref(), limit, sees).await.map_err(Problem::of_a_look)?;
    let (waiters, waiting_total) = waiting.waiters(limits::WAITERS, sees);
    Ok(Json(shapes::People::new(&page, &waiters, waiting_total)).into_response())
}
