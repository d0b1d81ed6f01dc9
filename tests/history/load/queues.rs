//! The queues of a run, each with its own purpose, and the state shared by all callers.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use serde_json::json;

use super::{Caller, Chance};
use crate::{
    record::{Ask, Plan, Recorder, queue_of},
    services::Services,
};

/// First come, first served, and nothing else.
pub const LINES: [&str; 2] = ["line-a", "line.b"];
/// Work at a desk: drafts, skips, picks, priorities.
pub const DESK: &str = "desk";
/// Jobs with locks.
pub const GATES: &str = "gates";
pub const BATCHES: &str = "batches";
/// Jobs that soon become dead, and are requeued.
pub const DEADLY: &str = "deadly";
/// Jobs that are purged and removed.
pub const SCRAP: &str = "scrap";
pub const ALL: [&str; 7] = [LINES[0], LINES[1], DESK, GATES, BATCHES, DEADLY, SCRAP];

/// The limits of how long ended jobs are kept, and of how many.
const KEPT_MS: u64 = 2_592_000_000;
const KEPT: u64 = 1_000_000_000;

/// Known ids of each queue.
const REMEMBERED: usize = 300;
/// Producers pause while so many jobs wait.
const BACKLOG: u64 = 1_500;

pub fn plans() -> Vec<Plan> {
    let plan = |queue: &str, worker_limit| Plan {
        queue: queue.to_owned(),
        worker_limit,
        keeps: queue != SCRAP,
        is_line: LINES.contains(&queue),
    };
    let limits = [1, 3, 2, 0, 5, 1, 2];
    ALL.into_iter().zip(limits).map(|(queue, limit)| plan(queue, limit)).collect()
}

/// Ended jobs are kept without limit, where nothing may be removed.
pub async fn set_up(caller: &mut Caller) {
    for plan in plans() {
        let mut settings = json!({ "worker_limit": plan.worker_limit, "lease_ms": 15_000 });
        let (retention_ms, retention_max) = if plan.keeps { (KEPT_MS, KEPT) } else { (10_000, 200) };
        settings["retention_ms"] = retention_ms.into();
        settings["retention_max"] = retention_max.into();
        if plan.queue == DEADLY {
            settings["max_attempts"] = 2.into();
            settings["backoff"] = json!({ "type": "fixed", "delay_ms": 200 });
        }
        if plan.queue == SCRAP {
            settings["max_jobs"] = 400.into();
        }
        caller.insist(Ask::Set { queue: plan.queue, settings: settings.to_string() }).await;
    }
}

/// From here on no ended job is removed, so what is read page by page fits together.
pub async fn keep_all(caller: &mut Caller) {
    for queue in ALL {
        let settings = json!({ "retention_ms": KEPT_MS, "retention_max": KEPT }).to_string();
        caller.insist(Ask::Set { queue: queue.to_owned(), settings }).await;
    }
}

/// Reads the number of waiting jobs, which answers alone do not show.
pub async fn watch(mut caller: Caller, stop: Arc<AtomicBool>) {
    while !stop.load(Ordering::Relaxed) {
        if let Some(page) = caller.look("/queues").await {
            let queues = page["queues"].as_array().into_iter().flatten();
            let waiting = queues.map(|queue| ["waiting", "blocked"].map(|state| queue["counts"][state].as_u64()));
            let sum: u64 = waiting.flatten().flatten().sum();
            caller.shared.is_behind.store(sum > BACKLOG, Ordering::Relaxed);
        }
        caller.chance.rest(400).await;
    }
}

/// State shared by all callers.
pub struct Shared {
    pub services: Arc<Services>,
    pub record: Recorder,
    numbers: AtomicU64,
    is_behind: AtomicBool,
    ids: Mutex<HashMap<String, VecDeque<String>>>,
    /// Open batches, with their number of jobs.
    batches: Mutex<Vec<(String, usize)>>,
}

impl Shared {
    pub fn new(services: Arc<Services>, record: Recorder) -> Self {
        let (numbers, is_behind) = (AtomicU64::new(1), AtomicBool::new(false));
        let (ids, batches) = Default::default();
        Self { services, record, numbers, is_behind, ids, batches }
    }

    /// A unique number.
    pub fn number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    pub fn is_behind(&self) -> bool {
        self.is_behind.load(Ordering::Relaxed)
    }

    pub fn remember(&self, id: &str) {
        let mut ids = self.ids.lock().expect("not poisoned");
        let those = ids.entry(queue_of(id).to_owned()).or_default();
        those.push_back(id.to_owned());
        if those.len() > REMEMBERED {
            those.pop_front();
        }
    }

    pub fn recall(&self, queue: &str, chance: &mut Chance) -> Option<String> {
        let ids = self.ids.lock().expect("not poisoned");
        let those = ids.get(queue).filter(|those| !those.is_empty())?;
        those.get(chance.count(0, those.len() - 1)).cloned()
    }

    pub fn opened(&self, batch: &str, jobs: usize) {
        self.batches.lock().expect("not poisoned").push((batch.to_owned(), jobs));
    }

    /// A reservation that is taken is used by one caller only.
    pub fn take_open(&self, chance: &mut Chance) -> Option<(String, usize)> {
        let mut batches = self.batches.lock().expect("not poisoned");
        (!batches.is_empty()).then(|| batches.len()).map(|n| batches.swap_remove(chance.count(0, n - 1)))
    }
}
