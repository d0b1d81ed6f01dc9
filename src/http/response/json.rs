//! What was made of a call, as JSON.

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
/// Bytes that most answers fit into.
const USUAL: usize = 4 << 10;

thread_local! {
    /// Where answers are written. One of the usual size leaves as a copy: it takes as much memory as it is long, at once.
    static DRAFT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

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

/// What came into being, and where it can be looked at: relative to the address that was called, which a proxy may serve below
/// a path (RFC 9110, section 10.2.2).
pub fn created(place: &[&str], answer: impl Serialize) -> Response {
    match HeaderValue::try_from(place.concat()) {
        Ok(place) => (StatusCode::CREATED, [(header::LOCATION, place)], Json(answer)).into_response(),
        Err(_) => Problem::internal().into_response(),
    }
}
