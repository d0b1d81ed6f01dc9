//! What happened last in a queue.

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};

use super::{
    answer::Json,
    operator::known,
    path::InPath,
    problem::Problem,
    query::{Query, read_limit},
    shapes,
};
use crate::{
    job::{Invalid, QueueName},
    queue::{Position, Queues},
};

/// `GET /queues/{queue}/events`
pub async fn recent(
    State(queues): State<Queues>,
    InPath(queue): InPath<QueueName>,
    mut query: Query,
) -> Result<Response, Problem> {
    let position = |text: &str| Position::parse(text).ok_or(Invalid("must be the `next` of a page"));
    let (after, limit) = (query.take("after", position), read_limit(&mut query));
    query.finish(Some(()))?;
    known(&queues, &queue).await?;
    let recent = queues.recent(&queue, after, limit as usize).await.map_err(Problem::of_a_look)?;
    Ok(Json(shapes::Recent::new(&recent)).into_response())
}
