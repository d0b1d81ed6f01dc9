//! `openapi.yaml` as tools read it: whoever generates a client from it loses what is written in a way that they do not know.

use std::collections::BTreeSet;

use serde_json::{Value, json};

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

/// Every operation with its pointer.
fn operations() -> impl Iterator<Item = (String, &'static Value)> {
    let paths = CONTRACT.document["paths"].as_object().expect("paths");
    paths.iter().flat_map(|(path, item)| {
        let operations = item.as_object().expect("operations").iter().filter(|(key, _)| *key != "parameters");
        operations.map(move |(method, operation)| (format!("{} {path}", method.to_uppercase()), operation))
    })
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

#[test]
fn every_operation_names_who_may_not_call_it_and_how_often() {
    for (call, operation) in operations() {
        let is_open = operation["security"] == json!([]);
        let reads = call.starts_with("GET ");
        for (status, is_needed) in [("401", !is_open), ("403", !(is_open && reads)), ("429", !is_open)] {
            assert!(!is_needed || operation["responses"].get(status).is_some(), "{call} does not name its {status}");
        }
    }
}

#[test]
fn what_tools_do_not_read_says_only_what_every_route_can_answer() {
    let rest: Vec<_> = CONTRACT.document["x-any-route-responses"].as_object().expect("a table").keys().collect();
    assert_eq!(rest, ["404", "405", "408", "421", "500"]);
}

#[test]
fn everything_that_is_written_once_is_used() {
    // What is said of a stream is text to OpenAPI; the stories know that its messages and its lines are these.
    let said = ["Event", "EventGap", "DoneLine", "RefusedLine", "LastLine", "CutLine", "Gap"];
    let mut used = BTreeSet::from(said.map(|name| format!("#/components/schemas/{name}")));
    each("", &CONTRACT.document, &mut |_, value| used.extend(value["$ref"].as_str().map(str::to_owned)));
    for (kind, parts) in CONTRACT.document["components"].as_object().expect("components") {
        for name in parts.as_object().expect("parts").keys().filter(|_| kind != "securitySchemes") {
            assert!(used.contains(&format!("#/components/{kind}/{name}")), "nobody uses the {kind} {name}");
        }
    }
}
