//! The counts in the replies of scripts.

use redis::Value;

use super::read::Fields;

use crate::job::{EventKind, Tally, Total};

/// Counts what a script did and returns its reply without the counts. Frequent scripts reply in the form that costs Redis
/// least, packed into one text or as a flat list, which begins with the name and the count.
pub(crate) fn counted(answer: Value, transitions: impl Fn(&'static str, u64)) -> Value {
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
