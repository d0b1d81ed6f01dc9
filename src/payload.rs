//! JSON that is carried, not read: payloads and results stay text, byte for byte.

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::job::{Invalid, limits};

/// A JSON text by RFC 8259, at most [`limits::DEPTH`] deep.
#[derive(Debug, Clone)]
pub struct Json(Box<RawValue>);

impl Json {
    pub const TOO_DEEP: Invalid = Invalid("must not be nested deeper than 127 levels");

    /// # Errors
    /// [`Self::TOO_DEEP`].
    pub fn check(raw: Box<RawValue>) -> Result<Self, Invalid> {
        if depth(raw.get().as_bytes()) > limits::DEPTH { Err(Self::TOO_DEEP) } else { Ok(Self(raw)) }
    }

    /// Text that this program stored itself, or that comes from elsewhere: `None` when it is not JSON.
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

    /// Feeds the text without white space outside strings and with object keys sorted; numbers and strings as written, so
    /// that ids beyond 2^53 stay apart.
    pub fn canonical(&self, into: &mut Sha256) {
        into.update(Canon { text: self.0.get().as_bytes(), at: 0 }.value());
    }
}

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

/// A walk over a text that is known to be valid JSON.
struct Canon<'t> {
    text: &'t [u8],
    at: usize,
}

impl<'t> Canon<'t> {
    fn value(&mut self) -> Vec<u8> {
        self.space();
        match self.text.get(self.at) {
            Some(b'{') => self.object(),
            Some(b'[') => self.array(),
            Some(b'"') => self.string().to_vec(),
            _ => self.word().to_vec(),
        }
    }

    fn object(&mut self) -> Vec<u8> {
        let mut members = Vec::new();
        while self.next_item(b'}') {
            let key = self.string();
            self.space();
            self.at += 1; // the colon
            members.push((key, self.value()));
        }
        // Stable: keys given twice keep their order, so that they stay a text of their own.
        members.sort_by_key(|&(key, _)| key);
        let mut out = vec![b'{'];
        for (i, (key, value)) in members.into_iter().enumerate() {
            if i > 0 {
                out.push(b',');
            }
            out.extend_from_slice(key);
            out.push(b':');
            out.extend(value);
        }
        out.push(b'}');
        out
    }

    fn array(&mut self) -> Vec<u8> {
        let mut out = vec![b'['];
        while self.next_item(b']') {
            if out.len() > 1 {
                out.push(b',');
            }
            let value = self.value();
            out.extend(value);
        }
        out.push(b']');
        out
    }

    /// Steps over the opening bracket or a comma to the next item; over the closing bracket when there is none.
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

    fn string(&mut self) -> &'t [u8] {
        let start = self.at;
        self.at += 1;
        while let Some(&byte) = self.text.get(self.at) {
            self.at += if byte == b'\\' { 2 } else { 1 };
            if byte == b'"' {
                break;
            }
        }
        &self.text[start..self.at]
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
        String::from_utf8(Canon { text: text.as_bytes(), at: 0 }.value()).expect("UTF-8")
    }

    #[test]
    fn white_space_and_the_order_of_keys_do_not_matter() {
        assert_eq!(
            canonical(r#" { "b" : [ 1 , { } , [ ] ] , "a" : "x \" , } y" } "#),
            r#"{"a":"x \" , } y","b":[1,{},[]]}"#
        );
        assert_eq!(canonical(r#"{"b":2,"a":1}"#), canonical("{ \"a\" : 1,\n\"b\" : 2 }"));
    }

    #[test]
    fn numbers_and_strings_stay_as_written() {
        for text in ["9007199254740993", "1e400", "1.0", r#""\u0061""#, "null", "[1,1.0,true]", r#"{"a":1,"a":2}"#] {
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
