//! Rules for single values: each turns raw JSON into a value of the domain, or says what the value must be. JSON is
//! borrowed from the body; values stay raw text until they are parsed.

use std::{borrow::Cow, fmt, ops::RangeInclusive};

use serde::{
    Deserialize,
    de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use crate::{
    http::response::{
        field_error::Rule,
        problem::{Problem, ProblemType},
    },
    job::{Invalid, Priority, limits},
    payload::{Json, UnicodeText, unicode_text},
};

/// Text for a parser of the domain.
pub fn parsed<T>(parse: impl Fn(&str) -> Result<T, Invalid>) -> impl Fn(&RawValue) -> Result<T, Rule> {
    move |raw| Ok(parse(&text(raw)?)?)
}

/// Text of at most `max` bytes.
pub fn text_up_to(max: usize) -> impl Fn(&RawValue) -> Result<String, Rule> {
    move |raw| match text(raw) {
        Ok(text) if text.len() <= max => Ok(text.into_owned()),
        _ => Err(format!("must be text of at most {max} bytes").into()),
    }
}

/// A deduplication or idempotency key.
///
/// # Errors
/// The rule.
pub fn key(text: &str) -> Result<String, Invalid> {
    let fits = (1..=limits::KEY).contains(&text.len());
    if fits && !text.chars().any(char::is_control) {
        return Ok(text.to_owned());
    }
    Err(Invalid("must be 1 to 256 bytes of text without control characters"))
}

/// A part of a job's error, to search for.
///
/// # Errors
/// The rule.
pub fn error_part(text: &str) -> Result<String, Invalid> {
    if (1..=limits::ERROR_PART).contains(&text.len()) {
        return Ok(text.to_owned());
    }
    Err(Invalid("must be 1 to 256 bytes of text"))
}

/// A part of a payload or an error, to search for.
///
/// # Errors
/// The rule.
pub fn search(text: &str) -> Result<String, Invalid> {
    if (1..=limits::SEARCH).contains(&text.len()) {
        return Ok(text.to_owned());
    }
    Err(Invalid("must be 1 to 128 bytes of text"))
}

pub fn text(raw: &RawValue) -> Result<Cow<'_, str>, Rule> {
    unicode_text(raw.get()).ok_or_else(|| "must be text".into())
}

/// A whole number. `1.0` and `1e3` are whole too, as in JSON Schema.
pub fn whole(range: RangeInclusive<u32>) -> impl Fn(&RawValue) -> Result<u32, Rule> {
    move |raw| whole_text(range.clone())(raw.get())
}

/// The same for a query parameter.
pub fn whole_text(range: RangeInclusive<u32>) -> impl Fn(&str) -> Result<u32, Rule> {
    move |text| match whole_number(text) {
        Some(number) if range.contains(&number) => Ok(number),
        _ => Err(format!("must be a whole number from {} to {}", range.start(), range.end()).into()),
    }
}

fn whole_number(text: &str) -> Option<u32> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    if plain {
        return text.parse().ok();
    }
    // Only JSON's own numbers: not `inf`, `+1` or ` 1`.
    let number: &RawValue = serde_json::from_str(text).ok().filter(|raw: &&RawValue| raw.get() == text)?;
    let number: f64 = number.get().parse().ok()?;
    let whole = number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number);
    whole.then_some(number as u32)
}

pub fn priority(raw: &RawValue) -> Result<Priority, Rule> {
    let number = whole_number(raw.get()).ok_or(Priority::RULE)?;
    Ok(Priority::new(number.into())?)
}

pub fn flag(raw: &RawValue) -> Result<bool, Rule> {
    flag_text(raw.get())
}

/// The same for a query parameter.
pub fn flag_text(text: &str) -> Result<bool, Rule> {
    match text {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err("must be true or false".into()),
    }
}

/// Any JSON, byte for byte.
pub fn json(raw: &RawValue) -> Result<Json, Rule> {
    Ok(Json::check(raw.to_owned())?)
}

/// Largest payload, result or draft, in bytes.
#[derive(Debug, Clone, Copy)]
pub struct PayloadLimit(pub usize);

