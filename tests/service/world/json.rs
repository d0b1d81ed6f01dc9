//! JSON that is looked at without being changed.

use std::collections::BTreeMap;

use serde_json::{Value, value::RawValue};

/// A value of text that may hold what `Value` cannot: numbers like `1e400` become 0 here, and deep nesting is no matter.
pub fn lenient(text: &str) -> Option<Value> {
    let raw: &RawValue = serde_json::from_str(text).ok()?;
    Some(value(raw))
}

fn value(raw: &RawValue) -> Value {
    match raw.get().as_bytes()[0] {
        b'{' => {
            let members: BTreeMap<String, &RawValue> = serde_json::from_str(raw.get()).expect("an object");
            Value::Object(members.into_iter().map(|(key, raw)| (key, value(raw))).collect())
        }
        b'[' => {
            let elements: Vec<&RawValue> = serde_json::from_str(raw.get()).expect("an array");
            Value::Array(elements.into_iter().map(value).collect())
        }
        _ => serde_json::from_str(raw.get()).unwrap_or(Value::from(0)),
    }
}

/// The text at a JSON pointer, byte for byte.
pub fn text_at<'t>(text: &'t str, pointer: &str) -> Option<&'t str> {
    let mut raw: &RawValue = serde_json::from_str(text).ok()?;
    for step in pointer.split('/').skip(1) {
        raw = if raw.get().starts_with('[') {
            let elements: Vec<&RawValue> = serde_json::from_str(raw.get()).ok()?;
            elements.get(step.parse::<usize>().ok()?)?
        } else {
            let members: BTreeMap<String, &RawValue> = serde_json::from_str(raw.get()).ok()?;
            members.get(step)?
        };
    }
    Some(raw.get())
}

/// What of `part` is not in `whole`: every field of an object must be there, arrays and all else must be the same.
pub fn missing(whole: &Value, part: &Value, at: &str) -> Option<String> {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => part.iter().find_map(|(key, part)| match whole.get(key) {
            Some(whole) => missing(whole, part, &format!("{at}/{key}")),
            None => Some(format!("{at}/{key} is not there")),
        }),
        (Value::Array(whole), Value::Array(part)) if whole.len() == part.len() => {
            whole.iter().zip(part).enumerate().find_map(|(i, (whole, part))| missing(whole, part, &format!("{at}/{i}")))
        }
        _ if whole == part => None,
        _ => Some(format!("{at} is {whole} and not {part}")),
    }
}

/// Asserts that a value holds at least this.
#[track_caller]
pub fn assert_contains(whole: &Value, part: Value) {
    if let Some(fault) = missing(whole, &part, "") {
        panic!("{fault}, in {whole}");
    }
}
