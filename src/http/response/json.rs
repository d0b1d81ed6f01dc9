//! Answers in JSON.

use std::{cell::RefCell, mem};

use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use serde::Serialize;

use crate::http::response::problem::Problem;

pub const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// Most answers fit into this many bytes.
const USUAL: usize = 4 << 10;

thread_local! {
    /// The buffer that answers are written to. A small answer leaves as a copy, which takes no more memory than its
    /// length.
    static DRAFT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

pub struct JsonResponse<T>(pub T);

impl<T: Serialize> IntoResponse for JsonResponse<T> {
    fn into_response(self) -> Response {
        match text(&self.0) {
            Ok(text) => ([(header::CONTENT_TYPE, JSON)], Body::from(text)).into_response(),
            Err(problem) => problem.into_response(),
        }
    }
}

/// # Errors
/// Logs the error and returns `500`, because an answer cannot be serialized.
pub fn text(answer: &impl Serialize) -> Result<Bytes, Problem> {
    DRAFT.with_borrow_mut(|draft| {
        draft.clear();
        match serde_json::to_writer(&mut *draft, answer) {
            Ok(()) if draft.len() <= USUAL => Ok(Bytes::copy_from_slice(draft)),
            Ok(()) => Ok(mem::take(draft).into()),
            Err(error) => {
                tracing::error!(%error, "an answer cannot be written");
                Err(Problem::internal())
            }
        }
    })
}

/// `201` with a `Location` relative to the request's address, because a proxy may serve it below a path (RFC 9110,
/// section 10.2.2).
pub fn created(place: &[&str], answer: impl Serialize) -> Response {
    match HeaderValue::try_from(place.concat()) {
        Ok(place) => (StatusCode::CREATED, [(header::LOCATION, place)], JsonResponse(answer)).into_response(),
        Err(_) => Problem::internal().into_response(),
    }
}
