//! A job in the request of a call.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{body::say, item::text};

/// A job as enqueued; `n` is the number in its payload, which is unique.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    pub queue: String,
    pub n: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
    pub twin: Twin,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locks: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sla_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assignees: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excluded: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback_ms: Option<u64>,
    /// The job of a batch of so many equal ones, of which no worker gets two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap: Option<u64>,
}

/// How the job is deduplicated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Twin {
    None,
    Payload,
    Key(u64),
}

impl Job {
    /// Jobs of a batch need no queue and client, and are never deduplicated.
    pub fn body(&self, is_alone: bool) -> Value {
        let mut body = json!({ "payload": text(self.n) });
        if is_alone {
            body["queue"] = self.queue.clone().into();
            say(&mut body, "client", self.client.clone());
            match self.twin {
                Twin::None => body["dedupe"] = false.into(),
                Twin::Payload => body["dedupe"] = true.into(),
                Twin::Key(key) => body["dedupe_key"] = format!("twin-{key}").into(),
            }
        }
        say(&mut body, "priority", self.priority);
        say(&mut body, "delay_ms", self.delay_ms);
        say(&mut body, "max_attempts", self.max_attempts);
        say(&mut body, "expires_ms", self.expires_ms);
        say(&mut body, "sla_ms", self.sla_ms);
        for (field, names) in [("locks", &self.locks), ("assignees", &self.assignees), ("excluded", &self.excluded)] {
            say(&mut body, field, Some(names.clone()).filter(|names| !names.is_empty()));
        }
        say(&mut body, "skill", self.skill.clone());
        say(&mut body, "fallback_ms", self.fallback_ms);
        body
    }
}
