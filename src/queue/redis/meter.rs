//! What this instance did, as metrics: scripts say what they counted. Queues are labels; jobs and workers never are.

use std::{
    collections::HashMap,
    sync::{PoisonError, RwLock},
};

use metrics::Histogram;
use redis::Value;

use crate::job::{Kind, QueueName, Tally, Total};

/// Counts transitions that this instance brought about.
pub(crate) fn transitions(queue: &QueueName, transition: &'static str, n: u64) {
    if n > 0 {
        metrics::counter!("intray_transitions_total", "queue" => queue.to_string(), "transition" => transition)
            .increment(n);
    }
}

/// Counts a call that hit nothing. Anybody may invent a reservation, and with it a queue: its name is no label.
pub(crate) fn lost() {
    metrics::counter!("intray_transitions_total", "transition" => Tally::Lost.word()).increment(1);
}

/// Counts what a script did, and answers what it answered.
pub(crate) fn counted(queue: &QueueName, answer: Value) -> Value {
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

/// What is measured of one script.
#[derive(Clone)]
pub(crate) struct Figures {
    pub(crate) seconds: Histogram,
    /// Of those whose calls go together.
    pub(crate) group_jobs: Histogram,
}

/// The figures of all scripts, made when a script first runs: finding them costs more than many a call.
#[derive(Default)]
pub(crate) struct Meter(RwLock<HashMap<&'static str, Figures>>);

impl Meter {
    pub(crate) fn of(&self, script: &'static str) -> Figures {
        if let Some(figures) = self.0.read().unwrap_or_else(PoisonError::into_inner).get(script) {
            return figures.clone();
        }
        let figures = Figures {
            seconds: metrics::histogram!("intray_script_duration_seconds", "script" => script),
            group_jobs: metrics::histogram!("intray_script_group_jobs", "script" => script),
        };
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(script, figures.clone());
        figures
    }
}
