//! The caller's own role and limits. A page reads this before it offers actions.

use axum::response::{IntoResponse, Response};

use crate::{
    access::Caller,
    http::{
        request::query::NoQuery,
        response::{json::JsonResponse, shapes},
    },
};

/// `GET /me`
pub async fn me(caller: Caller, _: NoQuery) -> Response {
    JsonResponse(shapes::MeBody::new(&caller)).into_response()
}
