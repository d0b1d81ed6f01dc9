//! JSON that is passed through: payloads and results stay text, byte for byte.

use std::{borrow::Cow, ops::Range};

use memchr::{memchr2, memchr2_iter};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::{
    job::{Invalid, limits},
    sha256::Sha256,
};

/// A JSON text (RFC 8259), nested at most [`limits::DEPTH`] deep.
#[derive(Debug, Clone)]
pub struct Json(Box<RawValue>);

impl Json {
    pub const TOO_DEEP: Invalid = Invalid("must not be nested deeper than 127 levels");

    /// # Errors
    /// [`Self::TOO_DEEP`].
    pub fn check(raw: Box<RawValue>) -> Result<Self, Invalid> {
        let text = raw.get().as_bytes();
        // Text with few opening brackets cannot be nested too deep, and counting them is faster than `depth`.
        let opens_more = memchr2_iter(b'[', b'{', text).nth(limits::DEPTH).is_some();
        if opens_more && depth(text) > limits::DEPTH { Err(Self::TOO_DEEP) } else { Ok(Self(raw)) }
    }

    /// Takes text without checking its depth. Returns `None` if it is not JSON.
    pub fn from_text(text: String) -> Option<Self> {
        RawValue::from_string(text).ok().map(Self)
    }

    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    pub fn len(&self) -> usize {
        self.0.get().len()
    }

    /// A JSON text is never empty.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Hashes the text without white space outside strings and with object keys sorted. Numbers and strings stay as written,
    /// so that ids above 2^53 stay distinct.
    pub fn canonical(&self, into: &mut Sha256) {
        let mut canon = Canon::<AS_WRITTEN>::of(self.0.get());
        canon.value();
        into.update(canon.out);
    }
}

/// Returns a form for comparing JSON texts: no white space outside strings, object keys sorted, each string in one spelling,
/// numbers as written. Returns text unchanged if it is not JSON or is nested deeper than a request may be.
pub fn meaning(text: &[u8]) -> Cow<'_, [u8]> {
    let json = std::str::from_utf8(text).ok().filter(|text| serde_json::from_str::<&RawValue>(text).is_ok());
    match json {
        Some(json) if depth(text) <= limits::DEPTH + ENVELOPE_DEPTH => {
            let mut canon = Canon::<BY_MEANING>::of(json);
            canon.value();
            canon.out.into()
        }
        _ => text.into(),
    }
}

/// Levels of nesting around a payload: a list of jobs, a job, and one spare.
const ENVELOPE_DEPTH: usize = 3;

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

fn depth(text: &[u8]) -> usize {
    let (mut now, mut most, mut in_string, mut escaped) = (0_usize, 0, false, false);
    for &byte in text {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
        } else {
            match byte {
                b'"' => in_string = true,
                b'[' | b'{' => {
                    now += 1;
                    most = most.max(now);
                }
                b']' | b'}' => now -= 1,
                _ => {}
            }
        }
    }
    most
}

/// How [`Canon`] writes strings.
const AS_WRITTEN: bool = false;
const BY_MEANING: bool = true;

/// Rewrites text that is known to be valid JSON.
struct Canon<'t, const SPELLING: bool> {
    text: &'t [u8],
    at: usize,
    out: Vec<u8>,
}

impl<'t, const SPELLING: bool> Canon<'t, SPELLING> {
    fn of(text: &'t str) -> Self {
        Self { text: text.as_bytes(), at: 0, out: Vec::with_capacity(text.len()) }
    }

    fn value(&mut self) {
        self.space();
        match self.text.get(self.at) {
            Some(b'{') => self.object(),
            Some(b'[') => self.array(),
            Some(b'"') => {
                let string = self.string();
                self.out.extend_from_slice(&string);
            }
            _ => {
                let word = self.word();
                self.out.extend_from_slice(word);
            }
        }
    }

