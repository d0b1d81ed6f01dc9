//! How full Redis is, and whether it writes down what it holds.

use axum::{extract::State, response::Response};

use crate::{
    http::{
        request::{query::NoQuery, reader::Reader},
        response::{counted, problem::Problem, shapes},
    },
    store::Queues,
};

/// `GET /redis`
pub async fn redis(State(queues): State<Queues>, reader: Reader, _: NoQuery) -> Result<Response, Problem> {
    let turn = reader.look().await?;
    let nodes = queues.memory().await.map_err(Problem::of_a_look)?;
    Ok(counted::answer(turn, &shapes::Redis::new(&nodes)))
}
