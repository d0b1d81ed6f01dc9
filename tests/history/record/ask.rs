//! Calls to the service, and their requests.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{item::text, skill::skill_of};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ask {
    /// `key` is the idempotency key.
    Enqueue {
        jobs: Vec<Job>,
        key: Option<u64>,
    },
    CreateBatch {
        queue: String,
        concurrency: Option<usize>,
        sealed: bool,
        jobs: Vec<Job>,
        key: Option<u64>,
    },
    Append {
        batch: String,
        jobs: Vec<Job>,
        offset: Option<usize>,
    },
    Seal {
        batch: String,
    },
    CancelBatch {
        batch: String,
    },
    Reserve {
        queues: Vec<String>,
        worker: Option<String>,
        limit: usize,
        wait_ms: u64,
        id: Option<String>,
        key: Option<u64>,
    },
    Settle {
        way: Way,
        items: Vec<Settle>,
    },
    Release {
        id: String,
    },
    ReleaseFrom {
        queue: String,
        worker: String,
    },
    Requeue {
        id: String,
    },
    RequeueAll {
        queue: String,
    },
    Cancel {
        id: String,
        force: bool,
    },
    Reprioritize {
        id: String,
        priority: u8,
    },
    Purge {
        queue: String,
        state: String,
        force: bool,
    },
    Set {
        queue: String,
        settings: String,
    },
    Sweep {
        queue: String,
    },
    Look {
        path: String,
    },
}

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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Way {
    Extend,
    Complete,
    Abandon,
    Fail,
    HandOver,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    /// The worker to whom the job is handed over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

pub struct Request {
    pub method: &'static str,
    pub path: String,
    pub key: Option<String>,
    pub body: Option<Value>,
}

impl Ask {
    pub fn request(&self) -> Request {
        let key = match self {
            Self::Enqueue { key, .. } | Self::CreateBatch { key, .. } | Self::Reserve { key, .. } => *key,
            _ => None,
        };
        let (method, path, body) = self.parts();
        Request { method, path, key: key.map(|key| format!("key-{key}")), body }
    }

    fn parts(&self) -> (&'static str, String, Option<Value>) {
        let post = |path: &str, body: Value| ("POST", path.to_owned(), Some(body));
        match self {
            Self::Enqueue { jobs, .. } => post("/jobs", one_or_list(jobs.iter().map(|job| job.body(true)))),
            Self::CreateBatch { queue, concurrency, sealed, jobs, .. } => {
                let overlap = jobs.first().and_then(|job| Some((job.overlap?, job)));
                let mut body = match overlap {
                    Some((overlap, job)) => json!({ "queue": queue, "overlap": overlap, "job": job.body(false) }),
                    None => json!({ "queue": queue, "sealed": sealed, "jobs": members(jobs) }),
                };
                say(&mut body, "concurrency", *concurrency);
                post("/batches", body)
            }
            Self::Append { batch, jobs, offset } => {
                let mut body = json!({ "jobs": members(jobs) });
                say(&mut body, "offset", *offset);
                post(&format!("/batches/{batch}/jobs"), body)
            }
            Self::Seal { batch } => post(&format!("/batches/{batch}/seal"), json!({})),
            Self::CancelBatch { batch } => ("DELETE", format!("/batches/{batch}"), None),
            Self::Reserve { .. } => post("/jobs/reserve", self.reserve()),
            Self::Settle { way, items } => {
                post(&format!("/jobs/{}", way.word()), one_or_list(items.iter().map(|item| item.body(*way))))
            }
            Self::Release { id } => post("/jobs/release", json!({ "id": id })),
            Self::ReleaseFrom { queue, worker } => post("/jobs/release", json!({ "queue": queue, "worker": worker })),
            Self::Requeue { id } => post("/jobs/requeue", json!({ "id": id })),
            Self::RequeueAll { queue } => post("/jobs/requeue", json!({ "queue": queue })),
            Self::Cancel { id, force } => ("DELETE", format!("/jobs/{id}?force={force}"), None),
            Self::Reprioritize { id, priority } => {
                ("PATCH", format!("/jobs/{id}"), Some(json!({ "priority": priority })))
            }
            Self::Purge { queue, state, force } => {
                ("DELETE", format!("/queues/{queue}?state={state}&force={force}"), None)
            }
            Self::Set { queue, settings } => ("PATCH", format!("/queues/{queue}"), serde_json::from_str(settings).ok()),
            Self::Sweep { queue } => post(&format!("/queues/{queue}/sweep"), json!({})),
            Self::Look { path } => ("GET", path.clone(), None),
        }
    }

    fn reserve(&self) -> Value {
        let Self::Reserve { queues, worker, limit, wait_ms, id, .. } = self else { return Value::Null };
        let mut body = match id {
            Some(id) => json!({ "id": id }),
            None => json!({ "queues": queues, "limit": limit, "wait_ms": wait_ms }),
        };
        say(&mut body, "worker", worker.clone());
        if let Some(skill) = worker.as_deref().and_then(skill_of) {
            body["skills"] = json!([skill]);
        }
        body
    }
}

/// How long a job is handed over.
const HAND_OVER_MS: u64 = 3_000;

impl Way {
    pub fn word(self) -> &'static str {
        match self {
            Self::Extend => "extend",
            Self::Complete => "complete",
            Self::Abandon => "abandon",
            Self::Fail => "fail",
            Self::HandOver => "hand-over",
        }
    }
}

impl Job {
    /// Jobs of a batch need no queue and client, and are never deduplicated.
    fn body(&self, is_alone: bool) -> Value {
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

impl Settle {
    fn body(&self, way: Way) -> Value {
        let mut body = json!({ "reservation": self.reservation });
        match way {
            Way::Extend | Way::Abandon => say(&mut body, "draft", self.value.map(text)),
            Way::Complete => say(&mut body, "result", self.value.map(text)),
            Way::Fail => say(&mut body, "error", self.value.map(|value| format!("error {value}"))),
            Way::HandOver => {
                say(&mut body, "note", self.value.map(|value| format!("note {value}")));
                say(&mut body, "to", self.to.clone());
                body["fallback_ms"] = HAND_OVER_MS.into();
            }
        }
        say(&mut body, "delay_ms", self.delay_ms);
        say(&mut body, "grace_ms", self.grace_ms);
        if self.skip {
            body["skip"] = true.into();
        }
        body
    }
}

fn members(jobs: &[Job]) -> Vec<Value> {
    jobs.iter().map(|job| job.body(false)).collect()
}

fn say(body: &mut Value, field: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        body[field] = value.into();
    }
}

fn one_or_list(items: impl Iterator<Item = Value>) -> Value {
    let mut items: Vec<_> = items.collect();
    match items.len() {
        1 => items.remove(0),
        _ => Value::Array(items),
    }
}
