//! Module boundaries: which module may use which, and which words a module must not contain.

use std::collections::BTreeSet;

use super::{
    imports::{self, Graph},
    tree,
};

/// Each module of the program and the modules that it may use, all of them below it, so that there is no cycle. A new module may use
/// none until it is granted here.
const GRANTED: &[(&str, &[&str])] = &[
    ("main", &["access", "config", "healthcheck", "store", "service", "webhooks"]),
    ("healthcheck", &["config"]),
    ("service", &["access", "config", "http", "sheets", "store", "sweeper", "waiting", "webhooks"]),
    ("config", &["access"]),
    ("http", &["access", "figures", "memory", "payload", "sheets", "store", "waiting", "webhooks"]),
    ("sweeper", &["sheets", "store"]),
    ("sheets", &["store"]),
    ("webhooks", &["access", "payload", "store", "waiting"]),
    ("waiting", &["store"]),
    ("store", &[]),
    ("payload", &[]),
    ("access", &[]),
    ("figures", &[]),
    ("memory", &[]),
    ("lib", &[]),
];

const STORE: &str = "crates/intray-store/src";

/// The same for the folders of the store, a package of its own. Uses inside a folder are listed below.
const GRANTED_IN_STORE: &[(&str, &[&str])] = &[
    ("upkeep", &["availability", "handle", "keys", "redis", "registry", "retention", "script"]),
    (
        "transitions",
        &[
            "completion",
            "figures",
            "forms",
            "handle",
            "layout",
            "payload",
            "scan_cursors",
            "record_fields",
            "redis",
            "reservation",
            "runner",
            "transition",
        ],
    ),
    ("views", &["handle", "layout", "payload", "record_fields", "redis"]),
    ("several", &["handle", "redis"]),
    ("webhooks", &["handle", "redis"]),
    (
        "handle",
        &["batcher", "figures", "forms", "keys", "scan_cursors", "redis", "registry", "runner", "script", "transition"],
    ),
    ("scan_cursors", &["redis"]),
    ("forms", &[]),
    ("personal", &[]),
    ("batcher", &["redis", "registry", "runner", "script", "transition"]),
    ("registry", &["redis", "runner"]),
    ("completion", &["figures", "payload", "redis", "reservation", "transition"]),
    ("reservation", &["payload", "redis", "transition"]),
    ("layout", &["payload", "record_fields", "redis"]),
    ("transition", &["figures", "redis", "runner"]),
    ("runner", &["availability", "figures", "keys", "notices", "redis", "retention", "script"]),
    ("redis", &["keys", "record_fields"]),
    ("script", &["keys", "record_fields"]),
    ("record_fields", &["keys"]),
    ("availability", &[]),
    ("notices", &[]),
    ("retention", &[]),
    ("keys", &[]),
    ("figures", &[]),
    ("payload", &[]),
];

/// The same for the folders of `http`, each with its own subfolders.
const GRANTED_IN_HTTP: &[(&str, &[&str])] = &[
    ("handlers", &["handlers::export", "middleware", "request", "response", "response::shapes"]),
    ("handlers::export", &["middleware", "request", "response", "response::shapes"]),
    ("state", &["request", "site"]),
    ("site", &["middleware", "request", "response"]),
    ("request", &["middleware", "names", "response"]),
    ("middleware", &["names", "response"]),
    ("response", &[]),
    ("response::shapes", &[]),
    ("names", &[]),
];

/// Uses inside one of these folders.
const SIDEWAYS: &[(&str, &str)] = &[
    ("transitions::create", "transitions::append"),
    ("transitions::erase", "transitions::tally"),
    ("transitions::expunge", "transitions::unname"),
    ("transitions::reserve", "transitions::undo"),
    ("transitions::sweep", "transitions::expire"),
    ("views::deadlines", "views::inspect"),
    ("views::job_history", "views::events"),
    ("views::latest_events", "views::events"),
    ("views::list", "views::inspect"),
    ("views::locks", "views::inspect"),
    ("views::opinions", "views::inspect"),
    ("views::queue_history", "views::stats"),
    ("views::recent", "views::events"),
    ("views::recent", "views::latest_events"),
    ("views::recent_workers", "views::events"),
    ("views::recent_workers", "views::latest_events"),
    ("views::sheets", "views::events"),
    ("views::worker_summary", "views::events"),
    ("views::worker_summary", "views::inspect"),
    ("views::worker_summary", "views::latest_events"),
];

