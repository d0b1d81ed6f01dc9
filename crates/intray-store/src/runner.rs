//! Runs all scripts: measures each, counts the transitions that its reply reports, and logs faults.

use std::{
    collections::BTreeSet,
    mem,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use foldhash::HashMap;
use intray_redis::{Applied, Args, Fault, Links, LogLimiter};
use parking_lot::Mutex;
use redis::Value;
use tokio_util::task::TaskTracker;

use super::{
    keys::{self, KeyNames},
    redis::{counts, move_marker},
    retention::Retention,
    script::{Scripts, StoreScript},
};
use crate::{figures::QueueMetrics, job::QueueName};

/// Capacity for the bytes of a key after the prefix and the queue.
const MAX_KEY_SUFFIX: usize = 16;
/// How often a call is retried after memory was freed: other calls may take that memory first.
const MAX_RELIEFS: u32 = 3;
/// Why scripts are not run yet.
pub(crate) const NOT_CHECKED: &str = "it has not answered since the start";

/// What it takes to run a script.
pub(crate) struct Runner {
    pub(crate) link: Links,
    pub(crate) keys: KeyNames,
    pub(crate) scripts: &'static Scripts,
    pub(crate) log_limiter: Arc<LogLimiter>,
    pub(crate) figures: QueueMetrics,
    pub(crate) retention: Retention,
    /// The last time that Redis was unavailable, and why.
    away: Mutex<Option<(Instant, Fault)>>,
    /// Tasks that must finish before the program ends.
    pub(crate) tasks: TaskTracker,
    /// How many calls of this instance have moved jobs, by queue, since the sweeper last asked.
    active: Mutex<HashMap<QueueName, u32>>,
    /// The queues that keep day sheets, as far as this instance knows.
    with_sheets: Mutex<BTreeSet<QueueName>>,
    /// No script on a queue is run before the store has been checked.
    is_held: AtomicBool,
}

impl Runner {
    pub(crate) fn new(link: Links, keys: KeyNames, scripts: &'static Scripts, log_limiter: Arc<LogLimiter>) -> Self {
        Self {
            link,
            keys,
            scripts,
            log_limiter,
            figures: QueueMetrics::default(),
            retention: Retention::default(),
            away: Mutex::default(),
            tasks: TaskTracker::new(),
            active: Mutex::default(),
            with_sheets: Mutex::default(),
            is_held: AtomicBool::new(false),
        }
    }

    pub(crate) fn keys_of(&self, script: &StoreScript, queue: &QueueName) -> Args {
        let (count, length) = (script.keys.len(), self.keys.prefix().len() + queue.as_str().len() + MAX_KEY_SUFFIX);
        let mut keys = Args::with_room(count, count * length);
        for key in &script.keys {
            keys.join(&self.keys.parts(queue, key));
        }
        keys
    }

    /// Runs a script on a queue, for one item or several.
    pub(crate) async fn run(
        &self,
        script: &StoreScript,
        queue: &QueueName,
        keys: &Args,
        items: &[&Args],
    ) -> Result<Value, Fault> {
        let mut answer = self.run_timed(script, keys, items).await;
        for _ in 0..MAX_RELIEFS {
            if !matches!(answer, Err(Fault::Full(_))) || !Box::pin(self.relieve(queue)).await {
                break;
            }
            answer = self.run_timed(script, keys, items).await;
        }
        answer.map(|answer| counts::counted(answer, |transition, n| self.figures.count(queue.as_str(), transition, n)))
    }

    /// Redis was full and did nothing: waits until the sweep has removed ended jobs. False: there are none to remove.
    async fn relieve(&self, queue: &QueueName) -> bool {
        self.link.disk_shortage().is_none() && self.retention.relieve(self.shard(queue)).await
    }

    /// The number of the server that holds a queue.
    pub(crate) fn shard(&self, queue: &QueueName) -> u16 {
        self.link.shard(&self.keys.of(queue, "jobs"))
    }

    /// How long the queue keeps ended jobs if it has no setting of its own.
    pub(crate) fn retention_ms(&self, queue: &QueueName) -> u64 {
        self.retention.kept_ms(self.shard(queue)).into()
    }

    /// Runs a script on these keys, and records its duration and its fault.
    pub(crate) async fn run_timed(&self, script: &StoreScript, keys: &Args, items: &[&Args]) -> Result<Value, Fault> {
        let start = Instant::now();
        let run = async {
            if self.is_held() && script.name != keys::WEBHOOKS {
                return Err(Fault::unavailable(&NOT_CHECKED));
            }
            self.link.run(script, keys, items).await
        };
        let answer = match run.await {
            Err(fault) => Err(Box::pin(move_marker::explain(&self.link, fault, &self.keys.registry())).await),
            done => done,
        };
        script.metrics().duration.observe(start.elapsed().as_secs_f64());
        if let Err(fault) = &answer {
            self.log_limiter.log(script_failed, script.name, fault.to_string());
            intray_metrics::SCRIPT_FAULTS_TOTAL.of(&[script.name]).inc();
            if matches!(fault, Fault::Unavailable { .. }) {
                *self.away.lock() = Some((Instant::now(), fault.clone()));
            }
        }
        answer
    }

    pub(crate) fn is_held(&self) -> bool {
        self.is_held.load(Ordering::Relaxed)
    }

    pub(crate) fn hold(&self, is_held: bool) {
        self.is_held.store(is_held, Ordering::Relaxed);
    }

    /// Why Redis was unavailable a moment ago, if it was.
    pub(crate) fn lately_away(&self) -> Option<Fault> {
        let (away, recent) = (self.away.lock(), self.link.timeouts().recent_fault());
        away.as_ref().filter(|(at, _)| at.elapsed() < recent).map(|(_, fault)| fault.clone().with(Applied::No))
    }

    /// A plain command on a key that scripts write. A key of the wrong type can mean that the queues have moved elsewhere.
    pub(crate) async fn plain(&self, command: &redis::Cmd) -> Result<Value, Fault> {
        match self.link.plain(command).await {
            Err(fault) => Err(Box::pin(move_marker::explain(&self.link, fault, &self.keys.registry())).await),
            done => done,
        }
    }

    /// Records that this instance has moved a job of the queue, or may have.
    pub(crate) fn mark_active(&self, queue: &QueueName) {
        let mut active = self.active.lock();
        match active.get_mut(queue) {
            Some(calls) => *calls = calls.saturating_add(1),
            None => _ = active.insert(queue.clone(), 1),
        }
    }

    /// Records whether the queue keeps day sheets.
    pub(crate) fn note_sheets(&self, queue: &QueueName, are_kept: bool) {
        let mut known = self.with_sheets.lock();
        if !are_kept {
            known.remove(queue);
        } else if !known.contains(queue) {
            known.insert(queue.clone());
        }
    }

    pub(crate) fn with_sheets(&self) -> Vec<QueueName> {
        self.with_sheets.lock().iter().cloned().collect()
    }

    /// Takes the marks since the last call.
    pub(crate) fn take_active(&self) -> HashMap<QueueName, u32> {
        mem::take(&mut *self.active.lock())
    }
}

fn script_failed(script: &'static str, fault: &str, times: u64) {
    tracing::warn!(script, fault, times, "a script failed");
}
