//! The stories of what moves jobs, told on a cluster and behind a sentinel too, and those that are left out there.

use super::tree::{files, read};

const ON_A_CLUSTER: &str = "scripts/on_a_cluster.sh";
const BEHIND_A_SENTINEL: &str = "scripts/behind_a_sentinel.sh";
/// What a story says that hears or reaches the one server.
const OF_ONE_SERVER: [&str; 2] = [".meter()", ".socket()"];

/// The names in a list: each stands by itself in a line.
fn left_out(script: &str) -> Vec<String> {
    let named = |line: &&str| line.contains("::") && !line.contains([' ', '/']);
    let (script, shared) = (read(script), read("scripts/one_socket.txt"));
    let lines = script.lines().chain(shared.lines());
    lines.map(|line| line.trim_end_matches('\'')).filter(named).map(str::to_owned).collect()
}

/// Each function of the service's stories by the name that a filter knows it by, with its text.
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
fn whoever_is_left_out_is_there() {
    let stories = stories();
    for script in [ON_A_CLUSTER, BEHIND_A_SENTINEL] {
        for name in left_out(script) {
            assert!(stories.iter().any(|(story, _)| story.starts_with(&name)), "{script}: nobody is called {name}");
        }
    }
}

#[test]
fn a_story_of_one_server_is_not_told_on_a_cluster() {
    let makefile = read("Makefile");
    let moving = makefile.lines().find_map(|line| line.strip_prefix("moving := ")).expect("the rooms that are told");
    let left_out = left_out(ON_A_CLUSTER);
    let told = |name: &str| {
        moving.split(' ').any(|room| name.starts_with(room)) && !left_out.iter().any(|out| name.starts_with(out))
    };
    for (name, text) in stories().into_iter().filter(|(name, _)| told(name)) {
        let says = OF_ONE_SERVER.into_iter().find(|word| text.contains(word));
        assert_eq!(says, None, "{name} is not left out in {ON_A_CLUSTER}");
    }
}