/// Words that the code of a module must not contain.
const UNSPOKEN: &[(&str, &[&str])] = &[
    ("payload", &["redis::", "axum::", "tokio::"]),
    ("store", &["axum::", "hyper::", "StatusCode", "SystemTime", "env::var"]),
    ("waiting", &["redis::", "axum::", "hyper::", "StatusCode", "SystemTime", "env::var"]),
    ("sweeper", &["redis::", "axum::", "hyper::", "SystemTime", "env::var"]),
    ("http", &["redis::", "deadpool", "env::var"]),
    ("access", &["axum::", "redis::", "hyper::", "env::var"]),
    ("config", &["redis::", "axum::", "hyper::"]),
    ("sheets", &["redis::", "axum::", "hyper::", "SystemTime", "env::var"]),
    ("webhooks", &["redis::", "axum::", "hyper::", "SystemTime", "env::var"]),
    ("top", &["redis::", "axum::", "SystemTime", "env::var"]),
];

/// The folders of Lua from the top down; files of a folder that stands alone do not use each other.
const LUA_FLOORS: [&[&str]; 4] = [&["transitions", "views"], &["batches"], &["jobs"], &["base"]];

#[test]
fn modules_use_only_granted_modules() {
    let graph = imports::rooms(&imports::rust("src"), |module| Some(top(module)));
    println!("{}", picture("src", &graph));
    check(&graph, GRANTED);
}

#[test]
fn folders_of_the_store_use_only_granted_folders() {
    let room = |module: &str| (module != "lib").then(|| top(module));
    let graph = imports::rooms(&imports::rust(STORE), room);
    println!("{}", picture("store", &graph));
    check(&graph, GRANTED_IN_STORE);
}

#[test]
fn folders_of_http_use_only_granted_folders() {
    let graph = imports::rooms(&imports::rust("src"), |module| Some(http_room(module.strip_prefix("http::")?)));
    println!("{}", picture("http", &graph));
    check(&graph, GRANTED_IN_HTTP);
}

#[test]
fn transitions_and_views_use_only_granted_neighbours() {
    let file = |module: &str| {
        let (room, rest) = module.split_once("::")?;
        ["transitions", "views"].contains(&room).then(|| format!("{room}::{}", top(rest)))
    };
    let graph = imports::rooms(&imports::rust(STORE), file);
    let arrows = graph.iter().flat_map(|(from, targets)| targets.iter().map(|to| (from.as_str(), to.as_str())));
    assert_eq!(arrows.collect::<Vec<_>>(), SIDEWAYS, "left: actual, right: granted");
}

#[test]
fn modules_do_not_contain_words_of_other_layers() {
    for (path, text) in tree::sources().iter().flat_map(|folder| tree::files(folder, &["rs"])) {
        let own = top(&imports::module(&path));
        let module = if path.starts_with(STORE) && own != "payload" { "store".to_owned() } else { own };
        let words = UNSPOKEN.iter().filter(|(name, _)| *name == module).flat_map(|(_, words)| *words);
        for word in words {
            let line = text.lines().find(|line| !line.trim_start().starts_with("//") && line.contains(word));
            assert!(line.is_none(), "{path} contains {word}: {line:?}");
        }
    }
}

#[test]
fn files_import_each_other_in_no_cycle() {
    for folder in tree::sources() {
        let files = imports::rust(&folder);
        println!("{}", picture(&format!("files of {folder}"), &files));
        let circles = imports::circles(&files);
        assert!(circles.is_empty(), "files of {folder} that lead to each other: {circles:?}");
    }
}

#[test]
fn lua_modules_require_only_lower_floors() {
    let graph = imports::lua();
    println!("{}", picture("lua", &graph));
    assert!(imports::circles(&graph).is_empty(), "a circle in lua/");
    let floor = |module: &str| LUA_FLOORS.iter().position(|rooms| rooms.contains(&top(module).as_str()));
    for (from, to) in graph.iter().flat_map(|(from, targets)| targets.iter().map(move |to| (from, to))) {
        assert!(graph.contains_key(to), "lua/{from}.lua requires {to}, which is not there");
        let (above, below) = (floor(from), floor(to));
        assert!(above.is_some() && below.is_some(), "{from} or {to} has no floor");
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
            assert!(may.contains(&to.as_str()), "{from} may not use {to}");
            assert!(below.iter().any(|(name, _)| name == to), "{from} uses {to}, which is not below it");
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
