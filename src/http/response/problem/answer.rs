//! Problems as answers.

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::{Serialize, Serializer, ser::SerializeMap};

use super::{Attempts, Problem, ProblemType};
use crate::{http::response::json::JsonResponse, store::Applied};

impl Serialize for Problem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (status, slug, title) = self.failure.row();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", &format_args!("/problems/{slug}"))?;
        map.serialize_entry("title", title)?;
        map.serialize_entry("status", &status)?;
        map.serialize_entry("detail", &self.detail)?;
        if !self.errors.is_empty() {
            map.serialize_entry("errors", &self.errors)?;
        }
        if let Some(rule) = self.rule {
            map.serialize_entry("rule", &rule)?;
        }
        if let Some(reason) = self.reason {
            map.serialize_entry("reason", &reason)?;
        }
        if let Some(state) = self.job_state {
            map.serialize_entry("job_state", &state)?;
        }
        if let Some(state) = self.batch_state {
            map.serialize_entry("batch_state", &state)?;
        }
        if let Some(total) = self.total {
            map.serialize_entry("total", &total)?;
        }
        match self.applied {
            Some(Applied::No) => map.serialize_entry("applied", &false)?,
            Some(Applied::Unknown) => map.serialize_entry("applied", "unknown")?,
            None => {}
        }
        if let Some(ms) = self.retry_after_ms {
            map.serialize_entry("retry_after_ms", &ms)?;
        }
        if let Some(ms) = self.final_in_ms {
            map.serialize_entry("final_in_ms", &ms)?;
        }
        map.end()
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.failure.row().0).expect("the table holds statuses");
        let mut response = (status, JsonResponse(&self)).into_response();
        if self.is_failed_attempt() {
            response.extensions_mut().insert(Attempts { missed: 1, any_valid: false });
        }
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(ms) = self.retry_after_ms {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(ms.div_ceil(1_000)));
        }
        if self.packed {
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        }
        if self.failure == ProblemType::Unauthorized {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
