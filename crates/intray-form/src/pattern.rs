//! A `pattern` as an automaton: a regular expression of ECMA 262 that a search reads once from left to right, one step for each byte, whatever
//! the expression is. One whose automaton would be large is refused.

use regex_automata::{
    Input,
    dfa::{
        Automaton, StartKind,
        dense::{self, DFA},
    },
    nfa::thompson::{self, NFA, WhichCaptures},
    util::syntax,
};

use crate::limits;

const RULE: &str = "`pattern` must be a regular expression without look-around, flags and back references";
const TOO_LARGE: &str = "`pattern` is too large once it is compiled, with those before it";
const WHITE_SPACE: &str = r"\x09-\x0d\x20\xa0\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}";

#[derive(Debug)]
pub(crate) struct PatternAutomaton(DFA<Vec<u32>>);

impl PatternAutomaton {
    /// `room`: the bytes that it may take.
    pub(crate) fn compile(pattern: &str, room: usize) -> Result<Self, &'static str> {
        if pattern.len() > limits::PATTERN {
            return Err("`pattern` must have at most 1024 bytes");
        }
        let plain = without_escapes(pattern)?;
        // The remaining escapes are handled at once.
        let translated = jsonschema_regex::to_rust_regex(&plain).map_err(|()| RULE)?;
        let [nfa_size, set_size] = limits::PATTERN_STEPS;
        let nfa = thompson::Config::new().which_captures(WhichCaptures::None).nfa_size_limit(Some(nfa_size));
        let nfa = NFA::compiler()
            // Where a match begins and ends is not asked, so it may be inside a character.
            .syntax(syntax::Config::new().utf8(false))
            .configure(nfa.utf8(false))
            .build(&translated)
            .map_err(|error| if error.size_limit().is_some() { TOO_LARGE } else { RULE })?;
        let dfa = dense::Config::new().dfa_size_limit(Some(room)).determinize_size_limit(Some(set_size));
        let dfa = dense::Builder::new().configure(dfa.start_kind(StartKind::Unanchored)).build_from_nfa(&nfa);
        dfa.map(Self).map_err(|_| TOO_LARGE)
    }

    /// In bytes.
    pub(crate) fn size(&self) -> usize {
        self.0.memory_usage()
    }

    pub(crate) fn is_match(&self, text: &str) -> bool {
        // It gives up only on the bytes that it is configured to give up on, and there are none.
        self.0.try_search_fwd(&Input::new(text).earliest(true)).is_ok_and(|found| found.is_some())
    }
}

/// Writes out the classes outside of brackets, the edges of words and all control characters, in one pass: jsonschema-regex reads the whole
/// pattern again for each of them.
fn without_escapes(pattern: &str) -> Result<String, &'static str> {
    let mut plain = String::with_capacity(pattern.len());
    let (mut is_in_class, mut kept) = (false, 0);
    let mut rest = pattern.chars();
    while let Some(c) = rest.next() {
        match c {
            '[' => is_in_class = true,
            ']' => is_in_class = false,
            // ECMA 262 has four ends of a line.
            '.' if !is_in_class => {
                plain.push_str(r"[^\n\r\x{2028}\x{2029}]");
                continue;
            }
            // Flags are no part of ECMA 262. With one that ignores case a small class takes long.
            '(' if !is_in_class && is_flagged(rest.as_str()) => return Err(RULE),
            '\\' => {
                let escaped = rest.next().ok_or(RULE)?;
                match (escaped, rest.as_str().chars().next()) {
                    ('c', Some(letter)) if letter.is_ascii_alphabetic() => {
                        plain.push(char::from(letter as u8 % 32));
                        rest.next();
                    }
                    ('d' | 'D' | 's' | 'S' | 'w' | 'W', _) if !is_in_class => push_class(&mut plain, escaped),
                    ('b' | 'B', _) if !is_in_class => plain.extend(["(?-u:\\", escaped.encode_utf8(&mut [0; 4]), ")"]),
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
    if kept > limits::PATTERN_ESCAPES { Err("`pattern` has too many escapes inside brackets") } else { Ok(plain) }
}

/// Whether a group begins with what is neither `?:` nor a name.
fn is_flagged(group: &str) -> bool {
    group.strip_prefix('?').is_some_and(|kind| !kind.starts_with([':', '<']))
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
    use regex::Regex;

    use super::*;

    #[test]
    fn translation_matches_what_jsonschema_regex_matches() {
        let classes = r"\d \D \w \W \s \S [\d] [^\s] \[\d] [a\]\s] \\d ^[[\d]";
        let patterns = r"\cJ [\cA-\cZ] \x09 \bz\b ^\d{2}(?:\s|\w)+$ ^[\w--z]$ \. (\d)|(\S\s) [\S]\d [(?i)] (?<a>1) \B1";
        let texts = ",1,z,12 z,-,\\d,[,[7,\t,\n,\u{feff},é,\u{2005}1,\u{85},],.,a1,(,i";
        for pattern in classes.split(' ').chain(patterns.split(' ')) {
            let theirs = Regex::new(&jsonschema_regex::to_rust_regex(pattern).expect(pattern)).expect(pattern);
            let ours = PatternAutomaton::compile(pattern, limits::PATTERN_SIZE).expect(pattern);
            for text in texts.split(',') {
                assert_eq!(ours.is_match(text), theirs.is_match(text), "{pattern} on {text:?}");
            }
        }
        for wrong in
            r"\ a\ \c \c? [a-\w] [\d-z] ( [ (?=a) (a)\1 \a (?i)a (?i:a) (?-u:a) (?P<a>a) (?<=a)b (?<!a)b".split(' ')
        {
            assert_eq!(PatternAutomaton::compile(wrong, limits::PATTERN_SIZE).err(), Some(RULE), "{wrong}");
        }
    }

    #[test]
    fn point_is_no_end_of_a_line_of_ecma_262() {
        let any = PatternAutomaton::compile("^.+$", limits::PATTERN_SIZE).expect("a pattern");
        assert_eq!(
            ["a b", "a\nb", "a\rb", "a\u{2028}b", "a\u{2029}b"].map(|text| any.is_match(text)),
            [true, false, false, false, false]
        );
    }

    /// As browsers have it, letters beyond ASCII are no part of a word.
    #[test]
    fn edge_of_a_word_is_that_of_ecma_262() {
        let edge = PatternAutomaton::compile(r"^\bz\b", limits::PATTERN_SIZE).expect("a pattern");
        assert_eq!(["z", "z z", "zé", "zz", "éz"].map(|text| edge.is_match(text)), [true, true, true, false, false]);
    }
}
