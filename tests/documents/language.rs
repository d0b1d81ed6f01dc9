//! The language of the project, as CONTRIBUTING says it: words that are not used, one meaning for a type name, names of
//! tests. `meanings` has the words that are used in one meaning only.

use std::collections::{BTreeMap, BTreeSet};

use super::tree::{self, read};

/// In no identifier, comment, message or page: a sentence with one of these reads better with a subject.
const NOWHERE: [&str; 4] = ["whoever", "whomever", "somebody", "lest"];

/// In no identifier: a noun names a thing, a verb an act.
const IN_NO_IDENTIFIER: [&str; 5] = ["nobody", "told", "meant", "brought", "said"];

/// Where one of these words is quoted: the file and the line's text. This file and the rule itself have them too.
const QUOTED: &[(&str, &str)] = &[
    ("CONTRIBUTING.md", "**Words that are not used anywhere**"),
    ("tests/deploy/proxies.py", "nobody"), // the user of that name
    ("tests/web/console/focus.test.js", ".fill('nobody')"),
    ("tests/web/console/picking.test.js", "'nobody answers'"),
];

/// Type names that stand more than once, with the reason.
const SHARED_TYPE_NAMES: &[(&str, &str)] = &[];

/// Words that a test's name does not begin with: what follows them is a riddle, and no rule.
const NO_BEGINNING: [&str; 5] = ["who", "what", "of", "however", "whatever"];

const LONGEST_TEST_NAME: usize = 64;

const FOLDERS: [&str; 13] = [
    ".github",
    "benches",
    "crates",
    "deploy",
    "docs",
    "examples",
    "lua",
    "migrations",
    "packages",
    "scripts",
    "src",
    "tests",
    "web",
];
const PAGES: [&str; 8] = [
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.toml",
    "Dockerfile",
    "Makefile",
    "README.md",
    "SECURITY.md",
    "openapi.yaml",
];
pub const CODE: [&str; 8] = ["rs", "lua", "js", "mjs", "ts", "py", "sh", "c"];
const PROSE: [&str; 9] = ["md", "toml", "yaml", "yml", "html", "css", "txt", "conf", "service"];

pub fn all_files() -> Vec<(String, String)> {
    let kinds: Vec<_> = CODE.into_iter().chain(PROSE).collect();
    let in_folders = FOLDERS.into_iter().flat_map(|folder| tree::files(folder, &kinds));
    let all = in_folders.chain(PAGES.into_iter().map(|page| (page.to_owned(), read(page))));
    all.filter(|(path, _)| path != "tests/documents/language.rs").collect()
}

/// The words of a line: `lower_case`, `CamelCase` and `kebab-case` are cut into their parts.
pub fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_lower = false;
    for letter in line.chars() {
        if !letter.is_ascii_alphabetic() || after_lower && letter.is_ascii_uppercase() {
            words.push(String::new());
        }
        if letter.is_ascii_alphabetic() {
            words.last_mut().expect("there is one").push(letter.to_ascii_lowercase());
        }
        after_lower = letter.is_ascii_lowercase();
    }
    words
}

/// A line of code without its comment and without strings that hold a space, which are prose.
pub fn identifiers(path: &str, line: &str) -> String {
    let comment = match path.rsplit('.').next() {
        Some("lua") => "--",
        Some("py" | "sh") => "#",
        _ => "//",
    };
    let trimmed = line.trim_start();
    if trimmed.starts_with(comment) || trimmed.starts_with('*') || trimmed.starts_with("/*") {
        return String::new();
    }
    let mut code = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(['"', '\'', '`']) {
        let quote = &rest[at..=at];
        let (before, after) = (&rest[..at], &rest[at + 1..]);
        let before = before.split(&format!(" {comment}")).next().unwrap_or_default();
        code.push_str(before);
        if before.len() < at {
            return code;
        }
        let Some(end) = closing(after, quote) else {
            rest = after;
            continue;
        };
        if !after[..end].contains([' ', '{']) {
            code.push(' ');
            code.push_str(&after[..end]);
        }
        code.push(' ');
        rest = &after[end + 1..];
    }
    code + rest.split(&format!(" {comment}")).next().unwrap_or_default()
}

fn closing(text: &str, quote: &str) -> Option<usize> {
    let ends = text.match_indices(quote).map(|(at, _)| at);
    ends.into_iter().find(|at| !text[..*at].ends_with('\\') || text[..*at].ends_with("\\\\"))
}

