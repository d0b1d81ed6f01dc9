//! How long ended jobs are kept in queues that have no `retention_ms` of their own: the default while there is memory, and less
//! at a server that is short of it, so that what is only kept for reading never causes a refusal.

use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::sync::{Notify, watch};

use crate::job::{
    limits::{MEMORY_ENOUGH, MEMORY_SHORT, SHORT_RETENTION_MS},
    settings::DEFAULT,
};

/// How long a call waits at a full server until the sweep has made room.
const MAX_WAIT_FOR_ROOM: Duration = Duration::from_secs(1);
/// A server at which nothing could be forgotten is not swept for a full call again so soon.
const FUTILE_FOR: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(crate) struct Retention {
    /// By shard. One that is not here has memory enough, as far as is known.
    servers: Mutex<Vec<ShardMemory>>,
    /// A call met a full server.
    wanted: Notify,
    waiting: AtomicUsize,
    /// Rounds of the sweep that are over.
    rounds: watch::Sender<u64>,
}

/// What is known of the memory of one server.
#[derive(Debug, Clone, Default)]
struct ShardMemory {
    /// In use, of what may be; `None`: there is no limit, or it is not known.
    ratio: Option<f64>,
    /// The age beyond which jobs are forgotten, while memory is short.
    kept_ms: Option<u32>,
    /// Rounds of the sweep that have forgotten something here.
    relieved: u64,
    /// When a round found nothing more that may be forgotten.
    futile: Option<Instant>,
}

/// The state of a server has changed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum MemoryChange {
    Short,
    Enough,
}

impl Retention {
    fn servers(&self) -> MutexGuard<'_, Vec<ShardMemory>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How long a queue of that shard keeps what has ended, if it does not say so itself.
    pub(crate) fn kept_ms(&self, shard: u16) -> u32 {
        let kept = self.servers().get(usize::from(shard)).and_then(|memory| memory.kept_ms);
        kept.unwrap_or(DEFAULT.retention_ms)
    }

    /// The least of all shards, and the largest part of a server's memory that is in use.
    pub(crate) fn worst(&self) -> (u32, Option<f64>) {
        let servers = self.servers();
        let kept = servers.iter().filter_map(|memory| memory.kept_ms).min();
        (kept.unwrap_or(DEFAULT.retention_ms), servers.iter().filter_map(|memory| memory.ratio).reduce(f64::max))
    }

    pub(crate) fn is_short(&self) -> bool {
        self.servers().iter().any(|memory| memory.kept_ms.is_some())
    }

    /// Notes what each server uses, by shard.
    pub(crate) fn note(&self, ratios: &[Option<f64>]) -> Vec<(usize, MemoryChange)> {
        let mut servers = self.servers();
        servers.resize_with(ratios.len(), ShardMemory::default);
        let changes = servers.iter_mut().zip(ratios).enumerate().filter_map(|(shard, (memory, ratio))| {
            memory.ratio = *ratio;
            let change = match (memory.kept_ms, ratio.unwrap_or(0.0)) {
                (None, ratio) if ratio >= MEMORY_SHORT => MemoryChange::Short,
                (Some(_), ratio) if ratio < MEMORY_ENOUGH => MemoryChange::Enough,
                _ => return None,
            };
            memory.kept_ms = (change == MemoryChange::Short).then_some(DEFAULT.retention_ms);
            Some((shard, change))
        });
        changes.collect()
    }

    /// A round of the sweep is over, which found jobs to forget in these shards. In the others that are short of memory all
    /// that is older is gone: half the age is the limit now, so that the oldest jobs of all queues go first. Answers those.
    /// `was_wanted`: when it began, calls were waiting for it.
    pub(crate) fn end_round(&self, was_wanted: bool, forgot_in: impl Fn(u16) -> bool) -> Vec<u16> {
        let mut tightened = Vec::new();
        for (shard, memory) in (0..).zip(self.servers().iter_mut()) {
            match memory.kept_ms {
                _ if forgot_in(shard) => {
                    memory.relieved += 1;
                    memory.futile = None;
                }
                Some(kept) if kept > SHORT_RETENTION_MS => {
                    memory.kept_ms = Some((kept / 2).max(SHORT_RETENTION_MS));
                    tightened.push(shard);
                }
                Some(_) => memory.futile = Some(Instant::now()),
                None if was_wanted => memory.futile = Some(Instant::now()),
                None => {}
            }
        }
        self.rounds.send_modify(|rounds| *rounds += 1);
        tightened
    }

    /// Resolves when a call has met a full server.
    pub(crate) async fn wanted(&self) {
        self.wanted.notified().await;
    }

    /// Calls wait for a round of the sweep.
    pub(crate) fn is_wanted(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// For a call that met a full server: waits until the sweep has made room. False: it could not.
    pub(crate) async fn relieve(&self, shard: u16) -> bool {
        let begin = self.relieved(shard);
        let Some(begin) = begin else { return false };
        let mut rounds = self.rounds.subscribe();
        let _waiting = WaitingCall::new(&self.waiting);
        self.wanted.notify_one();
        let relieved = async {
            while rounds.changed().await.is_ok() {
                match self.relieved(shard) {
                    Some(now) if now == begin => {}
                    now => return now.is_some(),
                }
            }
            false
        };
        tokio::time::timeout(MAX_WAIT_FOR_ROOM, relieved).await.unwrap_or(false)
    }

    /// How often there was something to forget; `None`: there is nothing.
    fn relieved(&self, shard: u16) -> Option<u64> {
        let servers = self.servers();
        let Some(memory) = servers.get(usize::from(shard)) else { return Some(0) };
        let is_futile = memory.futile.is_some_and(|at| at.elapsed() < FUTILE_FOR);
        (!is_futile).then_some(memory.relieved)
    }
}

/// Counts a call as long as it waits.
struct WaitingCall<'w>(&'w AtomicUsize);

impl<'w> WaitingCall<'w> {
    fn new(calls: &'w AtomicUsize) -> Self {
        calls.fetch_add(1, Ordering::Relaxed);
        Self(calls)
    }
}

impl Drop for WaitingCall<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
