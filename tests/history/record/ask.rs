//! Calls to the service, and their requests.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    body::{one_or_list, say},
    job::Job,
    settle::{Settle, Way},
    skill::skill_of,
};

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

fn members(jobs: &[Job]) -> Vec<Value> {
    jobs.iter().map(|job| job.body(false)).collect()
}
