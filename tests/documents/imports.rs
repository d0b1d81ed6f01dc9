//! The imports of all modules, read from the sources.

use std::collections::{BTreeMap, BTreeSet};

use super::tree;

/// A module by its path from the root of the crate, or a module of Lua by its file.
pub type Graph = BTreeMap<String, BTreeSet<String>>;

/// Modules of the program that are a package, in whole or in part.
const OF_PACKAGES: [&str; 3] = ["figures", "payload", "store"];

/// The modules of a package, and what each uses of the others. Tests may use anything, and the parent module anything
/// in its folder.
pub fn rust(folder: &str) -> Graph {
    let sources = tree::files(folder, &["rs"]);
    let is_product = |path: &str| !path.ends_with("/tests.rs") && !path.contains("/tests/");
    let sources = sources.into_iter().filter(|(path, _)| is_product(path));
    let sources: Vec<_> = sources.map(|(path, text)| (path, without_tests(&text).to_owned())).collect();
    let own = sources.iter().map(|(path, _)| module(path));
    let modules: BTreeSet<String> = own.chain(OF_PACKAGES.map(str::to_owned)).collect();
    let roofs: BTreeMap<_, _> = sources.iter().map(|(path, text)| (roof(path), imported(text, &roof(path)))).collect();
    let mut graph = Graph::new();
    for (path, text) in &sources {
        let from = module(path);
        let targets = uses(text, &from).into_iter().filter_map(|path| nearest(&home(path, &roofs), &modules));
        let others = targets.filter(|to| *to != from && !to.starts_with(&format!("{from}::")));
        graph.entry(from.clone()).or_default().extend(others);
    }
    graph
}

fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default()
}

/// The modules of Lua and what each requires.
pub fn lua() -> Graph {
    let name = |path: &str| path.trim_start_matches("lua/").trim_end_matches(".lua").to_owned();
    let required = |text: &str| {
        let lines = text.lines().filter_map(|line| line.split_once("require '"));
        lines.filter_map(|(_, rest)| rest.split('\'').next().map(str::to_owned)).collect()
    };
    tree::files("lua", &["lua"]).iter().map(|(path, text)| (name(path), required(text))).collect()
}

/// `src/http/site/docs.rs` and `crates/intray-redis/src/link.rs` are `http::site::docs` and `link`; a crate's roof is `lib`.
pub fn module(path: &str) -> String {
    let (_, path) = path.split_once("src/").unwrap_or_default();
    let path = path.trim_end_matches(".rs").trim_end_matches("/mod");
    path.replace('/', "::")
}

/// What the paths of a file's items begin with.
fn roof(path: &str) -> String {
    Some(module(path)).filter(|name| name != "lib").unwrap_or_default()
}

/// The module of an item's path.
fn nearest(path: &[String], modules: &BTreeSet<String>) -> Option<String> {
    (1..=path.len()).rev().map(|n| path[..n].join("::")).find(|name| modules.contains(name))
}

/// By name, what a module imports or re-exports.
fn imported(text: &str, module: &str) -> BTreeMap<String, Vec<String>> {
    let here: Vec<_> = module.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect();
    let mut found = Vec::new();
    for (at, _) in text.match_indices("use ").filter(|(at, _)| text[..*at].ends_with(['\n', ' ']) || *at == 0) {
        let path = &text[at + 4..];
        match path.strip_prefix("crate::") {
            Some(path) => tree_of(path, Vec::new(), &mut found),
            None => tree_of(path, here.clone(), &mut found),
        }
    }
    found.into_iter().filter_map(|path| Some((path.last()?.clone(), path))).collect()
}

/// Where an item that is imported through a parent module comes from.
fn home(mut path: Vec<String>, roofs: &BTreeMap<String, BTreeMap<String, Vec<String>>>) -> Vec<String> {
    if let [package, part, ..] = &path[..]
        && package == "store"
        && OF_PACKAGES.contains(&part.as_str())
    {
        path.remove(0);
    }
    for _ in 0..4 {
        let Some((name, roof)) = path.split_last() else { break };
        let Some(imported) = roofs.get(&roof.join("::")).filter(|_| !roofs.contains_key(&path.join("::"))) else {
            break;
        };
        let room = || imported.get("*").map(|all| [&all[..all.len() - 1], std::slice::from_ref(name)].concat());
        match imported.get(name).cloned().or_else(room) {
            Some(origin) if origin != path => path = origin,
            _ => break,
        }
    }
    path
}

