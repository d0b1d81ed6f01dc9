//! Metrics of this instance, from the counts in the replies of scripts. Queues are labels; jobs and workers never are.

use std::collections::HashMap;

use metrics::Histogram;
use parking_lot::RwLock;
use redis::Value;

use super::read::Fields;

use crate::{
    figures::QueueMetrics,
    job::{EventKind, QueueName, Tally, Total},
};

/// Counts what a script did and returns its reply without the counts. Frequent scripts reply in the form that costs Redis
/// least, packed into one text or as a flat list, which begins with the name and the count.
fn counted(answer: Value, transitions: impl Fn(&'static str, u64)) -> Value {
    let count = |name: &[u8], n: u64| {
        if let Some(transition) = transition_of(name) {
            transitions(transition, n);
        }
    };
    let mut parts = match answer {
        Value::BulkString(ref text) if text.first() == Some(&0) => {
            let Ok(mut fields) = Fields::of(&answer) else { return answer };
            if let (Ok(name), Ok(n)) = (fields.slice(), fields.count()) {
                count(name, n);
            }
            return Value::Array(fields.values().collect());
        }
        Value::Array(parts) => parts,
        other => return other,
    };
    match parts.first() {
        Some(first @ Value::BulkString(words)) if words.starts_with(b"flat ") => {
            if let Ok(mut words) = Fields::of(first) {
                words.skip();
                if let (Ok(name), Ok(n)) = (words.slice(), words.count()) {
                    count(name, n);
                }
            }
            Value::Array(nested(parts.into_iter().skip(1)))
        }
        Some(Value::BulkString(word)) if word == b"counted" => {
            for pair in parts.split_off(2).as_chunks().0 {
                if let [Value::BulkString(name), Value::Int(n)] = pair {
                    count(name, n.unsigned_abs());
                }
            }
            parts.pop().unwrap_or(Value::Nil)
        }
        _ => Value::Array(parts),
    }
}

/// A number is followed by that many elements, which form a list.
fn nested(mut parts: impl Iterator<Item = Value>) -> Vec<Value> {
    let mut items = Vec::with_capacity(parts.size_hint().0 / 4 + 2);
    while let Some(part) = parts.next() {
        items.push(match part {
            Value::Int(n) => Value::Array(parts.by_ref().take(n.unsigned_abs() as usize).collect()),
            alone => alone,
        });
    }
    items
}

/// The transition that a total or an event counts; `None` for a total of jobs that are kept now.
fn transition_of(word: &[u8]) -> Option<&'static str> {
    let word = str::from_utf8(word).ok()?;
    match EventKind::parse(word) {
        None if word == Total::HandedOut.word() => Some(EventKind::Reserved.word()),
        None if word == Tally::Undelivered.word() => Some(Tally::Undelivered.word()),
        // Counted by the total already.
        Some(EventKind::Reserved) => None,
        kind => kind.map(EventKind::word),
    }
}

/// The histograms of one script.
#[derive(Clone)]
pub(crate) struct Figures {
    pub(crate) seconds: Histogram,
    /// For scripts whose calls are batched.
    pub(crate) group_jobs: Histogram,
}

/// The metrics of scripts, created when a script first runs because a lookup by name costs more than many a call, and of queues.
#[derive(Default)]
pub(crate) struct Meter {
    scripts: RwLock<HashMap<&'static str, Figures>>,
    pub(crate) queues: QueueMetrics,
}

impl Meter {
    pub(crate) fn of(&self, script: &'static str) -> Figures {
        if let Some(figures) = self.scripts.read().get(script) {
            return figures.clone();
        }
        let figures = Figures {
            seconds: metrics::histogram!("intray_script_duration_seconds", "script" => script),
            group_jobs: metrics::histogram!("intray_script_group_jobs", "script" => script),
        };
        self.scripts.write().insert(script, figures.clone());
        figures
    }

    /// Counts what a script did in a queue, and returns its reply.
    pub(crate) fn counted(&self, queue: &QueueName, answer: Value) -> Value {
        counted(answer, |transition, n| self.transitions(queue, transition, n))
    }

    /// Counts transitions made by this instance.
    pub(crate) fn transitions(&self, queue: &QueueName, transition: &'static str, n: u64) {
        if n > 0 {
            self.queues.count(queue.as_str(), transition, n);
        }
    }

    /// Counts a call without a valid reservation. A caller can invent a reservation and its queue, so the queue is no label.
    pub(crate) fn lost(&self) {
        self.queues.count_lost(Tally::Lost.word());
    }
}
