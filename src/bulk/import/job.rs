//! A line as it is sent.

use std::collections::HashMap;

use serde_json::value::RawValue;

use super::{again::again, source::SourceLine};
use crate::{config::ImportOptions, job::QueueName};

/// What is no job is the service's to refuse: it goes as it is, so that it is refused by its number.
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

/// Nothing but JSON is put into an object: anything else could end the payload and say more of the job.
fn payload(text: &[u8], queue: Option<&QueueName>) -> Vec<u8> {
    if serde_json::from_slice::<&RawValue>(text).is_err() {
        return text.to_vec();
    }
    [b"{", queue.map(member).unwrap_or_default().as_bytes(), b"\"payload\":", text, b"}"].concat()
}

fn member(queue: &QueueName) -> String {
    format!("\"queue\":\"{queue}\",")
}

/// Whether there is no room for a queue, or no need of one. Into an object that cannot be read one is put all the same: should
/// the service make more sense of it, it shall not go elsewhere.
fn names_one(text: &[u8]) -> bool {
    match serde_json::from_slice::<HashMap<String, &RawValue>>(text) {
        Ok(members) => members.contains_key("queue") || members.is_empty(),
        Err(_) => !text.starts_with(b"{"),
    }
}
