//! How full Redis is, and whether it writes down what it holds.

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};

use super::{answer::Json, problem::Problem, query::NoQuery, shapes};
use crate::queue::Queues;

/// `GET /redis`
pub async fn redis(State(queues): State<Queues>, _: NoQuery) -> Result<Response, Problem> {
    let nodes = queues.memory().await.map_err(Problem::of_a_look)?;
    Ok(Json(shapes::Redis::new(&nodes)).into_response())
}
