//! Request headers with a meaning for jobs or event streams.

use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, HeaderName, request::Parts},
};

use crate::{
    http::{
        names::{IDEMPOTENCY_KEY, LAST_EVENT_ID, TRACEPARENT},
        request::rules,
        response::{field_error::FieldError, problem::Problem},
    },
    job::QueueName,
    store::Position,
};

/// The `Idempotency-Key`, as a quoted string or bare.
pub struct IdempotencyKey(pub Option<String>);

/// The last `id:` that an event reader saw, from which it resumes.
pub struct LastEventId(pub Vec<(QueueName, Position)>);

/// The producer's W3C trace context. The standard says to ignore a malformed one.
pub struct Traceparent(pub Option<String>);

impl IdempotencyKey {
    /// A problem with the `Idempotency-Key`.
    pub fn problem(rule: &'static str) -> Problem {
        Problem::invalid(vec![FieldError::header("Idempotency-Key", rule)])
    }
}

impl<S: Sync> FromRequestParts<S> for IdempotencyKey {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        match single_header(&parts.headers, &IDEMPOTENCY_KEY) {
            SingleHeader::Absent => Ok(Self(None)),
            SingleHeader::Text(text) => match unquoted(text).map(|key| rules::key(&key)) {
                Some(Ok(key)) => Ok(Self(Some(key))),
                Some(Err(rule)) => Err(Self::problem(rule.0)),
                None => Err(Self::problem("must be a string in double quotes, or without any")),
            },
            SingleHeader::Invalid => Err(Self::problem("must be given once, in UTF-8")),
        }
    }
}

impl<S: Sync> FromRequestParts<S> for LastEventId {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let places = match single_header(&parts.headers, &LAST_EVENT_ID) {
            SingleHeader::Absent | SingleHeader::Text("") => Some(Vec::new()),
            SingleHeader::Text(text) => parse_positions(text),
            SingleHeader::Invalid => None,
        };
        let rule = "must be the id of an event";
        places.map(Self).ok_or_else(|| Problem::invalid(vec![FieldError::header("Last-Event-ID", rule)]))
    }
}

impl<S: Sync> FromRequestParts<S> for Traceparent {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        match single_header(&parts.headers, &TRACEPARENT) {
            SingleHeader::Text(text) if is_trace(text) => Ok(Self(Some(text.to_owned()))),
            _ => Ok(Self(None)),
        }
    }
}

/// `queue@position`, joined by commas, as in `id:`.
fn parse_positions(text: &str) -> Option<Vec<(QueueName, Position)>> {
    let position = |part: &str| {
        let (queue, position) = part.split_once('@')?;
        Some((QueueName::parse(queue).ok()?, Position::parse(position)?))
    };
    text.split(',').map(position).collect()
}

enum SingleHeader<'h> {
    Absent,
    Text(&'h str),
    Invalid,
}

fn single_header<'h>(headers: &'h HeaderMap, name: &HeaderName) -> SingleHeader<'h> {
    let mut values = headers.get_all(name).iter();
    match (values.next().map(|value| std::str::from_utf8(value.as_bytes())), values.next()) {
        (None, _) => SingleHeader::Absent,
        (Some(Ok(text)), None) => SingleHeader::Text(text),
        _ => SingleHeader::Invalid,
    }
}

/// A string of RFC 8941: in double quotes, with `\"` and `\\` escaped. Text without quotes is taken as it is.
fn unquoted(text: &str) -> Option<String> {
    let Some(rest) = text.strip_prefix('"') else { return (!text.contains('"')).then(|| text.to_owned()) };
    let (mut plain, mut chars) = (String::new(), rest.strip_suffix('"')?.chars());
    while let Some(char) = chars.next() {
        match char {
            '"' => return None,
            '\\' => plain.push(chars.next().filter(|next| matches!(next, '"' | '\\'))?),
            _ => plain.push(char),
        }
    }
    Some(plain)
}

/// `version-trace-parent-flags` in lower-case hex; version, trace and parent have a value each that is invalid.
fn is_trace(text: &str) -> bool {
    let parts: Vec<_> = text.split('-').collect();
    let hex = |part: &str| part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let zero = |part: &str| part.bytes().all(|byte| byte == b'0');
    let [version, trace, parent, flags] = parts.as_slice() else { return false };
    let sizes = [version.len(), trace.len(), parent.len(), flags.len()] == [2, 32, 16, 2];
    sizes && parts.iter().all(|part| hex(part)) && *version != "ff" && !zero(trace) && !zero(parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idempotency_key_quotes_are_optional() {
        for (text, plain) in [
            ("a", Some("a")),
            (r#""a""#, Some("a")),
            (r#""a\"\\b""#, Some(r#"a"\b"#)),
            (r#""""#, Some("")),
            ("a b", Some("a b")),
        ] {
            assert_eq!(unquoted(text).as_deref(), plain, "{text}");
        }
        for wrong in [r#"""#, r#""a"#, r#""a"b""#, r#"a""#, r#""\a""#, r#""a\""#, r#""a";x=1"#] {
            assert_eq!(unquoted(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn malformed_traceparent_is_ignored() {
        let right = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert!(is_trace(right));
        let zeros = format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32));
        for wrong in ["", "00", &right.to_uppercase(), &right.replacen("00", "ff", 1), &format!("{right}-x"), &zeros] {
            assert!(!is_trace(wrong), "{wrong}");
        }
    }
}
