//! Who it is that calls. A page asks this before it shows what somebody may do.

use axum::response::{IntoResponse, Response};

use crate::{
    access::Caller,
    http::{
        request::query::NoQuery,
        response::{json::Json, shapes},
    },
};

/// `GET /me`
pub async fn me(caller: Caller, _: NoQuery) -> Response {
    Json(shapes::Me::new(&caller)).into_response()
}
