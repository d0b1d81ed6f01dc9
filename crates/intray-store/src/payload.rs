//! JSON that is passed through: payloads and results stay text, byte for byte.

mod canon;
mod number;
pub mod pointers;
pub mod scan;
pub mod votes;

use std::borrow::Cow;

use memchr::memchr2_iter;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

pub use self::canon::meaning;
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
        into.update(canon::as_written(self.0.get()));
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// A JSON string, decoded.
#[derive(Deserialize)]
pub struct UnicodeText<'b>(#[serde(borrow)] pub Cow<'b, str>);

/// A JSON string as Unicode text; `None` when it is something else.
pub fn unicode_text(json: &str) -> Option<Cow<'_, str>> {
    serde_json::from_str(json).ok().map(|UnicodeText(text)| text)
}

fn depth(text: &[u8]) -> usize {
    let (mut now, mut deepest, mut in_string, mut escaped) = (0_usize, 0, false, false);
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
                    deepest = deepest.max(now);
                }
                b']' | b'}' => now -= 1,
                _ => {}
            }
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_counts_brackets_outside_strings() {
        assert_eq!(depth(br#"["[[[", {"a":[]}]"#), 3);
        let deep = |n: usize| RawValue::from_string("[".repeat(n) + &"]".repeat(n)).expect("JSON");
        assert!(Json::check(deep(127)).is_ok());
        assert_eq!(Json::check(deep(128)).err(), Some(Json::TOO_DEEP));
    }
}
