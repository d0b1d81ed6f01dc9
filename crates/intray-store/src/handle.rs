//! The handle on the store. Most methods stand in the file of their transition or view.

use std::sync::Arc;

use intray_redis::{Args, DiskShortage, Durability, Fault, Links, LogFn, LogLimiter, Servers, Timeouts};
use redis::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{
    batcher::Batcher,
    forms::Forms,
    keys::KeyNames,
    redis::hints::{Hint, HintSource, Wanted},
    registry::{Owners, Registry, store_id::StoreId},
    runner::Runner,
    scan_cursors::ScanCursors,
    script::Scripts,
    transition::{self, SweepFn, Transition},
};
use crate::{figures::QueueMetrics, job::QueueName};

/// Why a form is not read: another program has moved the queue without it, or has changed its text.
pub const FORM_LOST: &str = "the form of the queue is not the one that was set: set it again";

/// A cheap handle on every queue.
#[derive(Clone)]
pub struct Queues {
    pub(super) parts: Arc<StoreParts>,
}

/// The parts that all handles share.
pub(super) struct StoreParts {
    pub(super) runner: Arc<Runner>,
    pub(super) registry: Arc<Registry>,
    pub(super) batcher: Arc<Batcher>,
    pub(super) store_id: StoreId,
    pub(super) scan_cursors: Arc<ScanCursors>,
    pub(super) forms: Forms,
    sweep: SweepFn,
}

impl Queues {
    pub(super) fn open(
        (servers, timeouts, disk, durability): (Servers, Timeouts, Option<DiskShortage>, Durability),
        prefix: &str,
        sweep: SweepFn,
    ) -> Self {
        let (scripts, keys) = (Scripts::get(), KeyNames::new(prefix));
        let (library, log_limiter) = (scripts.for_redis(&keys.trial()), Arc::<LogLimiter>::default());
        let link = Links::new(servers, timeouts, disk, durability, library, log_limiter.clone());
        let runner = Arc::new(Runner::new(link, keys, scripts, log_limiter));
        let registry = Arc::new(Registry::new(runner.clone()));
        let batcher = Arc::new(Batcher::new(runner.clone(), registry.clone(), sweep));
        let (store_id, scan_cursors, forms) = Default::default();
        Self { parts: Arc::new(StoreParts { runner, registry, batcher, store_id, scan_cursors, forms, sweep }) }
    }

    /// Maintains the connections and logs the faults that were held back, until it is stopped.
    pub async fn maintain_redis(self, stop: CancellationToken) {
        let runner = &self.parts.runner;
        let log_limiter = runner.log_limiter.flush_until(stop.clone());
        tokio::join!(runner.link.maintain(stop.clone()), log_limiter, self.watch_store_id(stop));
    }

    /// Logs a failure that may be repeated; lines about the same are limited, and those that were held back are counted.
    pub fn log_failure(&self, log: LogFn, subject: &'static str, reason: String) {
        self.parts.runner.log_limiter.log(log, subject, reason);
    }

    /// The fault of a completion whose result cannot be checked, which is also logged.
    pub(super) fn unread_form(&self, queue: &QueueName, why: &'static str) -> Fault {
        self.log_failure(form_unread, "a form", format!("{queue}: {why}"));
        Fault::unavailable(&why)
    }

    /// Receives the hints of the wanted queues until it is stopped. It reconnects by itself.
    pub async fn listen(&self, wanted: &Wanted, hints: mpsc::UnboundedSender<Hint>, stop: CancellationToken) {
        let runner = &self.parts.runner;
        let source = HintSource { links: &runner.link, keys: &runner.keys, log_limiter: &runner.log_limiter };
        source.listen(wanted, hints, stop).await;
    }

    /// Waits for all background tasks, such as reservations that are given back.
    pub async fn close(&self) {
        self.parts.runner.tasks.close();
        self.parts.runner.tasks.wait().await;
    }

    /// Runs a transition that is not batched.
    pub(super) async fn run_alone<T: Transition>(&self, queue: &QueueName, call: &T) -> Result<T::Outcome, Fault> {
        transition::run_with_sweeps(&self.parts.runner, queue, call, self.parts.sweep).await
    }

