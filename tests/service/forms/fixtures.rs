//! The form of the stories about forms, and results for it.

use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::world::Answer;

/// Where the form of the queue `default` is in Redis.
pub const FORM_KEY: &str = "intray:{default}:2:form";

pub static VERDICT: LazyLock<Value> = LazyLock::new(|| {
    json!({
        "type": "object",
        "properties": {
            "verdict": { "type": "string", "enum": ["fine", "harmful"] },
            "score": { "type": "integer", "minimum": 1, "maximum": 5 },
        },
        "required": ["verdict"],
        "additionalProperties": false,
    })
});

/// A result that fits.
pub fn harmful() -> Value {
    json!({ "verdict": "harmful", "score": 4 })
}

/// A result that does not.
pub fn no_verdict() -> Value {
    json!({ "score": 4 })
}

/// Expects a refused result with faults at exactly these pointers into it.
#[track_caller]
pub fn refused_at(answer: &Answer, pointers: &[&str]) {
    let problem = answer.refused("invalid-result");
    assert_eq!(answer.status, 422);
    let errors = problem["errors"].as_array().expect("errors");
    let mut found: Vec<_> = errors.iter().map(|error| error["pointer"].as_str().expect("a pointer")).collect();
    let mut pointers = pointers.to_vec();
    found.sort_unstable();
    pointers.sort_unstable();
    assert_eq!(found, pointers, "{problem}");
}