/// Refuses JSON over the operator's limit.
pub fn check_size(field: &str, json: &Json, max: usize) -> Result<(), Problem> {
    if json.len() <= max {
        return Ok(());
    }
    Err(Problem::new(ProblemType::TooLarge, format!("{field}: has at most {max} bytes")))
}

/// More than any request has; limits the errors in an answer too.
pub const MAX_FIELDS: usize = 32;

/// Validates a whole text, to report its first syntax error.
///
/// # Errors
/// A problem, when the text is not JSON.
pub fn check_syntax(text: &str) -> Result<(), Problem> {
    let not_json = |error: serde_json::Error| Problem::new(ProblemType::NotJson, error.to_string());
    serde_json::from_str::<&RawValue>(text).map(drop).map_err(not_json)
}

/// The members of an object in order; `None` when the text is not an object, has too many members, or has a name that
/// is not Unicode.
pub fn members(text: &str) -> Option<Vec<(Cow<'_, str>, &RawValue)>> {
    serde_json::from_str(text).ok().map(|Members(members)| members)
}

/// The elements of an array; `None` when it is not one, `Some(None)` when it has more than `max`.
pub fn elements(text: &str, max: usize) -> Option<Option<Vec<&RawValue>>> {
    if !starts_with(text, b'[') {
        return None;
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    let elements = reader.deserialize_seq(Elements(max)).ok()?;
    reader.end().ok().map(|()| elements)
}

/// Whether a text starts with the bracket.
pub fn starts_with(text: &str, bracket: u8) -> bool {
    text.as_bytes().trim_ascii_start().first() == Some(&bracket)
}

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
    use crate::job::QueueName;

    fn raw(text: &str) -> &RawValue {
        serde_json::from_str(text).expect("JSON")
    }

    #[test]
    fn whole_numbers_are_accepted_in_each_notation() {
        for (text, number) in [("0", 0), ("7", 7), ("7.0", 7), ("7e2", 700), ("1000", 1000), ("-0", 0)] {
            assert_eq!(whole(0..=1_000)(raw(text)).ok(), Some(number), "{text}");
        }
        for text in ["1001", "-1", "0.5", "1e400", "4294967297", r#""7""#, "null", "true", "[7]"] {
            assert!(whole(0..=1_000)(raw(text)).is_err(), "{text}");
        }
        for text in ["", " 7", "+7", "07x", "inf", "NaN", "0x7"] {
            assert!(whole_text(0..=1_000)(text).is_err(), "{text}");
        }
    }

    #[test]
    fn parsed_text_reports_its_rule() {
        assert_eq!(parsed(QueueName::parse)(raw(r#""a b""#)), Err(QueueName::RULE.into()));
        assert_eq!(parsed(QueueName::parse)(raw("3")), Err("must be text".into()));
        assert!(parsed(QueueName::parse)(raw(r#""\ud800""#)).is_err());
    }

    #[test]
    fn invalid_json_is_reported() {
        for wrong in ["", "{", "nul", r#"{"a":1}x"#, "\u{feff}1", "01", "'a'", "\"\x01\"", r#""\x""#] {
            let problem = serde_json::to_value(check_syntax(wrong).expect_err("not JSON")).expect("JSON");
            assert_eq!(problem["type"], "/problems/not-json", "{wrong}");
        }
        for right in ["1e400", r#""\ud800""#, " [1,{}] ", &format!("{}{}", "[".repeat(10_000), "]".repeat(10_000))] {
            assert!(check_syntax(right).is_ok());
        }
    }

    #[test]
    fn strings_are_copied_only_when_escaped() {
        let members = members(r#" { "a" : "b" , "\u0061" : "\u0062" } "#).expect("an object");
        let is_borrowed = |text: &Cow<'_, str>| matches!(text, Cow::Borrowed(_));
        let texts: Vec<_> = members
            .iter()
            .map(|(name, value)| (is_borrowed(name), is_borrowed(&unicode_text(value.get()).expect("text"))))
            .collect();
        assert_eq!(texts, [(true, true), (false, false)]);
        assert!(members.iter().all(|(name, value)| name == "a" && unicode_text(value.get()).expect("text") == "b"));
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
