//! The handle that everybody has: its methods are beside the transitions and views that they are.

use std::sync::Arc;

use intray_redis::{Args, DiskShortage, Durability, Fault, Links, Servers};
use redis::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{
    batcher::{Batcher, SweepFn},
    keys::KeyNames,
    redis::hints::{Hint, Source, Wanted},
    registry::{Owners, Registry, store_id::StoreId},
    runner::Runner,
    script::Scripts,
    transition::{self, Transition},
};
use crate::{figures::QueueMetrics, job::QueueName};

/// A cheap handle on every queue.
#[derive(Clone)]
pub struct Queues {
    pub(super) parts: Arc<StoreParts>,
}

/// What the handle is a handle on.
pub(super) struct StoreParts {
    pub(super) runner: Arc<Runner>,
    pub(super) registry: Arc<Registry>,
    pub(super) batcher: Arc<Batcher>,
    pub(super) store_id: StoreId,
}

impl Queues {
    pub(super) fn open(
        (servers, disk, durability): (Servers, Option<DiskShortage>, Durability),
        prefix: &str,
        sweep: SweepFn,
    ) -> Self {
        let (scripts, keys) = (Scripts::load(), KeyNames::new(prefix));
        let link = Links::new(servers, disk, durability, scripts.for_redis(&keys.trial()));
        let runner = Arc::new(Runner::new(link, keys, scripts));
        let registry = Arc::new(Registry::new(runner.clone()));
        let batcher = Arc::new(Batcher::new(runner.clone(), registry.clone(), sweep));
        let store_id = StoreId::default();
        Self { parts: Arc::new(StoreParts { runner, registry, batcher, store_id }) }
    }

    /// Looks after the connections and what is behind them, and says what is left to say of those that failed, until it is
    /// stopped.
    pub async fn maintain_redis(self, stop: CancellationToken) {
        let runner = &self.parts.runner;
        let log_limiter = runner.log_limiter.flush_until(stop.clone());
        tokio::join!(runner.link.maintain(stop.clone()), log_limiter, self.mind_epoch(stop));
    }

    /// Hears the hints of the wanted queues until it is stopped, whatever becomes of its connection.
    pub async fn listen(&self, wanted: &Wanted, hints: mpsc::UnboundedSender<Hint>, stop: CancellationToken) {
        let runner = &self.parts.runner;
        let source = Source { links: &runner.link, keys: &runner.keys, log_limiter: &runner.log_limiter };
        source.listen(wanted, hints, stop).await;
    }

    /// Waits until everything that was begun is finished, reservations given back included.
    pub async fn close(&self) {
        self.parts.runner.tasks.close();
        self.parts.runner.tasks.wait().await;
    }

    /// A transition that goes alone.
    pub(super) async fn run_alone<T: Transition>(&self, queue: &QueueName, call: &T) -> Result<T::Outcome, Fault> {
        transition::run(&self.parts.runner, queue, call).await
    }

    /// A script that changes nothing.
    pub(super) async fn run_view(&self, script: &str, queue: &QueueName, args: &Args) -> Result<Value, Fault> {
        let runner = &self.parts.runner;
        let script = runner.scripts.named(script, false);
        runner.run(script, queue, &runner.keys_of(script, queue), &[args]).await
    }

    /// What is counted by queue.
    pub fn figures(&self) -> &QueueMetrics {
        &self.parts.runner.meter.queues
    }

    /// From now on no call brings more queues than this into being, and the last of them are kept for owners of few.
    pub fn bound(&self, queues: u32, owners: Arc<dyn Owners>) {
        self.parts.registry.bound(queues, owners);
    }

    /// The queues that this instance has moved jobs of since it was last asked.
    pub fn take_active(&self) -> impl IntoIterator<Item = (QueueName, u32)> + use<> {
        self.parts.runner.take_active()
    }

    /// Which of the servers has a queue: what is wrong with one of its queues may be with the others, and with no more.
    pub fn shard(&self, queue: &QueueName) -> u16 {
        self.parts.runner.shard(queue)
    }

    /// Why Redis was away a moment ago, if it was: what waits behind such calls waits for that.
    pub fn lately_away(&self) -> Option<Fault> {
        self.parts.runner.lately_away()
    }

    /// Some of the queues may be away while others are not.
    pub fn has_several_servers(&self) -> bool {
        self.parts.runner.link.is_cluster()
    }

    /// The one server of several that has a queue is known to be away.
    pub fn is_lost(&self, queue: &QueueName) -> bool {
        let runner = &self.parts.runner;
        runner.link.is_cluster() && runner.link.is_lost(&runner.keys.of(queue, "jobs"))
    }

    /// Whether there is such a queue.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn exists(&self, queue: &QueueName) -> Result<bool, Fault> {
        self.parts.registry.has(queue).await
    }

    /// Every queue, by name.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn names(&self) -> Result<Vec<QueueName>, Fault> {
        self.parts.registry.names().await
    }

    /// Every queue, and those in use here that the registry has lost: it is told of them again.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn names_and_ours(&self) -> Result<Vec<QueueName>, Fault> {
        let registry = &self.parts.registry;
        let (mut names, mut ours) = (registry.names().await?, registry.in_use());
        ours.retain(|queue| names.binary_search(queue).is_err());
        if !ours.is_empty() {
            registry.tell_anew(&ours).await?;
            names.extend(ours);
            names.sort();
        }
        Ok(names)
    }
}
