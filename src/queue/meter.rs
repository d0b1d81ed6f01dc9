//! What this instance did, as metrics: scripts say what they counted. Queues are labels; jobs and workers never are.

use redis::Value;

use super::lanes::Op;
use crate::job::{Kind, QueueName, Tally, Total};

/// Counts transitions that this instance brought about.
pub(super) fn transitions(queue: &QueueName, transition: &'static str, n: u64) {
    if n > 0 {
        metrics::counter!("intray_transitions_total", "queue" => queue.to_string(), "transition" => transition)
            .increment(n);
    }
}

/// Counts what a script did, and answers what it answered.
pub(super) fn counted(queue: &QueueName, answer: Value) -> Value {
    let mut parts = match answer {
        Value::Array(parts) if matches!(parts.first(), Some(Value::BulkString(word)) if word == b"counted") => parts,
        other => return other,
    };
    for pair in parts.split_off(2).as_chunks().0 {
        if let [Value::BulkString(name), Value::Int(n)] = pair
            && let Some(transition) = transition_of(name)
        {
            transitions(queue, transition, n.unsigned_abs());
        }
    }
    parts.pop().unwrap_or(Value::Nil)
}

/// What is told by the word of a total or of an event: of what is kept now, nothing.
fn transition_of(word: &[u8]) -> Option<&'static str> {
    let word = str::from_utf8(word).ok()?;
    match Kind::parse(word) {
        None if word == Total::HandedOut.word() => Some(Kind::Reserved.word()),
        None if word == Tally::Undelivered.word() => Some(Tally::Undelivered.word()),
        // The total has told it.
        Some(Kind::Reserved) => None,
        kind => kind.map(Kind::word),
    }
}

/// Counts what a word says of a call that changed nothing.
pub(super) fn unchanged(queue: &QueueName, op: Op, word: &str) {
    match (op, word) {
        (Op::Enqueue, "twin") => transitions(queue, Tally::Deduplicated.word(), 1),
        (_, "lost") => lost(1),
        _ => {}
    }
}

/// Counts settle calls that hit nothing. Anybody may invent a reservation, and with it a queue: its name is no label.
pub(super) fn lost(n: u64) {
    metrics::counter!("intray_transitions_total", "transition" => Tally::Lost.word()).increment(n);
}
