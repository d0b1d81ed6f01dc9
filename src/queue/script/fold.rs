//! Makes a script smaller before it is sent: comments go, and a local that names a number or a text becomes that number or
//! text. Lua allows 200 locals in a chunk, and the helpers name many.

/// Keeps the lines where they are, so that Redis's complaints name the right one.
pub(super) fn fold(code: &str) -> String {
    let lines: Vec<_> = code.lines().map(without_comment).map(|line| (line, constants(line))).collect();
    let known: Vec<_> = lines.iter().flat_map(|(_, own)| own).copied().collect();
    let folded = lines.iter().map(|(line, own)| if own.is_empty() { replaced(line, &known) } else { String::new() });
    folded.collect::<Vec<_>>().join("\n") + "\n"
}

/// `local A, B = 1, 'b'`
fn constants(line: &str) -> Vec<(&str, &str)> {
    let Some((names, values)) = line.strip_prefix("local ").and_then(|rest| rest.split_once(" = ")) else {
        return Vec::new();
    };
    let (names, values): (Vec<_>, Vec<_>) = (names.split(", ").collect(), values.trim_end().split(", ").collect());
    let is_name = |name: &&str| name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    let is_text = |v: &str| v.len() >= 2 && v.starts_with('\'') && v.ends_with('\'') && v.matches('\'').count() == 2;
    let is_value = |value: &&str| value.bytes().all(|b| b.is_ascii_digit()) || is_text(value);
    if names.len() == values.len() && names.iter().all(is_name) && values.iter().all(is_value) {
        names.into_iter().zip(values).collect()
    } else {
        Vec::new()
    }
}

/// Code and texts in turn, code first: the scripts quote with `'` alone.
fn pieces(line: &str) -> Vec<&str> {
    let (mut pieces, mut start, mut escaped) = (Vec::new(), 0, false);
    for (at, byte) in line.bytes().enumerate() {
        let in_text = pieces.len() % 2 == 1;
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'\'' => {
                pieces.push(&line[start..at]);
                start = at + 1;
            }
            b'-' if !in_text && line[at..].starts_with("--") => {
                pieces.push(&line[start..at]);
                return pieces;
            }
            _ => {}
        }
    }
    pieces.push(&line[start..]);
    pieces
}

fn without_comment(line: &str) -> &str {
    if line.starts_with("#!") {
        return line;
    }
    let code: usize = pieces(line).iter().map(|piece| piece.len() + 1).sum();
    line[..code.saturating_sub(1).min(line.len())].trim_end()
}

fn replaced(line: &str, constants: &[(&str, &str)]) -> String {
    if line.starts_with("#!") {
        return line.to_owned();
    }
    let pieces = pieces(line).into_iter().enumerate();
    let pieces = pieces.map(|(i, piece)| if i % 2 == 0 { with_values(piece, constants) } else { piece.to_owned() });
    pieces.collect::<Vec<_>>().join("'")
}

fn with_values(code: &str, constants: &[(&str, &str)]) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let (mut out, mut rest) = (String::with_capacity(code.len()), code);
    while !rest.is_empty() {
        let word = &rest[..rest.find(|c| !is_word(c)).unwrap_or(rest.len())];
        let value = constants.iter().find(|(name, _)| *name == word).map(|(_, value)| *value);
        out.push_str(value.unwrap_or(word));
        rest = &rest[word.len()..];
        let gap = rest.find(is_word).unwrap_or(rest.len());
        out.push_str(&rest[..gap]);
        rest = &rest[gap..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_values_become_the_values_and_comments_go() {
        let code = "#!lua flags=allow-oom\n-- a: it's a comment\nlocal A, B = 1, '>I4\\n'\nlocal c = A + AB -- A\nf('A', B, \
                    '--', 'it\\'s A') -- 'x'\nlocal D = A\n  local E = 1\n";
        let folded = "#!lua flags=allow-oom\n\n\nlocal c = 1 + AB\nf('A', '>I4\\n', '--', 'it\\'s A')\nlocal D = 1\n  \
                      local E = 1\n";
        assert_eq!(fold(code), folded);
    }
}