    /// Writes members in the order of the text, and sorts them afterwards only if needed.
    fn object(&mut self) {
        self.out.push(b'{');
        let start = self.out.len();
        let mut members: Vec<(Cow<'t, [u8]>, Range<usize>)> = Vec::new();
        while self.next_item(b'}') {
            let key = self.string();
            self.space();
            self.at += 1; // the colon
            let from = self.out.len();
            self.out.extend_from_slice(&key);
            self.out.push(b':');
            self.value();
            members.push((key, from..self.out.len()));
            self.out.push(b',');
        }
        if !members.is_sorted_by(|(one, _), (other, _)| one <= other) {
            // The sort is stable: duplicate keys keep their order, so that texts which differ in it stay distinct.
            members.sort_by(|(one, _), (other, _)| one.cmp(other));
            let written = self.out.split_off(start);
            for (_, member) in &members {
                self.out.extend_from_slice(&written[member.start - start..member.end - start]);
                self.out.push(b',');
            }
        }
        self.close(b'}', members.is_empty());
    }

    fn array(&mut self) {
        self.out.push(b'[');
        let start = self.out.len();
        while self.next_item(b']') {
            self.value();
            self.out.push(b',');
        }
        self.close(b']', self.out.len() == start);
    }

    /// Writes the closing bracket, in place of the trailing comma if there are items.
    fn close(&mut self, bracket: u8, is_empty: bool) {
        if !is_empty {
            self.out.pop();
        }
        self.out.push(bracket);
    }

    /// Moves past the opening bracket or a comma to the next item. Without one, moves past the closing bracket.
    fn next_item(&mut self, close: u8) -> bool {
        self.space();
        if self.text.get(self.at).is_none_or(|&byte| byte == close) {
            self.at += 1;
            return false;
        }
        self.at += 1;
        self.space();
        if self.text.get(self.at) == Some(&close) {
            self.at += 1;
            return false;
        }
        true
    }

    fn string(&mut self) -> Cow<'t, [u8]> {
        let start = self.at;
        self.at += 1;
        while let Some(mark) = memchr2(b'"', b'\\', &self.text[self.at..]) {
            self.at += mark + 1;
            if self.text[self.at - 1] == b'"' {
                break;
            }
            self.at += 1; // what is escaped
        }
        let written = &self.text[start..self.at];
        if SPELLING == BY_MEANING && written.contains(&b'\\') {
            // A lone surrogate has no other spelling, so it stays as written.
            let text = serde_json::from_slice::<String>(written).and_then(|text| serde_json::to_vec(&text));
            return text.map_or(written.into(), Cow::Owned);
        }
        written.into()
    }

    fn word(&mut self) -> &'t [u8] {
        let start = self.at;
        while self.text.get(self.at).is_some_and(|b| !matches!(b, b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
        &self.text[start..self.at]
    }

    fn space(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> String {
        let mut canon = Canon::<AS_WRITTEN>::of(text);
        canon.value();
        String::from_utf8(canon.out).expect("UTF-8")
    }

    #[test]
    fn meaning_ignores_spelling_and_keeps_values() {
        let same =
            [r#"{"b":"\u00fc\/\"","a":1}"#, "{ \"a\": 1, \"b\": \"ü/\\u0022\" }", r#"{"\u0061":1,"b":"\u00FC/\""}"#];
        assert!(same.iter().all(|text| meaning(text.as_bytes()) == meaning(same[0].as_bytes())), "{same:?}");
        for other in [r#"{"a":1.0,"b":"ü/\""}"#, r#"{"a":1,"b":"ü/"}"#, r#"{"a":"1","b":"ü/\""}"#, r#"["\ud83d"]"#] {
            assert_ne!(meaning(other.as_bytes()), meaning(same[0].as_bytes()), "{other}");
        }
        assert_ne!(meaning(br#"["\ud83d"]"#), meaning(br#"["\ud83e"]"#));
    }

    #[test]
    fn meaning_of_no_json_is_its_bytes() {
        let deep = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
        for text in [&b"{"[..], b"", b"{} {}", b"\xff", deep.as_bytes()] {
            assert_eq!(meaning(text), text);
        }
    }

    #[test]
    fn canonical_ignores_white_space_and_key_order() {
        assert_eq!(
            canonical(r#" { "b" : [ 1 , { } , [ ] ] , "a" : "x \" , } y" } "#),
            r#"{"a":"x \" , } y","b":[1,{},[]]}"#
        );
        assert_eq!(canonical(r#"{"b":2,"a":1}"#), canonical("{ \"a\" : 1,\n\"b\" : 2 }"));
        assert_eq!(canonical(r#"[{"c":{"z":[],"y":{}},"b":1,"a":[2]}]"#), r#"[{"a":[2],"b":1,"c":{"y":{},"z":[]}}]"#);
    }

    #[test]
    fn canonical_keeps_numbers_and_strings() {
        for text in [
            "9007199254740993",
            "1e400",
            "1.0",
            r#""\u0061""#,
            "null",
            "[1,1.0,true]",
            r#"{"a":1,"a":2}"#,
            r#"["\\","\\\"",""]"#,
        ] {
            assert_eq!(canonical(text), text);
        }
        assert_ne!(canonical(r#"{"a":1,"a":2}"#), canonical(r#"{"a":2,"a":1}"#));
    }

    #[test]
    fn depth_counts_brackets_outside_strings() {
        assert_eq!(depth(br#"["[[[", {"a":[]}]"#), 3);
        let deep = |n: usize| RawValue::from_string("[".repeat(n) + &"]".repeat(n)).expect("JSON");
        assert!(Json::check(deep(127)).is_ok());
        assert_eq!(Json::check(deep(128)).err(), Some(Json::TOO_DEEP));
    }
}
