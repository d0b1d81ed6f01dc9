//! The latest events of a queue.

use axum::{extract::State, response::Response};

use crate::{
    http::{
        handlers::queues::require_queue,
        request::{
            path::InPath,
            query::{Query, read_limit},
            reader::ReadCall,
        },
        response::{counted, problem::Problem, shapes},
    },
    job::{Invalid, QueueName},
    store::{Position, Queues},
};

/// `GET /queues/{queue}/events`
pub async fn recent(
    State(queues): State<Queues>,
    InPath(queue): InPath<QueueName>,
    reader: ReadCall,
    mut query: Query,
) -> Result<Response, Problem> {
    let position = |text: &str| Position::parse(text).ok_or(Invalid("must be the `next` of a page"));
    let (after, limit) = (query.take("after", position), read_limit(&mut query));
    query.finish(Some(()))?;
    let turn = reader.page_permit().await?;
    require_queue(&queues, &queue).await?;
    let recent = queues.recent(&queue, after, limit as usize).await.map_err(Problem::from_read)?;
    Ok(counted::answer(turn, &shapes::RecentEventsBody::new(&recent)))
}
