//! Rust, Lua, the contract and the console use the same words.

use std::collections::BTreeSet;

use intray::job::{BatchState, EligibilityRule, Ending, EventKind, InternalTotal, Reason, Role, State, Total};
use serde_json::Value;

use super::{
    lua, pages,
    tree::{self, read},
};

fn set<T: AsRef<str>>(words: impl IntoIterator<Item = T>) -> BTreeSet<String> {
    words.into_iter().map(|word| word.as_ref().to_owned()).collect()
}

/// Asserts that both lists have the same words.
fn same(place: &str, found: &BTreeSet<String>, list: &str, known: &BTreeSet<String>) {
    let (strange, missing): (Vec<_>, Vec<_>) = (found.difference(known).collect(), known.difference(found).collect());
    assert!(
        strange.is_empty() && missing.is_empty(),
        "{place}: {missing:?} of {list} missing, {strange:?} not in {list}"
    );
}

#[test]
fn store_calls_exactly_the_existing_scripts() {
    let files = ["lua/transitions", "lua/views"].into_iter().flat_map(|folder| tree::files(folder, &["lua"]));
    let files = set(files.filter_map(|(path, _)| Some(path.rsplit('/').next()?.trim_end_matches(".lua").to_owned())));
    let product =
        tree::files("crates/intray-store/src", &["rs"]).into_iter().filter(|(path, _)| !path.contains("/tests"));
    let text = product.map(|(_, text)| text).collect::<String>();
    let named = |call| text.split(call).skip(1).filter_map(|rest| rest.split('"').next());
    let called = ["const SCRIPT: &'static str = \"", ".run_view(\"", ".named(\""].into_iter().flat_map(named);
    same("crates/intray-store/src", &set(called), "lua/transitions and lua/views", &files);
}

#[test]
fn lua_uses_the_same_event_kinds() {
    let added = set(lua::words_given_to(&lua::code(), "event.add"));
    same("event.add(…) in lua/", &added, "job::EventKind", &set(EventKind::ALL.map(EventKind::word)));
}

#[test]
fn lua_counts_the_same_totals() {
    let counted = set(lua::words_given_to(&lua::code(), "total.count"));
    let known = Total::ALL.map(Total::word).into_iter().chain(InternalTotal::ALL.map(InternalTotal::word));
    same("total.count(…) in lua/", &counted, "job::Total and job::InternalTotal", &set(known));
}

#[test]
fn contract_lists_the_same_words() {
    let contract: Value = serde_saphyr::from_str(&read("openapi.yaml")).expect("openapi.yaml is YAML");
    let of_batches: Vec<_> = State::ALL.iter().map(|state| state.word()).chain(["total"]).collect();
    let lists: [(&str, &[&str]); 10] = [
        ("State/enum", &State::ALL.map(State::word)),
        ("StateCounts/required", &State::ALL.map(State::word)),
        ("BatchState/enum", &BatchState::ALL.map(BatchState::word)),
        ("EventType/enum", &EventKind::ALL.map(EventKind::word)),
        ("Totals/required", &Total::ALL.map(Total::word)),
        ("Problem/properties/reason/enum", &Ending::ALL.map(Ending::word)),
        ("Problem/properties/rule/enum", &EligibilityRule::ALL.map(EligibilityRule::word)),
        ("Me/properties/role/enum", &Role::ALL.map(Role::word)),
        ("NothingToReserve/properties/reason/enum", &Reason::ALL.map(Reason::word)),
        ("BatchCounts/required", &of_batches),
    ];
    for (place, words) in lists {
        let list = contract.pointer(&format!("/components/schemas/{place}")).and_then(Value::as_array);
        let list = list.unwrap_or_else(|| panic!("openapi.yaml has no {place}"));
        let listed = set(list.iter().filter_map(Value::as_str));
        same(&format!("{place} in openapi.yaml"), &listed, "crates/intray-job", &set(words));
    }
}

#[test]
fn contract_describes_every_event() {
    let contract = read("openapi.yaml");
    let rows = contract.lines().map(str::trim).skip_while(|line| *line != "| type | what happened |").skip(2);
    let cells = rows.take_while(|row| row.starts_with('|')).filter_map(|row| row.split('|').nth(1));
    let explained = set(cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)));
    same(
        "the table of events in openapi.yaml",
        &explained,
        "job::EventKind",
        &set(EventKind::ALL.map(EventKind::word)),
    );
}

#[test]
fn documents_describe_every_role() {
    let rows = pages::table("| role | may |");
    let roles_in_table = set(rows.iter().filter_map(|row| row.split('|').nth(1)).map(str::trim));
    let roles = Role::ALL.iter().map(|role| role.word()).chain(["no credential"]);
    same("the table of roles", &roles_in_table, "job::Role", &set(roles));
}
