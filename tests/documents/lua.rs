//! The text of the Lua sources, as far as tests need it.

use super::tree;

/// All Lua sources without their comments.
pub fn code() -> String {
    let sources = tree::files("lua", &["lua"]);
    let lines = sources.iter().flat_map(|(_, text)| text.lines());
    lines.map(|line| line.split("--").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// The quoted words in a piece of Lua.
fn quoted(text: &str) -> Vec<String> {
    text.split('\'').skip(1).step_by(2).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// The quoted words in the first argument that has any, of each call of a function:
/// `event.add(q, is and 'paused' or 'unpaused', …)`.
pub fn words_given_to(code: &str, function: &str) -> Vec<String> {
    let calls = code.match_indices(function).filter_map(|(at, _)| {
        let is_whole = code[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric() && c != '_' && c != '.');
        code[at + function.len()..].strip_prefix('(').filter(|_| is_whole)
    });
    calls
        .flat_map(|rest| arguments(rest).iter().take(2).map(|a| quoted(a)).find(|w| !w.is_empty()).unwrap_or_default())
        .collect()
}

/// The arguments of a call.
fn arguments(rest: &str) -> Vec<&str> {
    let (mut found, mut depth, mut from, mut is_quoted) = (Vec::new(), 0, 0, false);
    for (at, c) in rest.char_indices() {
        match c {
            '\'' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            '(' | '{' | '[' => depth += 1,
            ')' | '}' | ']' if depth > 0 => depth -= 1,
            ',' if depth == 0 => {
                found.push(&rest[from..at]);
                from = at + 1;
            }
            ')' => {
                found.push(&rest[from..at]);
                break;
            }
            _ => {}
        }
    }
    found
}

#[test]
fn quoted_words_are_found_only_in_the_named_calls() {
    let code = "event.add(q, 'due')  event.add(q, is and 'paused' or 'unpaused', f(1, 'x'), 'y') event.add(q, kind, 'z') my_event.add('no') event.adding('no')";
    assert_eq!(words_given_to(code, "event.add"), ["due", "paused", "unpaused"]);
}
