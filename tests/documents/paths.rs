//! Files named in comments and documents exist.

use super::{pages, tree};

const FOLDERS: [&str; 8] = ["benches/", "crates/", "lua/", "migrations/", "scripts/", "src/", "tests/", "web/"];
const ENDS: [&str; 6] = [".rs", ".lua", ".js", ".md", ".sh", ".txt"];

#[test]
fn files_named_in_comments_and_documents_exist() {
    let texts =
        ["crates", "src", "lua", "migrations"].into_iter().flat_map(|folder| tree::files(folder, &["rs", "lua", "md"]));
    let mut missing = Vec::new();
    // Paths invented by tests.
    for (path, text) in texts.chain(pages::all()).filter(|(path, _)| !path.ends_with("tests.rs")) {
        let gone = named(&text).into_iter().filter(|name| !tree::root().join(name).exists());
        missing.extend(gone.map(|name| format!("{path} names {name}")));
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

/// CONTRIBUTING's table of the files that a reserve passes names functions that those files have.
#[test]
fn life_of_a_request_names_functions_that_exist() {
    let rows = pages::table("| step | file | functions |");
    assert!(rows.len() > 30, "{} rows", rows.len());
    for row in rows {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let ticked = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
        let text: String = ticked(cells[2]).iter().map(|file| tree::read(file)).collect();
        for name in ticked(cells[3]) {
            let is_there = ["fn ", "function "].iter().any(|word| {
                [format!("{word}{name}("), format!("{word}{name}<")].iter().any(|start| text.contains(start))
            });
            assert!(is_there, "{} has no function {name}", cells[2]);
        }
    }
}

/// Paths from the root, without placeholders.
fn named(text: &str) -> Vec<&str> {
    let is_of_path = |c: char| c.is_alphanumeric() || "/._-<>*{}".contains(c);
    let words = text.split(|c| !is_of_path(c)).map(|word| word.trim_end_matches('.'));
    words
        .filter(|word| {
            FOLDERS.iter().any(|folder| word.starts_with(folder)) && ENDS.iter().any(|end| word.ends_with(end))
        })
        .filter(|word| !word.contains(['<', '*', '{']))
        .collect()
}
