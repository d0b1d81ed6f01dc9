//! The counts in the replies of scripts.

use redis::Value;

use crate::job::{EventKind, Tally, Total};

/// Counts what a script did and returns its reply without the counts.
pub(crate) fn counted(answer: Value, transitions: impl Fn(&'static str, u64)) -> Value {
    let Value::Array(mut parts) = answer else { return answer };
    if !matches!(parts.first(), Some(Value::BulkString(word)) if word == b"counted") {
        return Value::Array(parts);
    }
    for pair in parts.split_off(2).as_chunks().0 {
        if let [Value::BulkString(name), Value::Int(n)] = pair
            && let Some(transition) = transition_of(name)
        {
            transitions(transition, n.unsigned_abs());
        }
    }
    parts.pop().unwrap_or(Value::Nil)
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
