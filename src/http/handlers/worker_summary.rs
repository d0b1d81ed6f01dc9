//! One worker: what they hold now, what they have done lately, and their day sheets.

use axum::{extract::State, response::Response};

use crate::{
    access::{Caller, Role},
    http::{
        middleware::auth,
        request::{path::InPath, query::Query, reader::ReadCall},
        response::{counted, problem::Problem, shapes},
    },
    job::{Name, QueueName},
    sheets::Sheets,
    store::Queues,
};

/// `GET /workers/{worker}`
pub async fn summary(
    State(queues): State<Queues>,
    State(sheets): State<Sheets>,
    caller: Caller,
    InPath(worker): InPath<Name>,
    reader: ReadCall,
    mut query: Query,
) -> Result<Response, Problem> {
    let after = query.take("after", QueueName::parse);
    query.finish(Some(()))?;
    auth::worker(&caller, Some(&worker))?;
    let turn = reader.page_permit().await?;
    let sees = |queue: &QueueName| caller.may_see(queue);
    let mut found = queues.worker_summary(&worker, after.as_ref(), sees).await.map_err(Problem::from_read)?;
    let days = sheets.of_worker(&found.queues, &worker).await.map_err(Problem::from_read)?;
    if caller.role == Role::Worker {
        // Which operator took a job back is not for workers.
        found.ended.iter_mut().for_each(|event| event.by = None);
    }
    Ok(counted::answer(turn, &shapes::WorkerSummaryBody::new(&worker, &found, &days)))
}
