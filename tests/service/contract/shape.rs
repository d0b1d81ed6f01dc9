//! `openapi.yaml` as tools read it: whoever generates a client from it loses what is written in a way that they do not know.

use serde_json::Value;

use crate::world::contract::CONTRACT;

/// Everything in the document with its pointer, examples left out: those are the callers' words, not the contract's.
fn each(at: &str, value: &Value, look: &mut dyn FnMut(&str, &Value)) {
    look(at, value);
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(members) => members.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(elements) => elements.iter().enumerate().map(|(i, value)| (i.to_string(), value)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return,
    };
    for (key, value) in inner.into_iter().filter(|(key, _)| !matches!(&**key, "examples" | "example")) {
        each(&format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")), value, look);
    }
}

#[track_caller]
fn nowhere(fault: impl Fn(&Value) -> bool) {
    let mut found = Vec::new();
    each("", &CONTRACT.document, &mut |at, value| found.extend(fault(value).then(|| at.to_owned())));
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn no_keyword_is_a_sentence_that_lost_its_quotes() {
    nowhere(|value| value.as_object().is_some_and(|keys| keys.keys().any(|key| key.contains(' '))));
}

#[test]
fn every_array_says_of_what() {
    nowhere(|value| value["type"] == "array" && value.get("items").is_none());
}

#[test]
fn every_list_of_words_is_of_one_type() {
    nowhere(|value| {
        let words = value["enum"].as_array().map(Vec::as_slice).unwrap_or_default();
        words.iter().any(|word| !word.is_string()) && words.iter().any(|word| !word.is_number())
    });
}
