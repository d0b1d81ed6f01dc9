//! Rules for single values: each turns raw JSON into a value of the domain, or says what the value must be.

use std::{borrow::Cow, ops::RangeInclusive};

use serde_json::value::RawValue;

use crate::{
    http::{
        request::{fields::JsonFields, json::text as json_text},
        response::{
            field_error::Rule,
            problem::{Problem, ProblemType},
        },
    },
    job::{Backoff, Invalid, Priority, limits},
    payload::Json,
};

/// Text for a parser of the domain.
pub fn parsed<T>(parse: impl Fn(&str) -> Result<T, Invalid>) -> impl Fn(&RawValue) -> Result<T, Rule> {
    move |raw| Ok(parse(&text(raw)?)?)
}

/// Text of at most `most` bytes.
pub fn text_up_to(most: usize) -> impl Fn(&RawValue) -> Result<String, Rule> {
    move |raw| match text(raw) {
        Ok(text) if text.len() <= most => Ok(text.into_owned()),
        _ => Err(format!("must be text of at most {most} bytes").into()),
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
    json_text(raw).ok_or_else(|| "must be text".into())
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

/// The `backoff` object.
pub fn backoff(fields: &mut JsonFields<'_>) -> Option<Backoff> {
    let exponential = fields.require("type", |raw| match &*text(raw)? {
        "fixed" => Ok(false),
        "exponential" => Ok(true),
        _ => Err("must be fixed or exponential".into()),
    });
    let delay = fields.require("delay_ms", whole(0..=limits::DELAY_MS));
    let max = if fields.null("max_ms") { None } else { fields.take("max_ms", whole(0..=limits::DELAY_MS)) };
    match (exponential?, delay?, max) {
        (false, delay_ms, None) => Some(Backoff::Fixed { delay_ms }),
        (false, _, Some(_)) => fields.reject("max_ms", "is for exponential only"),
        (true, delay_ms, max) => Some(Backoff::Exponential { delay_ms, max_ms: max.unwrap_or(limits::DELAY_MS) }),
    }
}

/// Largest payload, result or draft, in bytes.
#[derive(Debug, Clone, Copy)]
pub struct PayloadLimit(pub usize);

/// Refuses JSON over the operator's limit.
pub fn check_size(field: &str, json: &Json, most: usize) -> Result<(), Problem> {
    if json.len() <= most {
        return Ok(());
    }
    Err(Problem::new(ProblemType::TooLarge, format!("{field}: has at most {most} bytes")))
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
    fn backoff_is_fixed_or_exponential() {
        let read = |text: &'static str| {
            let mut fields = JsonFields::of(text).expect("an object");
            let value = backoff(&mut fields);
            fields.finish(value).ok()
        };
        assert_eq!(read(r#"{"type":"fixed","delay_ms":5,"max_ms":null}"#), Some(Backoff::Fixed { delay_ms: 5 }));
        let exponential = |max_ms| Some(Backoff::Exponential { delay_ms: 5, max_ms });
        assert_eq!(read(r#"{"type":"exponential","delay_ms":5,"max_ms":9}"#), exponential(9));
        assert_eq!(read(r#"{"type":"exponential","delay_ms":5}"#), exponential(limits::DELAY_MS));
        for wrong in
            [r#"{"type":"fixed","delay_ms":5,"max_ms":9}"#, r#"{"type":"no","delay_ms":5}"#, r#"{"type":"fixed"}"#]
        {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
