//! An item of a call that names a reservation.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{body::say, item::text};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Way {
    Extend,
    Complete,
    Undo,
    Abandon,
    Fail,
    HandOver,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settle {
    pub reservation: String,
    /// The result or draft; each is unique.
    pub value: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_ms: Option<u64>,
    #[serde(default)]
    pub skip: bool,
    /// For how long a completion can be taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo_ms: Option<u64>,
    /// The resumes that the caller knows of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumes: Option<u64>,
    /// The worker to whom the job is handed over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

/// How long a job is handed over.
const HAND_OVER_MS: u64 = 3_000;

impl Way {
    pub fn word(self) -> &'static str {
        match self {
            Self::Extend => "extend",
            Self::Complete => "complete",
            Self::Undo => "undo",
            Self::Abandon => "abandon",
            Self::Fail => "fail",
            Self::HandOver => "hand-over",
        }
    }
}

impl Settle {
    pub fn body(&self, way: Way) -> Value {
        let mut body = json!({ "reservation": self.reservation });
        match way {
            Way::Extend | Way::Abandon => say(&mut body, "draft", self.value.map(text)),
            Way::Complete => say(&mut body, "result", self.value.map(text)),
            Way::Undo => {}
            Way::Fail => say(&mut body, "error", self.value.map(|value| format!("error {value}"))),
            Way::HandOver => {
                say(&mut body, "note", self.value.map(|value| format!("note {value}")));
                say(&mut body, "to", self.to.clone());
                body["fallback_ms"] = HAND_OVER_MS.into();
            }
        }
        say(&mut body, "delay_ms", self.delay_ms);
        say(&mut body, "grace_ms", self.grace_ms);
        say(&mut body, "undo_ms", self.undo_ms);
        say(&mut body, "resumes", self.resumes);
        if self.skip {
            body["skip"] = true.into();
        }
        body
    }
}
