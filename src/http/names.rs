//! Names of headers that more than one room reads or writes.

use axum::http::{HeaderMap, HeaderName};

pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
pub const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
pub const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// The value of a header that occurs once and is text.
pub fn single_value<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}