/// The absolute paths used in a module.
fn uses(text: &str, module: &str) -> Vec<Vec<String>> {
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    let code = lines.collect::<Vec<_>>().join("\n");
    let here: Vec<_> = if module == "main" { Vec::new() } else { module.split("::").map(str::to_owned).collect() };
    let mut found = Vec::new();
    let store = vec!["store".to_owned()];
    let starts =
        [("crate", vec![]), ("intray", vec![]), ("intray_store", store), ("self", here.clone()), ("super", here)];
    for (word, start) in starts {
        for (at, _) in code.match_indices(&format!("{word}::")) {
            let is_first = code[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric() && c != '_' && c != ':');
            if is_first {
                tree_of(&code[at + word.len() + 2..], parent_if(word == "super", &start), &mut found);
            }
        }
    }
    found
}

fn parent_if(is_super: bool, path: &[String]) -> Vec<String> {
    path[..path.len().saturating_sub(usize::from(is_super))].to_vec()
}

/// All paths of `a::{b, c::d}`, with their prefix.
fn tree_of(text: &str, before: Vec<String>, found: &mut Vec<Vec<String>>) {
    let Some(inner) = text.strip_prefix('{') else {
        let word: String = text.chars().take_while(|c| c.is_alphanumeric() || ['_', '*'].contains(c)).collect();
        let mut path = before;
        match word.as_str() {
            "super" => drop(path.pop()),
            "self" | "" => {}
            _ => path.push(word.clone()),
        }
        return match text[word.len()..].strip_prefix("::") {
            Some(rest) => tree_of(rest, path, found),
            None => found.push(path),
        };
    };
    let (mut depth, mut from) = (0, 0);
    for (at, c) in inner.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                tree_of(inner[from..at].trim(), before.clone(), found);
                from = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
}

/// The same graph by folder: `room` maps a module to its folder, or to nothing.
pub fn rooms(graph: &Graph, room: impl Fn(&str) -> Option<String>) -> Graph {
    let mut rooms = Graph::new();
    for (from, targets) in graph {
        let Some(from) = room(from) else { continue };
        let others = targets.iter().filter_map(|to| room(to)).filter(|to| *to != from);
        rooms.entry(from.clone()).or_default().extend(others);
    }
    rooms
}

/// Cycles of modules.
pub fn circles(graph: &Graph) -> Vec<Vec<String>> {
    let reach: BTreeMap<_, _> = graph.keys().map(|from| (from, reached(graph, from))).collect();
    let mut circles = BTreeSet::new();
    for (from, targets) in &reach {
        if targets.contains(*from) {
            let back = targets.iter().filter(|to| reach.get(to).is_some_and(|theirs| theirs.contains(*from)));
            circles.insert(back.cloned().collect::<Vec<_>>());
        }
    }
    circles.into_iter().collect()
}

fn reached(graph: &Graph, from: &str) -> BTreeSet<String> {
    let (mut found, mut next) = (BTreeSet::new(), vec![from.to_owned()]);
    while let Some(module) = next.pop() {
        for to in graph.get(&module).into_iter().flatten() {
            if found.insert(to.clone()) {
                next.push(to.clone());
            }
        }
    }
    found
}

#[test]
fn every_form_of_import_path_is_found() {
    let text = "use super::{a::{B, c::D}, self as f};\nuse super::super::e;\nuse crate::{g::H, i};\nfn x() { crate::j::k() } // crate::no\n";
    let found: Vec<_> = uses(text, "room::here").iter().map(|path| path.join("::")).collect();
    assert_eq!(found, ["g::H", "i", "j::k", "room::a::B", "room::a::c::D", "room", "e"]);
    let graph = |pairs: &[(&str, &str)]| -> Graph {
        pairs.iter().map(|(from, to)| ((*from).to_owned(), BTreeSet::from([(*to).to_owned()]))).collect()
    };
    assert_eq!(circles(&graph(&[("a", "b"), ("b", "c"), ("c", "d")])), [[""; 0]; 0]);
    assert_eq!(circles(&graph(&[("a", "b"), ("b", "a"), ("c", "a")])), [["a", "b"]]);
}
