//! What operators did in a queue.

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
    store::Queues,
};

/// `GET /queues/{queue}/actions`
pub async fn actions(
    State(queues): State<Queues>,
    InPath(queue): InPath<QueueName>,
    reader: ReadCall,
    mut query: Query,
) -> Result<Response, Problem> {
    let number = |text: &str| text.parse::<u64>().map_err(|_| Invalid("must be the `next` of a page"));
    let (after, limit) = (query.take("after", number), read_limit(&mut query));
    query.finish(Some(()))?;
    let turn = reader.page_permit().await?;
    require_queue(&queues, &queue).await?;
    let page = queues.actions(&queue, after, limit).await.map_err(Problem::from_read)?;
    Ok(counted::answer(turn, &shapes::ActionPageBody::new(&queue, &page)))
}
