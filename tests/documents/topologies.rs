//! The tests that run on a cluster and behind a sentinel too, and those that are skipped there.

use super::tree::{files, read};

const ON_A_CLUSTER: &str = "scripts/on_a_cluster.sh";
const BEHIND_A_SENTINEL: &str = "scripts/behind_a_sentinel.sh";
/// Methods that only tests of a single server call.
const OF_ONE_SERVER: [&str; 2] = [".meter()", ".socket()"];

/// The names in a list, one per line.
fn skipped(script: &str) -> Vec<String> {
    let named = |line: &&str| line.contains("::") && !line.contains([' ', '/']);
    let (script, shared) = (read(script), read("scripts/one_socket.txt"));
    let lines = script.lines().chain(shared.lines());
    lines.map(|line| line.trim_end_matches('\'')).filter(named).map(str::to_owned).collect()
}

/// Each test function by its filter name, with its text.
fn stories() -> Vec<(String, String)> {
    let of_file = |(path, text): (String, String)| {
        let room = path.trim_start_matches("tests/service/").trim_end_matches(".rs").replace('/', "::");
        let functions = text.split("\nasync fn ").skip(1).map(|story| {
            let name = story.split(['(', '<']).next().unwrap_or_default();
            (format!("{room}::{name}"), story.to_owned())
        });
        functions.collect::<Vec<_>>()
    };
    files("tests/service", &["rs"]).into_iter().flat_map(of_file).collect()
}

#[test]
fn skipped_tests_exist() {
    let stories = stories();
    for script in [ON_A_CLUSTER, BEHIND_A_SENTINEL] {
        for name in skipped(script) {
            assert!(stories.iter().any(|(story, _)| story.starts_with(&name)), "{script}: no test is called {name}");
        }
    }
}

#[test]
fn tests_of_a_single_server_are_skipped_on_a_cluster() {
    let makefile = read("Makefile");
    let moving = makefile.lines().find_map(|line| line.strip_prefix("moving := ")).expect("the list of modules");
    let skipped = skipped(ON_A_CLUSTER);
    let runs = |name: &str| {
        moving.split(' ').any(|room| name.starts_with(room)) && !skipped.iter().any(|out| name.starts_with(out))
    };
    for (name, text) in stories().into_iter().filter(|(name, _)| runs(name)) {
        let says = OF_ONE_SERVER.into_iter().find(|word| text.contains(word));
        assert_eq!(says, None, "{name} is not skipped in {ON_A_CLUSTER}");
    }
}
