//! Scripts are run here, all of them: each is timed, counted by what it says that it did, and complained of when it fails.

use std::{
    mem,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use foldhash::HashMap;
use intray_redis::{Applied, Args, Fault, Links, LogLimiter};
use redis::Value;
use tokio_util::task::TaskTracker;

use super::{
    keys::KeyNames,
    redis::{meter::Meter, move_marker},
    retention::Retention,
    script::{Script, Scripts},
};
use crate::job::QueueName;

/// Bytes of a key beside the prefix and the queue, at most: room is made for so many.
const MAX_KEY_SUFFIX: usize = 16;
/// So long a fault is the reason for which others wait.
const RECENT_FAULT: Duration = Duration::from_millis(2_500);
/// How often a call is run again after room was made for it: others may take it first.
const MAX_RELIEFS: u32 = 3;

/// Whatever it takes to run a script.
pub(crate) struct Runner {
    pub(crate) link: Links,
    pub(crate) keys: KeyNames,
    pub(crate) scripts: Scripts,
    pub(crate) log_limiter: LogLimiter,
    pub(crate) meter: Meter,
    pub(crate) retention: Retention,
    /// When Redis was last found to be away, and why.
    away: Mutex<Option<(Instant, Fault)>>,
    /// What was begun and is to be finished before the end.
    pub(crate) tasks: TaskTracker,
    /// How many calls of this instance have moved jobs, by queue, since its sweeper last asked.
    active: Mutex<HashMap<QueueName, u32>>,
}

impl Runner {
    pub(crate) fn new(link: Links, keys: KeyNames, scripts: Scripts) -> Self {
        Self {
            link,
            keys,
            scripts,
            log_limiter: LogLimiter::default(),
            meter: Meter::default(),
            retention: Retention::default(),
            away: Mutex::default(),
            tasks: TaskTracker::new(),
            active: Mutex::default(),
        }
    }

    pub(crate) fn keys_of(&self, script: &Script, queue: &QueueName) -> Args {
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
        script: &Script,
        queue: &QueueName,
        keys: &Args,
        items: &[&Args],
    ) -> Result<Value, Fault> {
        let mut answer = self.run_timed(script, keys, items).await;
        for _ in 0..MAX_RELIEFS {
            if !matches!(answer, Err(Fault::Full)) || !Box::pin(self.relieve(queue)).await {
                break;
            }
            answer = self.run_timed(script, keys, items).await;
        }
        answer.map(|answer| self.meter.counted(queue, answer))
    }

    /// Redis was full, and nothing was done: waits for jobs that are only kept for reading to make room. False: there are none.
    async fn relieve(&self, queue: &QueueName) -> bool {
        self.link.disk_shortage().is_none() && self.retention.relieve(self.shard(queue)).await
    }

    /// Which of the servers has a queue.
    pub(crate) fn shard(&self, queue: &QueueName) -> u16 {
        self.link.shard(&self.keys.of(queue, "jobs"))
    }

    /// How long the queue keeps what has ended, unless it says so itself.
    pub(crate) fn retention_ms(&self, queue: &QueueName) -> u64 {
        self.retention.kept_ms(self.shard(queue)).into()
    }

    /// Runs a script on whatever the keys are.
    pub(crate) async fn run_timed(&self, script: &Script, keys: &Args, items: &[&Args]) -> Result<Value, Fault> {
        let start = Instant::now();
        let answer = match self.link.run(script, keys, items).await {
            Err(fault) => Err(Box::pin(move_marker::explain(&self.link, fault, &self.keys.registry())).await),
            done => done,
        };
        self.meter.of(script.name).seconds.record(start.elapsed().as_secs_f64());
        if let Err(fault) = &answer {
            self.log_limiter.log(script_failed, script.name, fault.to_string());
            metrics::counter!("intray_script_faults_total", "script" => script.name).increment(1);
            if matches!(fault, Fault::Unavailable { .. }) {
                *self.away.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), fault.clone()));
            }
        }
        answer
    }

    /// Why Redis was away a moment ago, if it was.
    pub(crate) fn lately_away(&self) -> Option<Fault> {
        let away = self.away.lock().unwrap_or_else(PoisonError::into_inner);
        away.as_ref().filter(|(at, _)| at.elapsed() < RECENT_FAULT).map(|(_, fault)| fault.clone().with(Applied::No))
    }

    /// A plain command on what scripts keep: where a key is not what it should be, it may be that all queues are elsewhere.
    pub(crate) async fn plain(&self, command: &redis::Cmd) -> Result<Value, Fault> {
        match self.link.plain(command).await {
            Err(fault) => Err(Box::pin(move_marker::explain(&self.link, fault, &self.keys.registry())).await),
            done => done,
        }
    }

    /// Notes that a job of the queue has been moved here, or may have been.
    pub(crate) fn mark_active(&self, queue: &QueueName) {
        let mut active = self.active.lock().unwrap_or_else(PoisonError::into_inner);
        match active.get_mut(queue) {
            Some(calls) => *calls = calls.saturating_add(1),
            None => _ = active.insert(queue.clone(), 1),
        }
    }

    /// How often which queues were marked since this was last asked.
    pub(crate) fn take_active(&self) -> HashMap<QueueName, u32> {
        mem::take(&mut *self.active.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn script_failed(script: &'static str, fault: &str, times: u64) {
    tracing::warn!(script, fault, times, "a script failed");
}
