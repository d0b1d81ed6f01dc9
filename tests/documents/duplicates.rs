//! Duplicated code must be changed twice. A ceiling holds the current count; lower it when duplicates are removed.

use std::collections::BTreeMap;

use super::tree;

/// Lines of a piece.
const PIECE: usize = 6;
/// Pieces that occur in more than one place. Only ever lower it.
const CEILING: usize = 1;

#[test]
fn duplicated_code_does_not_grow() {
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

/// Each run of meaningful lines, with its first line: without imports, comments and brackets.
fn pieces(text: &str) -> Vec<(String, usize)> {
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let mut is_import = false;
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    let beside_imports = lines.filter(|(_, line)| {
        let was_import = is_import || line.starts_with("use ");
        is_import = was_import && !line.ends_with(';');
        !was_import
    });
    let lines: Vec<_> = beside_imports.filter(|(_, line)| is_meaningful(line)).collect();
    lines
        .windows(PIECE)
        .map(|lines| (lines.iter().map(|(_, line)| *line).collect::<Vec<_>>().join("\n"), lines[0].0))
        .collect()
}

fn is_meaningful(line: &str) -> bool {
    let is_aside = ["//", "--", "use ", "import ", "#[", "*", "/*"].iter().any(|start| line.starts_with(start))
        || line.contains(" = require '");
    !is_aside && line.chars().filter(|c| c.is_alphanumeric()).count() > 3
}
