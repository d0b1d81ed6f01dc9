//! Makes the line that is sent from a line of the file.

use std::collections::HashMap;

use intray_job::QueueName;
use serde_json::value::RawValue;

use super::{again::again, source::SourceLine};
use crate::bulk::options::ImportOptions;

/// Passes a line that is not a job unchanged, so that the service refuses it with its line number.
pub fn of(line: &SourceLine, options: &ImportOptions) -> Vec<u8> {
    let text = &line.text;
    let queue = options.queue.as_ref();
    if text.is_empty() || line.is_too_long {
        return text.clone();
    }
    if options.payloads {
        return payload(text, queue);
    }
    if options.exported
        && let Some(job) = again(text, queue)
    {
        return job;
    }
    match queue {
        Some(queue) if !names_one(text) => [b"{", member(queue).as_bytes(), &text[1..]].concat(),
        _ => text.clone(),
    }
}

/// Wraps only valid JSON in an object: other text could end the payload and set more fields of the job.
fn payload(text: &[u8], queue: Option<&QueueName>) -> Vec<u8> {
    if serde_json::from_slice::<&RawValue>(text).is_err() {
        return text.to_vec();
    }
    [b"{", queue.map(member).unwrap_or_default().as_bytes(), b"\"payload\":", text, b"}"].concat()
}

fn member(queue: &QueueName) -> String {
    format!("\"queue\":\"{queue}\",")
}

/// Whether the line already has a queue or cannot take one. An object that does not parse gets the queue anyway: if the
/// service can parse it, the job must not go to another queue.
fn names_one(text: &[u8]) -> bool {
    match serde_json::from_slice::<HashMap<String, &RawValue>>(text) {
        Ok(members) => members.contains_key("queue") || members.is_empty(),
        Err(_) => !text.starts_with(b"{"),
    }
}
