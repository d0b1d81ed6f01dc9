//! The walls between the modules: who may use whom, and of what a module must not speak.

use std::collections::BTreeSet;

use super::{
    imports::{self, Graph},
    tree,
};

/// Each module and those it may use, all of which stand below it: so there is no circle. A new module has no arrows until
/// somebody grants them here.
const GRANTED: &[(&str, &[&str])] = &[
    ("main", &["access", "bulk", "config", "healthcheck", "store", "service", "top"]),
    ("healthcheck", &["config"]),
    ("bulk", &["client", "config", "job"]),
    ("top", &["client", "config"]),
    ("client", &["config"]),
    ("service", &["access", "config", "figures", "http", "job", "store", "sweeper", "waiting"]),
    ("config", &["access", "job"]),
    ("http", &["access", "figures", "job", "memory", "payload", "store", "waiting"]),
    ("sweeper", &["job", "store"]),
    ("waiting", &["job", "store"]),
    ("store", &["figures", "job", "payload"]),
    ("payload", &["job"]),
    ("access", &["job"]),
    ("job", &[]),
    ("figures", &[]),
    ("memory", &[]),
    ("lib", &[]),
];

/// The same for the rooms of `store`. What is sideways in a room, one transition using another, is no arrow of these: see below.
const GRANTED_IN_STORE: &[(&str, &[&str])] = &[
    ("upkeep", &["fault", "handle", "keys", "redis", "retention", "script", "transitions"]),
    ("transitions", &["fault", "handle", "layout", "record_fields", "redis", "reservation", "runner", "transition"]),
    ("views", &["fault", "handle", "layout", "redis"]),
    ("several", &["fault", "handle"]),
    ("handle", &["batcher", "fault", "keys", "redis", "registry", "runner", "script", "transition"]),
    ("batcher", &["fault", "redis", "registry", "runner", "script", "transition"]),
    ("registry", &["fault", "redis", "runner"]),
    ("reservation", &["fault", "redis", "transition"]),
    ("layout", &["fault", "record_fields", "redis"]),
    ("transition", &["fault", "redis", "runner"]),
    ("runner", &["fault", "keys", "redis", "retention", "script"]),
    ("redis", &["fault", "keys", "script"]),
    ("script", &["keys", "record_fields"]),
    ("record_fields", &[]),
    ("retention", &[]),
    ("keys", &[]),
    ("fault", &[]),
];

/// The same for the rooms of `http`, each with the parts that are rooms of their own.
const GRANTED_IN_HTTP: &[(&str, &[&str])] = &[
    ("handlers", &["handlers::export", "middleware", "request", "response", "response::shapes"]),
    ("handlers::export", &["middleware", "request", "response", "response::shapes"]),
    ("state", &["request", "site"]),
    ("site", &["middleware", "request", "response", "response::shapes"]),
    ("request", &["middleware", "names", "response"]),
    ("middleware", &["names", "response"]),
    ("response", &[]),
    ("response::shapes", &[]),
    ("names", &[]),
];

/// Who uses a neighbour in one of these rooms: a batch is made by what is appended to it, what is reserved may be undone, a history
/// is of totals, a list shows jobs, who has a deadline or a lock holds a job, and what happened last, or to one job, is a part of
/// the stream.
const SIDEWAYS: &[(&str, &str)] = &[
    ("transitions::create", "transitions::append"),
    ("transitions::reserve", "transitions::undo"),
    ("views::deadlines", "views::inspect"),
    ("views::job_history", "views::events"),
    ("views::list", "views::inspect"),
    ("views::locks", "views::inspect"),
    ("views::queue_history", "views::stats"),
    ("views::recent", "views::events"),
];

/// Of what the code of a module must not speak.
const UNSPOKEN: &[(&str, &[&str])] = &[
    ("job", &["redis::", "axum::", "tokio::", "SystemTime", "env::var"]),
    ("payload", &["redis::", "axum::", "tokio::"]),
    ("store", &["axum::", "hyper::", "StatusCode", "SystemTime", "env::var"]),
    ("waiting", &["redis::", "axum::", "hyper::", "StatusCode", "SystemTime", "env::var"]),
    ("sweeper", &["redis::", "axum::", "hyper::", "SystemTime", "env::var"]),
    ("http", &["redis::", "deadpool", "env::var"]),
    ("access", &["axum::", "redis::", "hyper::", "env::var"]),
    ("config", &["redis::", "axum::", "hyper::"]),
    ("top", &["redis::", "axum::", "SystemTime", "env::var"]),
];

/// The rooms of Lua from the roof down; the files of a room that stands alone do not know each other.
const LUA_FLOORS: [&[&str]; 5] = [&["transitions", "views"], &["plain"], &["batches"], &["jobs"], &["base"]];

