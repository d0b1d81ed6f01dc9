//! What happened last in a queue.

use axum::{extract::State, response::Response};

use crate::{
    http::{
        handlers::queues::known,
        request::{
            path::InPath,
            query::{Query, read_limit},
            reader::Reader,
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
    reader: Reader,
    mut query: Query,
) -> Result<Response, Problem> {
    let position = |text: &str| Position::parse(text).ok_or(Invalid("must be the `next` of a page"));
    let (after, limit) = (query.take("after", position), read_limit(&mut query));
    query.finish(Some(()))?;
    let turn = reader.page().await?;
    known(&queues, &queue).await?;
    let recent = queues.recent(&queue, after, limit as usize).await.map_err(Problem::of_a_look)?;
    Ok(counted::answer(turn, &shapes::Recent::new(&recent)))
}
