//! What a release needs: one version, and notes.

use std::process::{Command, Output};

use super::tree::{read, root};

fn run(script: &str, words: &[&str]) -> Output {
    Command::new(root().join(script)).args(words).output().expect("it runs")
}

#[test]
fn every_place_says_the_same_version() {
    let output = run("scripts/version.sh", &[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), env!("CARGO_PKG_VERSION"));
}

#[test]
fn changelog_has_notes_of_this_version_and_room_for_the_next() {
    let output = run("scripts/dist/notes.sh", &[env!("CARGO_PKG_VERSION")]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let notes = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(notes.contains("### ") && !notes.contains("\n## "), "{notes}");
    let changelog = read("CHANGELOG.md");
    let first = changelog.lines().find(|line| line.starts_with("## "));
    assert_eq!(first, Some("## [Unreleased]"));
    for link in ["[Unreleased]: ", concat!("[", env!("CARGO_PKG_VERSION"), "]: ")] {
        assert!(changelog.lines().any(|line| line.starts_with(link)), "{link}");
    }
}
