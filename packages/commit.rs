//! Which commit a release is built of. A source archive and a container's build have no git, and say nothing.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// What of a checkout goes into the binary.
const PARTS: [&str; 13] = [
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "crates",
    "docs",
    "lua",
    "migrations",
    "openapi.yaml",
    "packages",
    "src",
    "web",
];

/// By its first letters, with a word when something that goes into the binary is not as it was committed. A folder that only
/// lies in another repository has no commit.
pub fn of(root: &Path) -> Option<String> {
    let top = git(root, &["rev-parse", "--show-toplevel"])?;
    if Path::new(&top).canonicalize().ok()? != root.canonicalize().ok()? {
        return None;
    }
    let commit = git(root, &["rev-parse", "--short=12", "HEAD"])?;
    let changes = git(root, &[&["status", "--porcelain", "--"], &PARTS[..]].concat())?;
    Some(if changes.is_empty() { commit } else { format!("{commit}, changed") })
}

/// What makes another answer of it when it changes: the parts, and where git notes which commit is looked at. A file that is
/// not there would be a reason to build each time.
pub fn watched(root: &Path) -> Vec<PathBuf> {
    let notes = ["HEAD", "logs/HEAD", "packed-refs"].into_iter();
    let notes = notes.filter_map(|name| Some(root.join(git(root, &["rev-parse", "--git-path", name])?)));
    notes.chain(PARTS.map(|part| root.join(part))).filter(|path| path.exists()).collect()
}

fn git(root: &Path, args: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    command.arg("-C").arg(root).args(args).env("GIT_OPTIONAL_LOCKS", "0");
    // A hook of git sets these, perhaps for another repository.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        command.env_remove(name);
    }
    let git = command.output().ok()?;
    git.status.success().then(|| String::from_utf8_lossy(&git.stdout).trim().to_owned())
}
