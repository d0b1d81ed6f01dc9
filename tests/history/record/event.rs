//! Events of a stream.

use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Event {
    /// Its position in the stream of its queue.
    pub position: (u64, u64, u64),
    pub kind: String,
    pub queue: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Event {
    /// `id` is the cursor of the reader, for all its queues.
    pub fn read(id: &str, data: &Value) -> Option<Self> {
        let name = |key: &str| data[key].as_str().map(str::to_owned);
        let queue = name("queue")?;
        let position = id.split(',').find_map(|part| part.strip_prefix(&queue)?.strip_prefix('@'))?;
        let mut numbers = position.split('-').map(|number| number.parse().unwrap_or(0));
        let mut next = || numbers.next().unwrap_or(0);
        Some(Self {
            position: (next(), next(), next()),
            kind: name("type")?,
            queue,
            job: name("job"),
            batch: name("batch"),
            worker: name("worker"),
            client: name("client"),
            reason: name("reason"),
        })
    }

    /// The note of a completion after the deadline.
    pub fn is_late(&self) -> bool {
        self.reason.as_deref() == Some("late")
    }

    /// A reservation that was not delivered.
    pub fn is_undelivered(&self) -> bool {
        self.reason.as_deref() == Some("undelivered")
    }
}
