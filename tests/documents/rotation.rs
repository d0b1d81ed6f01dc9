//! What runs in parts, one a commit, is listed in tests/rotation.txt, and ten commits in a row run all of it.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::Command,
};

use super::tree;

const FILE: &str = "tests/rotation.txt";
/// Commits within which each part runs.
const COMMITS: u64 = 10;

fn listed() -> BTreeMap<String, u64> {
    let text = tree::read(FILE);
    let lines = text.split("\n\n").nth(1).expect("a list after the text").lines();
    lines
        .map(|line| line.split_once(' ').expect("a name and a number"))
        .map(|(name, parts)| (name.to_owned(), parts.parse().expect("a number")))
        .collect()
}

/// What the script prints for these arguments for a commit with so many ancestors.
fn printed(words: &[&str], commit: &str) -> String {
    let script = tree::root().join("scripts/rotation.sh");
    let output = Command::new(script).args(words).env("INTRAY_ROTATION", commit).output().expect("it runs");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn part(name: &str, commit: &str) -> String {
    printed(&[name], commit)
}

/// The stories of `heavy-stories`.
fn heavy() -> Vec<String> {
    tree::read(FILE).lines().filter(|line| line.contains("::")).map(str::to_owned).collect()
}

#[test]
fn each_heavy_story_runs_at_one_commit_of_all_parts() {
    let (parts, all) = (listed()["heavy-stories"], heavy());
    let mut runs = BTreeMap::<_, u64>::new();
    for commit in 1_370..1_370 + parts {
        let others = printed(&["heavy-stories", "--others"], &commit.to_string());
        let others: BTreeSet<_> = others.lines().collect();
        all.iter()
            .filter(|story| !others.contains(story.as_str()))
            .for_each(|story| *runs.entry(story).or_default() += 1);
    }
    assert!(all.len() > 20 && all.iter().all(|story| runs.get(story) == Some(&1)), "{runs:?}");
    assert_eq!(printed(&["heavy-stories", "--others"], "all"), "", "all at once");
}

/// `--skip` matches parts of names, so no other test's path may contain one of these.
#[test]
fn heavy_stories_are_there_under_their_names() {
    let sources = tree::files("tests/service", &["rs"]);
    for story in heavy() {
        let (file, name) = story.rsplit_once("::").expect("a path");
        let file = format!("tests/service/{}.rs", file.replace("::", "/"));
        let text = sources.iter().find_map(|(path, text)| (*path == file).then_some(text));
        let text = text.unwrap_or_else(|| panic!("{story}: no {file}"));
        assert_eq!(text.matches(&format!("fn {name}")).count(), 1, "{story}");
        assert!(text.contains(&format!("fn {name}(")), "{story}");
    }
}

#[test]
fn ten_commits_in_a_row_run_every_part() {
    for (name, parts) in listed() {
        assert!((2..=COMMITS).contains(&parts), "{name} in {parts}");
        let found: BTreeSet<_> = (1_370..1_370 + COMMITS).map(|commit| part(&name, &commit.to_string())).collect();
        let wanted: BTreeSet<_> = (0..parts).map(|part| format!("{part} {parts}")).collect();
        assert_eq!(found, wanted, "{name}");
        assert_eq!(part(&name, "all"), "0 1", "{name}");
    }
    assert_eq!(part("nothing", "1"), "");
}

#[test]
fn everything_in_parts_is_listed() {
    let (mut used, rust) = (BTreeSet::new(), tree::files("tests", &["rs"]));
    let others = ["Makefile", ".ci/run", "scripts/tests.sh"].map(|path| (path.to_owned(), tree::read(path)));
    for (path, text) in rust.into_iter().chain(others).filter(|(path, _)| !path.ends_with("documents/rotation.rs")) {
        for start in ["Rotation::of(\"", "rotation.sh "] {
            let names = text.split(start).skip(1).filter_map(|rest| rest.split(['"', ' ', ')', '\n']).next());
            used.extend(names.map(str::to_owned).inspect(|name| assert!(!name.is_empty(), "{path}")));
        }
    }
    assert_eq!(used, listed().into_keys().collect(), "the names in {FILE}, and where parts are chosen");
}
