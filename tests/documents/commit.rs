//! The commit that a release reports.

#[path = "../../packages/commit.rs"]
mod asked;

use std::{fs, path::Path, process::Command};

/// A checkout with one commit.
fn checkout(folder: &Path) {
    fs::create_dir(folder.join("src")).expect("a folder");
    fs::write(folder.join("src/main.rs"), "fn main() {}").expect("a file");
    for words in ["init -q", "add .", "-c user.name=a -c user.email=a@b.c -c commit.gpgsign=false commit -q -m One"] {
        git(folder, words);
    }
}

fn git(folder: &Path, words: &str) {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(words.split(' '));
    // Nothing of this environment: a hook of git names its own repository there, which must not be reset.
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", folder);
    assert!(command.status().expect("git").success(), "git {words}");
}

#[test]
fn version_names_the_commit_and_local_changes() {
    let folder = tempfile::tempdir().expect("a folder");
    checkout(folder.path());
    let commit = asked::of(folder.path()).expect("a commit");
    assert!(commit.len() == 12 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()), "{commit}");
    fs::write(folder.path().join("notes.txt"), "in no binary").expect("a file");
    assert_eq!(asked::of(folder.path()).as_ref(), Some(&commit));
    for change in ["src/main.rs", "src/new.rs"] {
        fs::write(folder.path().join(change), "fn main() { loop {} }").expect("a file");
        assert_eq!(asked::of(folder.path()), Some(format!("{commit}, changed")), "{change}");
        git(folder.path(), "reset -q --hard");
        git(folder.path(), "clean -fdq src");
    }
}

#[test]
fn folder_outside_its_own_git_checkout_has_no_commit() {
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(asked::of(folder.path()), None);
    checkout(folder.path());
    assert_eq!(asked::of(&folder.path().join("src")), None);
}

/// A missing path would cause a build every time, and an unnoticed commit a wrong version.
#[test]
fn build_runs_again_only_after_a_commit() {
    let folder = tempfile::tempdir().expect("a folder");
    checkout(folder.path());
    let watched = asked::watched(folder.path());
    assert!(watched.iter().all(|path| path.exists()), "{watched:?}");
    let last = |end: &str| watched.iter().any(|path| path.ends_with(end));
    assert!(last(".git/logs/HEAD") && last("src"), "{watched:?}");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let carried = ["README.md", "crates", "docs", "lua", "migrations", "openapi.yaml", "packages", "src", "web"];
    assert!(carried.iter().all(|part| asked::watched(here).contains(&here.join(part))), "{:?}", asked::watched(here));
}

#[test]
fn version_flag_prints_version_and_commit() {
    let output = Command::new(env!("CARGO_BIN_EXE_intray")).arg("--version").output().expect("the program").stdout;
    let (output, version) = (String::from_utf8_lossy(&output).into_owned(), env!("CARGO_PKG_VERSION"));
    let commit = output.trim_end().strip_prefix(&format!("intray {version}")).unwrap_or_else(|| panic!("{output}"));
    assert!(commit.is_empty() || commit.starts_with(" (") && commit.ends_with(')'), "{output}");
}
