//! What is said twice is changed once. A ceiling holds what is there; it comes down when some of that goes.

use std::collections::BTreeMap;

use super::tree;

/// Lines that make a piece.
const PIECE: usize = 6;
/// Pieces that stand in more than one place. Only ever lower it.
const CEILING: usize = 1;

#[test]
fn no_more_stands_twice_than_did() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, text) in
        ["crates", "src", "lua", "web"].into_iter().flat_map(|folder| tree::files(folder, &["rs", "lua", "js"]))
    {
        for (piece, line) in pieces(&text) {
            places.entry(piece).or_default().push(format!("{path}:{line}"));
        }
    }
    let twice: Vec<_> = places.values().filter(|places| places.len() > 1).collect();
    for places in &twice {
        println!("{places:?}");
    }
    assert!(twice.len() <= CEILING, "{} pieces of {PIECE} lines stand twice, {CEILING} did: {twice:#?}", twice.len());
}

/// Each run of lines that say something, with where it begins: imports, comments and brackets do not.
fn pieces(text: &str) -> Vec<(String, usize)> {
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let mut is_import = false;
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    let beside_imports = lines.filter(|(_, line)| {
        let was_import = is_import || line.starts_with("use ");
        is_import = was_import && !line.ends_with(';');
        !was_import
    });
    let told: Vec<_> = beside_imports.filter(|(_, line)| says_something(line)).collect();
    told.windows(PIECE)
        .map(|lines| (lines.iter().map(|(_, line)| *line).collect::<Vec<_>>().join("\n"), lines[0].0))
        .collect()
}

fn says_something(line: &str) -> bool {
    let is_aside = ["//", "--", "use ", "import ", "#[", "*", "/*"].iter().any(|start| line.starts_with(start))
        || line.contains(" = require '");
    !is_aside && line.chars().filter(|c| c.is_alphanumeric()).count() > 3
}
