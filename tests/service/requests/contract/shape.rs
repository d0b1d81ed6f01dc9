//! `openapi.yaml` as code generators read it: they ignore keywords that they do not know.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::world::contract::CONTRACT;

/// Visits every value with its pointer, except examples: these hold callers' data.
fn visit(at: &str, value: &Value, visitor: &mut dyn FnMut(&str, &Value)) {
    visitor(at, value);
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(members) => members.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(elements) => elements.iter().enumerate().map(|(i, value)| (i.to_string(), value)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return,
    };
    for (key, value) in inner.into_iter().filter(|(key, _)| !matches!(&**key, "examples" | "example")) {
        visit(&format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")), value, visitor);
    }
}

#[track_caller]
fn assert_nowhere(fault: impl Fn(&Value) -> bool) {
    let mut found = Vec::new();
    visit("", &CONTRACT.document, &mut |at, value| found.extend(fault(value).then(|| at.to_owned())));
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
fn contract_has_no_keyword_with_blanks() {
    assert_nowhere(|value| value.as_object().is_some_and(|keys| keys.keys().any(|key| key.contains(' '))));
}

#[test]
fn every_array_has_an_item_type() {
    assert_nowhere(|value| value["type"] == "array" && value.get("items").is_none());
}

#[test]
fn every_enum_has_values_of_one_type() {
    assert_nowhere(|value| {
        let words = value["enum"].as_array().map(Vec::as_slice).unwrap_or_default();
        words.iter().any(|word| !word.is_string()) && words.iter().any(|word| !word.is_number())
    });
}

#[test]
fn every_operation_documents_401_403_and_429() {
    for (call, operation) in operations() {
        let is_open = operation["security"] == json!([]);
        let reads = call.starts_with("GET ");
        for (status, is_needed) in [("401", !is_open), ("403", !(is_open && reads)), ("429", !is_open)] {
            assert!(!is_needed || operation["responses"].get(status).is_some(), "{call} does not name its {status}");
        }
    }
}

#[test]
fn any_route_table_holds_only_common_statuses() {
    let rest: Vec<_> = CONTRACT.document["x-any-route-responses"].as_object().expect("a table").keys().collect();
    assert_eq!(rest, ["404", "405", "408", "421", "500"]);
}

#[test]
fn every_component_is_referenced() {
    // OpenAPI sees stream contents as text; other tests check messages and lines against these schemas.
    let streamed = ["Event", "EventGap", "DoneLine", "RefusedLine", "LastLine", "CutLine", "Gap"];
    let mut used = BTreeSet::from(streamed.map(|name| format!("#/components/schemas/{name}")));
    visit("", &CONTRACT.document, &mut |_, value| used.extend(value["$ref"].as_str().map(str::to_owned)));
    for (kind, parts) in CONTRACT.document["components"].as_object().expect("components") {
        for name in parts.as_object().expect("parts").keys().filter(|_| kind != "securitySchemes") {
            assert!(used.contains(&format!("#/components/{kind}/{name}")), "no reference to the {kind} {name}");
        }
    }
}
