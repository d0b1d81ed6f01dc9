//! Files and functions are short. Clippy counts functions of Rust (`too-many-lines-threshold`).

use super::tree;

/// Max lines of a file.
const FILE: usize = 300;
/// Max lines of a function.
const FUNCTION: usize = 50;

#[test]
fn no_file_is_over_300_lines() {
    let kinds = ["rs", "lua", "js", "css", "py"];
    let files = ["crates", "src", "lua", "web", "packages"].into_iter().flat_map(|folder| tree::files(folder, &kinds));
    let long: Vec<_> = files.filter(|(_, text)| text.lines().count() > FILE).map(|(path, _)| path).collect();
    assert!(long.is_empty(), "too long: {long:?}");
}

#[test]
fn no_function_is_over_50_lines() {
    let files = ["lua", "web"].into_iter().flat_map(|folder| tree::files(folder, &["lua", "js"]));
    let long: Vec<_> = files.flat_map(|(path, text)| long_functions(&path, &text)).collect();
    assert!(long.is_empty(), "too long: {long:?}");
}

/// A function ends at a closing line with the indentation of its first line.
fn long_functions(path: &str, text: &str) -> Vec<String> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let begins = |line: &str| match path.ends_with(".lua") {
        true => line.contains("function"),
        false => {
            line.ends_with('{')
                && !line.ends_with("${")
                && (line.contains("function") || line.contains("=>") || is_method(line))
        }
    };
    let mut long = Vec::new();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| begins(line)) {
        let closes = |other: &&str| indent(other) == indent(line) && other.trim_start().starts_with(['}', ')', 'e']);
        let length = lines[at + 1..].iter().position(closes).unwrap_or(0);
        if length > FUNCTION {
            long.push(format!("{path}: {}", line.trim()));
        }
    }
    long
}

/// `async name(arguments) {` in a class.
fn is_method(line: &str) -> bool {
    let word = line.trim_start().split(['(', ' ']).next().unwrap_or_default();
    line.ends_with(") {") && !["if", "for", "while", "switch", "}"].contains(&word)
}

#[test]
fn long_function_is_detected() {
    let body = "  do()\n".repeat(FUNCTION + 1);
    let found = |path: &str, text: String| long_functions(path, &text).len();
    assert_eq!(found("x.lua", format!("local function f(a)\n{body}end\n")), 1);
    assert_eq!(found("x.js", format!("const f = (a) => {{\n{body}}}\n")), 1);
    assert_eq!(found("x.js", format!("  async f(a) {{\n{}  }}\n", body.replace("  ", "    "))), 1);
    assert_eq!(found("x.js", format!("function f() {{\n}}\n{body}")), 0);
}
