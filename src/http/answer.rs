//! What was made of a call, as JSON.

use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;

use super::problem::Problem;

pub const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// Bytes that most answers fit into: they are written without growing.
const USUAL: usize = 256;

pub struct Json<T>(pub T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        match text(&self.0) {
            Ok(text) => ([(header::CONTENT_TYPE, JSON)], Body::from(text)).into_response(),
            Err(problem) => problem.into_response(),
        }
    }
}

/// # Errors
/// The problem that something of ours cannot be written as JSON.
pub fn text(answer: &impl Serialize) -> Result<Vec<u8>, Problem> {
    let mut text = Vec::with_capacity(USUAL);
    match serde_json::to_writer(&mut text, answer) {
        Ok(()) => Ok(text),
        Err(error) => {
            tracing::error!(%error, "an answer cannot be written");
            Err(Problem::internal())
        }
    }
}

/// What came into being, and where it can be looked at.
pub fn created(place: String, answer: impl Serialize) -> Response {
    match HeaderValue::try_from(place) {
        Ok(place) => (StatusCode::CREATED, [(header::LOCATION, place)], Json(answer)).into_response(),
        Err(_) => Problem::internal().into_response(),
    }
}