    /// Runs a read-only script.
    pub(super) async fn run_view(&self, script: &str, queue: &QueueName, args: &Args) -> Result<Value, Fault> {
        let runner = &self.parts.runner;
        let script = runner.scripts.named(script, false);
        runner.run(script, queue, &runner.keys_of(script, queue), &[args]).await
    }

    /// The counters by queue.
    pub fn figures(&self) -> &QueueMetrics {
        &self.parts.runner.figures
    }

    /// Limits the number of queues; the last free places are kept for owners with few queues.
    pub fn bound(&self, queues: u32, owners: Arc<dyn Owners>) {
        self.parts.registry.bound(queues, owners);
    }

    /// The queues in which this instance has moved jobs since the last call, with the number of calls.
    pub fn take_active(&self) -> impl IntoIterator<Item = (QueueName, u32)> + use<> {
        self.parts.runner.notices.take_moved()
    }

    /// Records whether a queue keeps day sheets.
    pub fn note_sheets(&self, queue: &QueueName, are_kept: bool) {
        self.parts.runner.notices.sheets(queue, are_kept);
    }

    /// The queues that keep day sheets: those that this instance has swept or was asked about.
    pub fn with_sheets(&self) -> Vec<QueueName> {
        self.parts.runner.notices.with_sheets()
    }

    /// Records whether a queue has events to be deleted because they name a worker.
    pub(super) fn note_erasures(&self, queue: &QueueName, are_there: bool) {
        self.parts.runner.notices.erasures(queue, are_there);
    }

    /// The queues with such events: those that this instance has looked at.
    pub fn with_erasures(&self) -> Vec<QueueName> {
        self.parts.runner.notices.with_erasures()
    }

    /// The number of the server that holds a queue. A fault of one server affects all its queues and no others.
    pub fn shard(&self, queue: &QueueName) -> u16 {
        self.parts.runner.shard(queue)
    }

    /// How long calls wait for Redis.
    pub fn timeouts(&self) -> Timeouts {
        self.parts.runner.link.timeouts()
    }

    /// Why Redis was unavailable a moment ago, if it was: the reason to give to calls that wait meanwhile.
    pub fn lately_away(&self) -> Option<Fault> {
        self.parts.runner.lately_away()
    }

    /// Some queues may be unavailable while others are not.
    pub fn has_several_servers(&self) -> bool {
        self.parts.runner.link.is_cluster()
    }

    /// The server of the queue, one of several, is known to be unavailable.
    pub fn is_lost(&self, queue: &QueueName) -> bool {
        let runner = &self.parts.runner;
        runner.link.is_cluster() && runner.link.is_lost(&runner.keys.of(queue, "jobs"))
    }

    /// Whether the queue exists.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn exists(&self, queue: &QueueName) -> Result<bool, Fault> {
        self.parts.registry.has(queue).await
    }

    /// Whether anything was ever put into the queue, so that no call makes it.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn is_made(&self, queue: &QueueName) -> Result<bool, Fault> {
        self.parts.registry.has_keys(queue).await
    }

    /// Every queue, by name.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn names(&self) -> Result<Vec<QueueName>, Fault> {
        self.parts.registry.names().await
    }

    /// The queues that this instance has used recently.
    pub fn in_use(&self) -> Vec<QueueName> {
        self.parts.registry.in_use()
    }

    /// Every queue. Queues in use here that the registry has lost are registered again, if they have keys.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn names_and_ours(&self) -> Result<Vec<QueueName>, Fault> {
        let registry = &self.parts.registry;
        let mut names = registry.names().await?;
        let lost = registry.lost(&names).await;
        if !lost.is_empty() {
            registry.reregister(&lost).await?;
            names.extend(lost);
            names.sort();
        }
        Ok(names)
    }
}

fn form_unread(_: &'static str, why: &str, times: u64) {
    tracing::error!(why, times, "the results of a queue cannot be checked");
}
