//! The headers that a call may carry for its jobs, or to go on where it was.

use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, HeaderName, request::Parts},
};

use crate::{
    http::{
        names::{IDEMPOTENCY_KEY, LAST_EVENT_ID, TRACEPARENT},
        request::rules,
        response::{field_error::Place, problem::Problem},
    },
    job::QueueName,
    store::Position,
};

/// Makes a call safe to repeat: the text of the `Idempotency-Key`, which is a quoted string or bare.
pub struct IdempotencyKey(pub Option<String>);

/// Where a reader of events was before it was cut: the last `id:` that it saw.
pub struct LastEventId(pub Vec<(QueueName, Position)>);

/// The producer's W3C trace context. One that is malformed is as good as none: that is the standard's own rule.
pub struct Traceparent(pub Option<String>);

impl IdempotencyKey {
    /// A problem with the header, by its usual name.
    pub fn problem(rule: &'static str) -> Problem {
        Problem::invalid(vec![Place::header("Idempotency-Key", rule)])
    }
}

impl<S: Sync> FromRequestParts<S> for IdempotencyKey {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        match lone(&parts.headers, &IDEMPOTENCY_KEY) {
            Lone::Absent => Ok(Self(None)),
            Lone::Is(text) => match unquoted(text).map(|key| rules::key(&key)) {
                Some(Ok(key)) => Ok(Self(Some(key))),
                Some(Err(rule)) => Err(Self::problem(rule.0)),
                None => Err(Self::problem("must be a string in double quotes, or without any")),
            },
            Lone::Not => Err(Self::problem("must be given once, in UTF-8")),
        }
    }
}

impl<S: Sync> FromRequestParts<S> for LastEventId {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let places = match lone(&parts.headers, &LAST_EVENT_ID) {
            Lone::Absent | Lone::Is("") => Some(Vec::new()),
            Lone::Is(text) => parse_positions(text),
            Lone::Not => None,
        };
        let rule = "must be the id of an event";
        places.map(Self).ok_or_else(|| Problem::invalid(vec![Place::header("Last-Event-ID", rule)]))
    }
}

impl<S: Sync> FromRequestParts<S> for Traceparent {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        match lone(&parts.headers, &TRACEPARENT) {
            Lone::Is(text) if is_trace(text) => Ok(Self(Some(text.to_owned()))),
            _ => Ok(Self(None)),
        }
    }
}

/// `queue@position`, joined by commas, as `id:` said it.
fn parse_positions(text: &str) -> Option<Vec<(QueueName, Position)>> {
    let position = |part: &str| {
        let (queue, position) = part.split_once('@')?;
        Some((QueueName::parse(queue).ok()?, Position::parse(position)?))
    };
    text.split(',').map(position).collect()
}

enum Lone<'h> {
    Absent,
    Is(&'h str),
    Not,
}

fn lone<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Lone<'h> {
    let mut values = headers.get_all(name).iter();
    match (values.next().map(|value| std::str::from_utf8(value.as_bytes())), values.next()) {
        (None, _) => Lone::Absent,
        (Some(Ok(text)), None) => Lone::Is(text),
        _ => Lone::Not,
    }
}

/// RFC 8941's string: in double quotes, with `\"` and `\\` inside. A text without any quotes is itself.
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

/// `version-trace-parent-flags` in lower-case hex, where version, trace and parent each have a value that means "invalid".
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
    fn a_key_is_the_same_with_and_without_quotes() {
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
    fn only_a_sound_trace_is_carried() {
        let right = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert!(is_trace(right));
        let zeros = format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32));
        for wrong in ["", "00", &right.to_uppercase(), &right.replacen("00", "ff", 1), &format!("{right}-x"), &zeros] {
            assert!(!is_trace(wrong), "{wrong}");
        }
    }
}
