//! A job as `intray export` writes it becomes a new one.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::job::{QueueName, State};

/// What a producer said of a job. How it went with it stays behind: it begins anew.
#[derive(Deserialize, Serialize)]
struct RestoredJob<'l> {
    #[serde(borrow)]
    queue: Cow<'l, str>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    payload: Option<&'l RawValue>,
    #[serde(borrow)]
    priority: &'l RawValue,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    client: Option<&'l RawValue>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    lease_ms: Option<&'l RawValue>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    max_attempts: Option<&'l RawValue>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    backoff: Option<&'l RawValue>,
    #[serde(borrow)]
    locks: &'l RawValue,
    #[serde(borrow, rename(serialize = "run_at"), skip_serializing_if = "Option::is_none")]
    due_at: Option<&'l RawValue>,
    #[serde(borrow, skip_serializing)]
    state: Cow<'l, str>,
    /// They were jobs of their own though their payloads are the same, and none of them shall be lost.
    #[serde(skip_deserializing)]
    dedupe: bool,
}

/// `None`: it is no such line.
pub fn again(text: &[u8], queue: Option<&QueueName>) -> Option<Vec<u8>> {
    let mut job: RestoredJob<'_> = serde_json::from_slice(text).ok()?;
    // Of what was cancelled the payload is gone; of any other that is null, null is the payload.
    if job.state != State::Cancelled.word() {
        job.payload.get_or_insert(RawValue::NULL);
    }
    if let Some(queue) = queue {
        job.queue = queue.as_str().into();
    }
    serde_json::to_vec(&job).ok()
}
