//! A file that is named is there.

use super::tree::{files, read, root};

const FOLDERS: [&str; 7] = ["src/", "lua/", "tests/", "benches/", "migrations/", "scripts/", "web/"];
const KINDS: [&str; 6] = [".rs", ".lua", ".js", ".md", ".sh", ".json"];

/// What stands between ticks and looks like a path from the root.
fn named(text: &str) -> Vec<&str> {
    let ticked = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    ticked.filter(|word| is_path(word)).collect()
}

fn is_path(word: &str) -> bool {
    let is_plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
    is_plain && FOLDERS.iter().any(|folder| word.starts_with(folder)) && KINDS.iter().any(|kind| word.ends_with(kind))
}

#[test]
fn a_file_that_is_named_between_ticks_is_there() {
    let sources = ["src", "lua", "tests", "benches", "web", "migrations"].into_iter();
    let sources = sources.flat_map(|folder| files(folder, &["rs", "lua", "js", "md"]));
    let documents = ["README.md", "CONTRIBUTING.md", "openapi.yaml", "Cargo.toml"].into_iter();
    let all: Vec<_> = sources.chain(documents.map(|path| (path.to_owned(), read(path)))).collect();
    let each = all.iter().flat_map(|(place, text)| named(text).into_iter().map(move |path| (place, path)));
    let (there, gone): (Vec<_>, Vec<_>) = each.partition(|(_, path)| root().join(path).exists());
    assert!(gone.is_empty(), "named, and not there: {gone:?}");
    assert!(there.len() > 10, "{} paths are named", there.len());
}
