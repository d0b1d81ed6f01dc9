//! The memory of Redis, and whether it persists its data.

use axum::{extract::State, response::Response};

use crate::{
    http::{
        request::{query::NoQuery, reader::ReadCall},
        response::{counted, problem::Problem, shapes},
    },
    store::Queues,
};

/// `GET /redis`
pub async fn redis(State(queues): State<Queues>, reader: ReadCall, _: NoQuery) -> Result<Response, Problem> {
    let turn = reader.read_permit().await?;
    let nodes = queues.memory().await.map_err(Problem::from_read)?;
    Ok(counted::answer(turn, &shapes::RedisMemoryBody { nodes }))
}
