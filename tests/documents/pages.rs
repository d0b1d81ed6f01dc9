//! The pages for users and operators: the README, `docs/`, and READMEs beside the code.

use super::tree::{self, read};

const BESIDES: [&str; 9] = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "lua/README.md",
    "migrations/README.md",
    "web/client/README.md",
    "web/console/vendor/README.md",
    "web/docs/vendor/README.md",
];

/// By path, each with its text.
pub fn all() -> Vec<(String, String)> {
    let besides = BESIDES.map(|name| (name.to_owned(), read(name)));
    besides.into_iter().chain(tree::files("docs", &["md"])).collect()
}

/// The rows of the one table with this header, on any page.
pub fn table(header: &str) -> Vec<String> {
    let all = all();
    let mut with: Vec<_> = all.iter().filter(|(_, text)| text.lines().any(|line| line == header)).collect();
    let (_, text) = with.pop().unwrap_or_else(|| panic!("no page has the table {header}"));
    assert!(with.is_empty(), "two pages have the table {header}");
    let rows = text.lines().skip_while(|line| *line != header).skip(2);
    rows.take_while(|line| line.starts_with('|')).map(str::to_owned).collect()
}
