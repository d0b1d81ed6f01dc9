//! A `pattern` as the regex crate takes it: a regular expression of ECMA 262 that is small, and matched against short texts only,
//! because a search takes the product of both.

use regex::{Regex, RegexBuilder};

use crate::limits;

const RULE: &str = "`pattern` must be a regular expression without look-around and back references";
const WHITE_SPACE: &str = r"\x09-\x0d\x20\xa0\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}";

pub(crate) fn compile(pattern: &str) -> Result<Regex, &'static str> {
    if pattern.len() > limits::PATTERN {
        return Err("`pattern` must have at most 1024 bytes");
    }
    let plain = without_escapes(pattern).ok_or("`pattern` has too many escapes inside brackets")?;
    // What it still has to do with escapes it does at once.
    let translated = jsonschema_regex::to_rust_regex(&plain).map_err(|()| RULE)?;
    let mut builder = RegexBuilder::new(&translated);
    builder.size_limit(limits::PATTERN_SIZE).dfa_size_limit(limits::PATTERN_CACHE);
    builder.build().map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => "`pattern` is too large once it is compiled",
        _ => RULE,
    })
}

/// Writes out the classes outside of brackets and all control characters, in one pass: jsonschema-regex reads the whole pattern again for
/// each of them. `None`: a hostile number of escapes is left to it.
fn without_escapes(pattern: &str) -> Option<String> {
    let mut plain = String::with_capacity(pattern.len());
    let (mut is_in_class, mut kept) = (false, 0);
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '[' => is_in_class = true,
            ']' => is_in_class = false,
            '\\' => {
                let Some(escaped) = chars.next() else { return Some(pattern.to_owned()) };
                match (escaped, chars.peek()) {
                    ('c', Some(letter)) if letter.is_ascii_alphabetic() => {
                        plain.push(char::from(*letter as u8 % 32));
                        chars.next();
                    }
                    ('d' | 'D' | 's' | 'S' | 'w' | 'W', _) if !is_in_class => push_class(&mut plain, escaped),
                    _ => {
                        kept += usize::from(escaped.is_ascii_alphabetic());
                        plain.extend([c, escaped]);
                    }
                }
                continue;
            }
            _ => {}
        }
        plain.push(c);
    }
    (kept <= limits::PATTERN_ESCAPES).then_some(plain)
}

fn push_class(plain: &mut String, letter: char) {
    plain.push_str(if letter.is_ascii_uppercase() { "[^" } else { "[" });
    plain.push_str(match letter.to_ascii_lowercase() {
        'd' => "0-9",
        'w' => "A-Za-z0-9_",
        _ => WHITE_SPACE,
    });
    plain.push(']');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn translation_matches_what_jsonschema_regex_matches() {
        let classes = r"\d \D \w \W \s \S [\d] [^\s] \[\d] [a\]\s] \\d ^[[\d]";
        let patterns = r"\cJ [\cA-\cZ] \x09 \bz\b ^\d{2}(?:\s|\w)+$ ^[\w--z]$ \. (\d)|(\S\s) [\S]\d";
        let texts = ",1,z,12 z,-,\\d,[,[7,\t,\n,\u{feff},é,\u{2005}1,\u{85},],.,a1";
        for pattern in classes.split(' ').chain(patterns.split(' ')) {
            let theirs = Regex::new(&jsonschema_regex::to_rust_regex(pattern).expect(pattern)).expect(pattern);
            let ours = compile(pattern).expect(pattern);
            for text in texts.split(',') {
                assert_eq!(ours.is_match(text), theirs.is_match(text), "{pattern} on {text:?}");
            }
        }
        for wrong in r"\ a\ \c \c? [a-\w] [\d-z] ( [ (?=a) (a)\1 \a".split(' ') {
            assert!(compile(wrong).is_err(), "{wrong}");
        }
    }
}