/// `file:line: word: text` of each word that is not used.
fn unwanted(files: &[(String, String)]) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in files {
        let is_code = CODE.iter().any(|kind| path.ends_with(&format!(".{kind}")));
        for (number, line) in text.lines().enumerate() {
            if QUOTED.iter().any(|(file, quoted)| path == file && line.contains(quoted)) {
                continue;
            }
            let everywhere = words(line).into_iter().filter(|word| NOWHERE.contains(&word.as_str()));
            let code = if is_code { identifiers(path, line) } else { String::new() };
            let named = words(&code).into_iter().filter(|word| IN_NO_IDENTIFIER.contains(&word.as_str()));
            found.extend(everywhere.chain(named).map(|word| format!("{path}:{}: {word}: {}", number + 1, line.trim())));
        }
    }
    found
}

#[test]
fn words_that_are_not_used_stand_nowhere() {
    let found = unwanted(&all_files());
    assert!(found.is_empty(), "{} lines, see CONTRIBUTING \"Language\":\n{}", found.len(), found.join("\n"));
}

#[test]
fn unwanted_words_are_found_in_names_comments_and_pages() {
    let found = |path: &str, line: &str| unwanted(&[(path.to_owned(), line.to_owned())]).len();
    assert_eq!(found("src/a.rs", "let not_told = whoever(); // lest"), 3);
    assert_eq!(found("src/a.rs", "struct Told; enum NobodyHere {}"), 2);
    assert_eq!(found("src/a.rs", "let text = \"it was told to nobody\"; // what is said"), 0, "prose may have these");
    assert_eq!(found("src/a.rs", "map.get(\"said\")"), 1, "a key is a name");
    assert_eq!(found("lua/a.lua", "local said = 1 -- told"), 1);
    assert_eq!(found("docs/a.md", "Whoever comes is told."), 1);
    assert_eq!(found("docs/a.md", "The smallest, the latest."), 0);
}

/// `struct`, `enum`, `trait` and `type` by name; associated types are indented and do not count.
fn type_names() -> BTreeMap<String, BTreeSet<String>> {
    let mut names: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let folders = ["src", "crates"].into_iter();
    for (path, text) in folders.flat_map(|folder| tree::files(folder, &["rs"])) {
        for line in text.lines().filter(|line| !line.starts_with(char::is_whitespace)) {
            let line =
                line.strip_prefix("pub").map_or(line, |rest| rest.split_once(' ').map_or(rest, |(_, rest)| rest));
            let kinds = ["struct ", "enum ", "trait ", "type "];
            let Some(rest) = kinds.iter().find_map(|kind| line.strip_prefix(kind)) else { continue };
            let name: String = rest.chars().take_while(char::is_ascii_alphanumeric).collect();
            names.entry(name).or_default().insert(path.clone());
        }
    }
    names
}

#[test]
fn a_type_name_has_one_meaning() {
    let names = type_names();
    let shared = names.iter().filter(|(name, files)| {
        files.len() > 1 && !SHARED_TYPE_NAMES.iter().any(|(allowed, _)| *allowed == name.as_str())
    });
    let shared: Vec<_> = shared.map(|(name, files)| format!("{name}: {files:?}")).collect();
    assert!(shared.is_empty(), "{} type names with several meanings:\n{}", shared.len(), shared.join("\n"));
    let alone = |name: &str| names.get(name).is_none_or(|files| files.len() < 2);
    let idle: Vec<_> = SHARED_TYPE_NAMES.iter().filter(|(name, _)| alone(name)).collect();
    assert!(idle.is_empty(), "these no longer need an exception: {idle:?}");
}

/// The names of all tests with their files.
fn tests() -> Vec<(String, String)> {
    let folders = ["src", "crates", "tests", "benches"].into_iter();
    let mut tests = Vec::new();
    for (path, text) in folders.flat_map(|folder| tree::files(folder, &["rs"])) {
        let mut is_test = false;
        for line in text.lines().map(str::trim_start) {
            is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
            let Some(rest) =
                line.split_once("fn ").filter(|_| is_test && !line.starts_with("//")).map(|(_, rest)| rest)
            else {
                continue;
            };
            let name = rest.chars().take_while(|letter| letter.is_ascii_alphanumeric() || *letter == '_').collect();
            tests.push((name, path.clone()));
            is_test = false;
        }
    }
    tests
}

#[test]
fn test_names_state_a_rule_in_few_words() {
    let tests = tests();
    assert!(tests.len() > 1000, "only {} tests are found", tests.len());
    let begins_badly = |name: &str| NO_BEGINNING.contains(&name.split('_').next().unwrap_or_default());
    let bad = tests.iter().filter(|(name, _)| name.len() > LONGEST_TEST_NAME || begins_badly(name));
    let bad: Vec<_> = bad.map(|(name, path)| format!("{path}: {name}")).collect();
    assert!(bad.is_empty(), "{} names, see CONTRIBUTING \"Language\":\n{}", bad.len(), bad.join("\n"));
}
