//! Parts of JSON bodies.

use serde_json::Value;

/// Sets a field that has a value.
pub fn say(body: &mut Value, field: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        body[field] = value.into();
    }
}

/// A list of one item is sent as that item.
pub fn one_or_list(items: impl Iterator<Item = Value>) -> Value {
    let mut items: Vec<_> = items.collect();
    match items.len() {
        1 => items.remove(0),
        _ => Value::Array(items),
    }
}
