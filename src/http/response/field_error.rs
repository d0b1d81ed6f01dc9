//! Where and how a request breaks a rule.

use std::borrow::Cow;

use serde::{Serialize, Serializer, ser::SerializeMap};

/// At most this many errors are listed in one answer, so that it stays smaller than the request.
pub const MAX_ERRORS: usize = 20;

/// What a value must be, phrased to follow its name.
pub type Rule = Cow<'static, str>;

/// A part of the request, and the rule that it breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    kind: &'static str,
    name: String,
    rule: Rule,
}

impl FieldError {
    /// A JSON pointer (RFC 6901) into the body, or into one item of an array.
    pub fn pointer(pointer: impl Into<String>, rule: impl Into<Rule>) -> Self {
        Self { kind: "pointer", name: pointer.into(), rule: rule.into() }
    }

    pub fn parameter(name: impl Into<String>, rule: impl Into<Rule>) -> Self {
        Self { kind: "parameter", name: name.into(), rule: rule.into() }
    }

    pub fn header(name: &str, rule: impl Into<Rule>) -> Self {
        Self { kind: "header", name: name.to_owned(), rule: rule.into() }
    }

    /// For the `detail` of a problem.
    pub fn to_text(&self) -> String {
        match self.name.trim_start_matches('/') {
            "" => format!("the {} {}", if self.kind == "pointer" { "body" } else { self.kind }, self.rule),
            name => format!("{name}: {}", self.rule),
        }
    }
}

impl Serialize for FieldError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry(self.kind, &self.name)?;
        map.serialize_entry("detail", &self.rule)?;
        map.end()
    }
}
