//! JSON as it was sent: read once, borrowed from the body, and text until somebody takes it.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize,
    de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use crate::http::response::problem::{Failure, Problem};

/// More than any request has; a bound on how much an answer can complain.
pub const MOST_FIELDS: usize = 32;

/// Looks at all of a text, for what somebody else could not make sense of.
///
/// # Errors
/// A problem, when it is not JSON.
pub fn check(text: &str) -> Result<(), Problem> {
    let not_json = |error: serde_json::Error| Problem::new(Failure::NotJson, error.to_string());
    serde_json::from_str::<&RawValue>(text).map(drop).map_err(not_json)
}

/// The members of an object in their order, named in Unicode text: `None` when it is none, or has too many.
pub fn members(text: &str) -> Option<Vec<(Cow<'_, str>, &RawValue)>> {
    serde_json::from_str(text).ok().map(|Members(members)| members)
}

/// The elements of an array: `None` when it is not one, `Some(None)` when there are more than `most`.
pub fn elements(text: &str, most: usize) -> Option<Option<Vec<&RawValue>>> {
    if !is(text, b'[') {
        return None;
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    let elements = reader.deserialize_seq(Elements(most)).ok()?;
    reader.end().ok().map(|()| elements)
}

/// The last member of that name, among any others: those whose names are no Unicode text too. `None` when there is none.
pub fn member<'t>(text: &'t str, name: &str) -> Option<&'t RawValue> {
    let mut reader = serde_json::Deserializer::from_str(text);
    reader.deserialize_map(Member(name)).ok()?
}

/// Unicode text. `None` when it is something else.
pub fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    serde_json::from_str(raw.get()).ok().map(|Text(text)| text)
}

/// Whether a text begins like an object or an array.
pub fn is(text: &str, bracket: u8) -> bool {
    text.as_bytes().trim_ascii_start().first() == Some(&bracket)
}

#[derive(Deserialize)]
struct Text<'b>(#[serde(borrow)] Cow<'b, str>);

struct Members<'b>(Vec<(Cow<'b, str>, &'b RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor).map(Self)
    }
}

/// Keys are decoded, values stay text.
struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::with_capacity(8);
        while let Some((Text(name), value)) = map.next_entry()? {
            if members.len() == MOST_FIELDS {
                return Err(A::Error::custom("too many fields"));
            }
            members.push((name, value));
        }
        Ok(members)
    }
}

/// Keys stay as they were sent until they are held against the name.
struct Member<'n>(&'n str);

#[derive(Deserialize)]
struct Key<'b>(#[serde(borrow)] &'b RawValue);

impl<'de> Visitor<'de> for Member<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some((Key(key), value)) = map.next_entry()? {
            if text(key).is_some_and(|key| key == self.0) {
                found = Some(value);
            }
        }
        Ok(found)
    }
}

struct Elements(usize);

impl<'de> Visitor<'de> for Elements {
    type Value = Option<Vec<&'de RawValue>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Self::Value, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = array.next_element()? {
            if elements.len() == self.0 {
                while array.next_element::<IgnoredAny>()?.is_some() {}
                return Ok(None);
            }
            elements.push(element);
        }
        Ok(Some(elements))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_json_is_said_so() {
        for wrong in ["", "{", "nul", r#"{"a":1}x"#, "\u{feff}1", "01", "'a'", "\"\x01\"", r#""\x""#] {
            let problem = serde_json::to_value(check(wrong).expect_err("not JSON")).expect("JSON");
            assert_eq!(problem["type"], "/problems/not-json", "{wrong}");
        }
        for right in ["1e400", r#""\ud800""#, " [1,{}] ", &format!("{}{}", "[".repeat(10_000), "]".repeat(10_000))] {
            assert!(check(right).is_ok());
        }
    }

    #[test]
    fn names_and_texts_are_copied_only_when_they_are_escaped() {
        let members = members(r#" { "a" : "b" , "\u0061" : "\u0062" } "#).expect("an object");
        let is_borrowed = |text: &Cow<'_, str>| matches!(text, Cow::Borrowed(_));
        let texts: Vec<_> =
            members.iter().map(|(name, value)| (is_borrowed(name), is_borrowed(&text(value).expect("text")))).collect();
        assert_eq!(texts, [(true, true), (false, false)]);
        assert!(members.iter().all(|(name, value)| name == "a" && text(value).expect("text") == "b"));
    }

    #[test]
    fn an_array_is_read_to_its_end() {
        assert_eq!(elements(" [1, 2] ", 2).expect("an array").expect("two").len(), 2);
        assert!(elements("[1,2,3]", 2).expect("an array").is_none());
        for wrong in ["[1,2,3", "[1,2,3]]", "[1,2]x", "{}", "1", ""] {
            assert!(elements(wrong, 2).is_none(), "{wrong}");
        }
    }
}
