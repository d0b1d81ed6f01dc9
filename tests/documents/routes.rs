//! Routes of the program and of the contract are the same, and the documents say who may call each.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{pages, tree::read};

pub fn contract() -> Value {
    serde_saphyr::from_str(&read("openapi.yaml")).expect("openapi.yaml is YAML")
}

/// The first text in each call of a function.
fn named_by(call: &str) -> BTreeSet<String> {
    let table = read("src/http/mod.rs");
    table.split(call).skip(1).filter_map(|rest| rest.split('"').next()).map(str::to_owned).collect()
}

#[test]
fn routes_and_contract_match() {
    let contract = contract();
    let paths: BTreeSet<_> = contract["paths"].as_object().expect("paths").keys().cloned().collect();
    let (routes, folders) = (named_by(".route(\""), named_by("folder(\""));
    let undocumented: Vec<_> = routes.difference(&paths).collect();
    assert!(undocumented.is_empty(), "src/http/mod.rs has {undocumented:?}, and openapi.yaml has not");
    let is_page = |path: &&String| folders.contains(path.trim_end_matches('/'));
    let unserved: Vec<_> = paths.difference(&routes).filter(|path| !is_page(path)).collect();
    assert!(unserved.is_empty(), "openapi.yaml has {unserved:?}, and src/http/mod.rs has not");
}

/// The calls that the documents grant to each role, without parameter names.
fn granted() -> BTreeMap<String, String> {
    let rows = pages::table("| role | may |");
    let cells = rows.iter().map(|row| row.split('|').map(str::trim));
    cells.filter_map(|mut cells| Some((cells.nth(1)?.to_owned(), nameless(cells.next()?)))).collect()
}

fn nameless(text: &str) -> String {
    let parts = text.split('{').map(|part| part.split_once('}').map_or(part, |(_, rest)| rest));
    parts.collect::<Vec<_>>().join("{}")
}

/// Whether a row grants a call: by its path, its last word, its first word (`/jobs/{id}`, `extend`, batches), or by a
/// named reservation, because only such calls accept beacons.
fn names(row: &str, path: &str, operation: &Value) -> bool {
    if operation.pointer("/requestBody/content/text~1plain").is_some() {
        return row.contains("every call that names a reservation");
    }
    let path = nameless(if path == "/" { path } else { path.trim_end_matches('/') });
    let (first, last) = (path.split('/').nth(1).unwrap_or_default(), path.rsplit('/').next().unwrap_or_default());
    row.contains(&format!("{path}`"))
        || row.contains(&format!("{path}?"))
        || row.contains(&format!("`{last}`"))
        || row.split(", ").any(|word| word == first)
}

/// The roles that may call it, besides the operator, who may call everything.
pub fn roles_of(security: &Value) -> Vec<&str> {
    let each = security.as_array().expect("whom it is for").iter();
    each.map(|role| role["bearer"][0].as_str().expect("a role")).collect()
}

#[test]
fn documents_name_the_roles_of_every_route() {
    let (contract, granted) = (contract(), granted());
    assert_eq!(granted.get("operator").map(String::as_str), Some("everything"));
    for (path, item) in contract["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("operations").iter().filter(|(key, _)| *key != "parameters")
        {
            let roles = roles_of(&operation["security"]);
            for role in if roles.is_empty() { vec!["no credential"] } else { roles } {
                let row = granted.get(role).unwrap_or_else(|| panic!("no row for {role}"));
                let is_documented = role == "operator" || names(row, path, operation);
                assert!(is_documented, "no page says that {role} may {} {path}", method.to_uppercase());
            }
        }
    }
}
