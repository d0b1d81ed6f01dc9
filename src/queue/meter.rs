//! What this instance did, as metrics. Queues are labels; jobs and workers never are.

use super::group::Op;
use crate::job::QueueName;

/// Counts transitions that this instance brought about.
pub(super) fn transitions(queue: &QueueName, transition: &'static str, n: u64) {
    if n > 0 {
        metrics::counter!("intray_transitions_total", "queue" => queue.to_string(), "transition" => transition)
            .increment(n);
    }
}

/// The transition that a script's word stands for, if it is one.
pub(super) fn transition_of(op: Op, word: &str) -> Option<&'static str> {
    match (op, word) {
        (Op::Enqueue, "stored") => Some("enqueued"),
        (Op::Enqueue, "twin") => Some("deduplicated"),
        (Op::Reserve, "new") => Some("reserved"),
        (Op::Reserve, "held") => Some("resumed"),
        (Op::Extend, "extended") => Some("extended"),
        (Op::Complete, "done") => Some("completed"),
        (Op::Abandon, "back") => Some("abandoned"),
        (Op::Fail, "back") => Some("failed"),
        (_, "lost") => Some("lost"),
        _ => None,
    }
}
