//! JSON borrowed from the body; values stay raw text until they are parsed.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize,
    de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use crate::http::response::problem::{Problem, ProblemType};

/// More than any request has; limits the errors in an answer too.
pub const MAX_FIELDS: usize = 32;

/// Validates a whole text, to report its first syntax error.
///
/// # Errors
/// A problem, when the text is not JSON.
pub fn check(text: &str) -> Result<(), Problem> {
    let not_json = |error: serde_json::Error| Problem::new(ProblemType::NotJson, error.to_string());
    serde_json::from_str::<&RawValue>(text).map(drop).map_err(not_json)
}

/// The members of an object in order; `None` when the text is not an object, has too many members, or has a name that
/// is not Unicode.
pub fn members(text: &str) -> Option<Vec<(Cow<'_, str>, &RawValue)>> {
    serde_json::from_str(text).ok().map(|Members(members)| members)
}

/// The elements of an array; `None` when it is not one, `Some(None)` when it has more than `most`.
pub fn elements(text: &str, most: usize) -> Option<Option<Vec<&RawValue>>> {
    if !is(text, b'[') {
        return None;
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    let elements = reader.deserialize_seq(Elements(most)).ok()?;
    reader.end().ok().map(|()| elements)
}

/// The last member of that name, also in an object with names that are not Unicode; `None` when there is none.
pub fn member<'t>(text: &'t str, name: &str) -> Option<&'t RawValue> {
    let mut reader = serde_json::Deserializer::from_str(text);
    reader.deserialize_map(MemberByName(name)).ok()?
}

/// A string as Unicode text; `None` when it is something else.
pub fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    serde_json::from_str(raw.get()).ok().map(|UnicodeText(text)| text)
}

/// Whether a text starts with the bracket.
pub fn is(text: &str, bracket: u8) -> bool {
    text.as_bytes().trim_ascii_start().first() == Some(&bracket)
}

#[derive(Deserialize)]
struct UnicodeText<'b>(#[serde(borrow)] Cow<'b, str>);

struct Members<'b>(Vec<(Cow<'b, str>, &'b RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor).map(Self)
    }
}

/// Names are decoded; values stay raw.
struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::with_capacity(8);
        while let Some((UnicodeText(name), value)) = map.next_entry()? {
            if members.len() == MAX_FIELDS {
                return Err(A::Error::custom("too many fields"));
            }
            members.push((name, value));
        }
        Ok(members)
    }
}

/// Names stay raw until they are compared.
struct MemberByName<'n>(&'n str);

#[derive(Deserialize)]
struct RawKey<'b>(#[serde(borrow)] &'b RawValue);

impl<'de> Visitor<'de> for MemberByName<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some((RawKey(key), value)) = map.next_entry()? {
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
    fn invalid_json_is_reported() {
        for wrong in ["", "{", "nul", r#"{"a":1}x"#, "\u{feff}1", "01", "'a'", "\"\x01\"", r#""\x""#] {
            let problem = serde_json::to_value(check(wrong).expect_err("not JSON")).expect("JSON");
            assert_eq!(problem["type"], "/problems/not-json", "{wrong}");
        }
        for right in ["1e400", r#""\ud800""#, " [1,{}] ", &format!("{}{}", "[".repeat(10_000), "]".repeat(10_000))] {
            assert!(check(right).is_ok());
        }
    }

    #[test]
    fn strings_are_copied_only_when_escaped() {
        let members = members(r#" { "a" : "b" , "\u0061" : "\u0062" } "#).expect("an object");
        let is_borrowed = |text: &Cow<'_, str>| matches!(text, Cow::Borrowed(_));
        let texts: Vec<_> =
            members.iter().map(|(name, value)| (is_borrowed(name), is_borrowed(&text(value).expect("text")))).collect();
        assert_eq!(texts, [(true, true), (false, false)]);
        assert!(members.iter().all(|(name, value)| name == "a" && text(value).expect("text") == "b"));
    }

    #[test]
    fn array_is_parsed_to_its_end() {
        assert_eq!(elements(" [1, 2] ", 2).expect("an array").expect("two").len(), 2);
        assert!(elements("[1,2,3]", 2).expect("an array").is_none());
        for wrong in ["[1,2,3", "[1,2,3]]", "[1,2]x", "{}", "1", ""] {
            assert!(elements(wrong, 2).is_none(), "{wrong}");
        }
    }
}