#[test]
fn modules_use_only_what_is_granted_to_them() {
    let graph = imports::rooms(&imports::rust("src"), |module| Some(top(module)));
    println!("{}", picture("src", &graph));
    check(&graph, GRANTED);
}

#[test]
fn rooms_of_the_store_use_only_what_is_granted_to_them() {
    let room = |module: &str| Some(top(module.strip_prefix("store::")?));
    let graph = imports::rooms(&imports::rust("src"), room);
    println!("{}", picture("store", &graph));
    check(&graph, GRANTED_IN_STORE);
}

#[test]
fn rooms_of_http_use_only_what_is_granted_to_them() {
    let graph = imports::rooms(&imports::rust("src"), |module| Some(http_room(module.strip_prefix("http::")?)));
    println!("{}", picture("http", &graph));
    check(&graph, GRANTED_IN_HTTP);
}

#[test]
fn transitions_and_views_use_no_neighbour_but_those_named() {
    let file = |module: &str| {
        let (room, rest) = module.strip_prefix("store::")?.split_once("::")?;
        ["transitions", "views"].contains(&room).then(|| format!("{room}::{}", top(rest)))
    };
    let graph = imports::rooms(&imports::rust("src"), file);
    let arrows = graph.iter().flat_map(|(from, targets)| targets.iter().map(|to| (from.as_str(), to.as_str())));
    assert_eq!(arrows.collect::<Vec<_>>(), SIDEWAYS, "left: as it is, right: as it is granted");
}

#[test]
fn modules_do_not_speak_of_what_is_not_theirs() {
    for (path, text) in tree::files("src", &["rs"]) {
        let module = top(&imports::module(&path));
        let words = UNSPOKEN.iter().filter(|(name, _)| *name == module).flat_map(|(_, words)| *words);
        for word in words {
            let line = text.lines().find(|line| !line.trim_start().starts_with("//") && line.contains(word));
            assert!(line.is_none(), "{path} speaks of {word}: {line:?}");
        }
    }
}

#[test]
fn no_two_files_lead_to_each_other() {
    for folder in tree::sources() {
        let files = imports::rust(&folder);
        println!("{}", picture(&format!("files of {folder}"), &files));
        let circles = imports::circles(&files);
        assert!(circles.is_empty(), "files of {folder} that lead to each other: {circles:?}");
    }
}

#[test]
fn lua_goes_down_only() {
    let graph = imports::lua();
    println!("{}", picture("lua", &graph));
    assert!(imports::circles(&graph).is_empty(), "a circle in lua/");
    let floor = |module: &str| LUA_FLOORS.iter().position(|rooms| rooms.contains(&top(module).as_str()));
    for (from, to) in graph.iter().flat_map(|(from, targets)| targets.iter().map(move |to| (from, to))) {
        assert!(graph.contains_key(to), "lua/{from}.lua requires {to}, which is not there");
        let (above, below) = (floor(from), floor(to));
        assert!(above.is_some() && below.is_some(), "nobody has given a floor to {from} or {to}");
        assert!(
            above < below || above == below && above != Some(0),
            "lua/{from}.lua requires {to}, which is not below it"
        );
    }
}

fn top(module: &str) -> String {
    module.split([':', '/']).next().unwrap_or_default().to_owned()
}

/// `handlers::export::csv` is in `handlers::export`, and `handlers::jobs` in `handlers`.
fn http_room(module: &str) -> String {
    let parts = ["handlers::export", "response::shapes"];
    parts.into_iter().find(|part| module.starts_with(part)).map_or_else(|| top(module), str::to_owned)
}

fn check(graph: &Graph, granted: &[(&str, &[&str])]) {
    for (from, targets) in graph {
        let row = granted.iter().position(|(name, _)| name == from);
        let (below, may) = row.map_or((&[][..], &[][..]), |row| (&granted[row + 1..], granted[row].1));
        for to in targets {
            assert!(may.contains(&to.as_str()), "nobody has granted {from} to use {to}");
            assert!(below.iter().any(|(name, _)| name == to), "{from} uses {to}, which does not stand below it");
        }
        let unused: Vec<_> = may.iter().filter(|to| !targets.contains(**to)).collect();
        assert!(unused.is_empty(), "{from} does not use what is granted to it: {unused:?}");
    }
}

/// One line a module, for `make graph`.
fn picture(name: &str, graph: &Graph) -> String {
    let arrows: usize = graph.values().map(BTreeSet::len).sum();
    let circles = imports::circles(graph);
    let shown = graph.iter().filter(|(_, to)| !to.is_empty());
    let rows = shown.map(|(from, to)| format!("  {from} -> {}\n", to.iter().cloned().collect::<Vec<_>>().join(" ")));
    let rows: String = rows.collect();
    format!("{name}: {} modules, {arrows} arrows, {} circles {circles:?}\n{rows}", graph.len(), circles.len())
}
