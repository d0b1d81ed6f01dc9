//! Where a request breaks a rule.

use std::borrow::Cow;

use serde::{Serialize, Serializer, ser::SerializeMap};

/// After so many, a request's other mistakes are not told: an answer is not to be larger than what it answers.
pub const MOST_MISTAKES: usize = 20;

/// What a value must be, in words that fit behind its name.
pub type Rule = Cow<'static, str>;

/// A place in the request, and the rule that it breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    kind: &'static str,
    name: String,
    rule: Rule,
}

impl Place {
    /// A JSON pointer into the body, or into the item of an array.
    pub fn pointer(pointer: impl Into<String>, rule: impl Into<Rule>) -> Self {
        Self { kind: "pointer", name: pointer.into(), rule: rule.into() }
    }

    pub fn parameter(name: impl Into<String>, rule: impl Into<Rule>) -> Self {
        Self { kind: "parameter", name: name.into(), rule: rule.into() }
    }

    pub fn header(name: &str, rule: impl Into<Rule>) -> Self {
        Self { kind: "header", name: name.to_owned(), rule: rule.into() }
    }

    /// For people.
    pub fn in_words(&self) -> String {
        match self.name.trim_start_matches('/') {
            "" => format!("the {} {}", if self.kind == "pointer" { "body" } else { self.kind }, self.rule),
            name => format!("{name}: {}", self.rule),
        }
    }
}

impl Serialize for Place {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry(self.kind, &self.name)?;
        map.serialize_entry("detail", &self.rule)?;
        map.end()
    }
}
