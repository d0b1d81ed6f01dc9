//! The counts of a queue by minute or by hour.

use axum::{extract::State, response::Response};

use crate::{
    http::{
        handlers::queues::require_queue,
        request::{path::InPath, query::Query, reader::ReadCall, rules, time},
        response::{counted, problem::Problem, shapes},
    },
    job::{Millis, QueueName, limits},
    store::{HistoryStep, Queues},
};

/// `GET /queues/{queue}/history`
pub async fn history(
    State(queues): State<Queues>,
    InPath(queue): InPath<QueueName>,
    reader: ReadCall,
    mut query: Query,
) -> Result<Response, Problem> {
    let step = query.take("step", read_step).unwrap_or(HistoryStep::Minute);
    let after = query.take("after", time::of_text);
    let limit = query.take("limit", rules::whole_text(1..=limits::HISTORY_HOURS)).unwrap_or(limits::HISTORY_MINUTES);
    query.finish(Some(()))?;
    let turn = reader.read_permit().await?;
    require_queue(&queues, &queue).await?;
    let from = after.map_or(Millis(0), |after| Millis(after.0.saturating_add(1)));
    let found = queues.queue_history(&queue, step, from).await.map_err(Problem::from_read)?;
    Ok(counted::answer(turn, &shapes::HistoryBody::new(&found, step, limit as usize)))
}

fn read_step(word: &str) -> Result<HistoryStep, &'static str> {
    HistoryStep::ALL.into_iter().find(|step| step.word() == word).ok_or("must be minute or hour")
}
