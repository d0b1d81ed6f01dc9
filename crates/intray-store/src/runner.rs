//! Runs all scripts: measures each, counts the transitions that its reply reports, and logs faults.

use std::{sync::Arc, time::Instant};

use intray_redis::{Args, Fault, Links, LogLimiter};
use redis::Value;
use tokio_util::task::TaskTracker;

use super::{
    availability::{Availability, NOT_CHECKED},
    keys::{self, KeyNames},
    notices::Notices,
    redis::{counts, move_marker},
    retention::Retention,
    script::{Scripts, StoreScript},
};
use crate::{figures::QueueMetrics, job::QueueName};

/// Capacity for the bytes of a key after the prefix and the queue.
const MAX_KEY_SUFFIX: usize = 16;
/// How often a call is retried after memory was freed: other calls may take that memory first.
const MAX_RELIEFS: u32 = 3;

/// What it takes to run a script.
pub(crate) struct Runner {
    pub(crate) link: Links,
    pub(crate) keys: KeyNames,
    pub(crate) scripts: &'static Scripts,
    pub(crate) log_limiter: Arc<LogLimiter>,
    pub(crate) figures: QueueMetrics,
    pub(crate) retention: Retention,
    pub(crate) availability: Availability,
    pub(crate) notices: Notices,
    /// Tasks that must finish before the program ends.
    pub(crate) tasks: TaskTracker,
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
            availability: Availability::default(),
            notices: Notices::default(),
            tasks: TaskTracker::new(),
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
            if self.availability.is_held() && script.name != keys::WEBHOOKS {
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
            self.availability.note(fault);
        }
        answer
    }

    /// Why Redis was unavailable a moment ago, if it was.
    pub(crate) fn lately_away(&self) -> Option<Fault> {
        self.availability.lately_away(self.link.timeouts().recent_fault())
    }

    /// A plain command on a key that scripts write. A key of the wrong type can mean that the queues have moved elsewhere.
    pub(crate) async fn plain(&self, command: &redis::Cmd) -> Result<Value, Fault> {
        match self.link.plain(command).await {
            Err(fault) => Err(Box::pin(move_marker::explain(&self.link, fault, &self.keys.registry())).await),
            done => done,
        }
    }
}

fn script_failed(script: &'static str, fault: &str, times: u64) {
    tracing::warn!(script, fault, times, "a script failed");
}
