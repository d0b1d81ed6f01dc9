//! How long queues without a `retention_ms` of their own keep ended jobs: the default while there is memory, and less on a
//! server that is short of it, so that history never causes a refusal.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

use crate::job::{
    limits::{MEMORY_ENOUGH, MEMORY_SHORT, SHORT_RETENTION_MS},
    settings::DEFAULT,
};

/// How long a call waits at a full server until the sweep has made room.
const MAX_WAIT_FOR_ROOM: Duration = Duration::from_secs(1);
/// How long a server without removable jobs is not swept again for a refused call.
const FUTILE_FOR: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(crate) struct Retention {
    /// By shard. A shard without an entry has enough memory.
    servers: Mutex<Vec<ShardMemory>>,
    /// A call was refused by a full server.
    wanted: Notify,
    /// The number of finished sweep rounds; each waiting call is a receiver.
    rounds: watch::Sender<u64>,
}

/// The memory of one server.
#[derive(Debug, Clone, Default)]
struct ShardMemory {
    /// Used memory divided by `maxmemory`; `None`: no limit, or unknown.
    ratio: Option<f64>,
    /// The age at which ended jobs are removed while memory is short.
    kept_ms: Option<u32>,
    /// Sweep rounds that have removed jobs here.
    relieved: u64,
    /// When a round last found nothing to remove.
    futile: Option<Instant>,
}

/// A change in the memory of a server.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum MemoryChange {
    Short,
    Enough,
}

impl Retention {
    /// How long a queue of that shard keeps ended jobs without a setting of its own.
    pub(crate) fn kept_ms(&self, shard: u16) -> u32 {
        let kept = self.servers.lock().get(usize::from(shard)).and_then(|memory| memory.kept_ms);
        kept.unwrap_or(DEFAULT.retention_ms)
    }

    /// The shortest retention, and the fullest server's ratio of memory in use.
    pub(crate) fn worst(&self) -> (u32, Option<f64>) {
        let servers = self.servers.lock();
        let kept = servers.iter().filter_map(|memory| memory.kept_ms).min();
        (kept.unwrap_or(DEFAULT.retention_ms), servers.iter().filter_map(|memory| memory.ratio).reduce(f64::max))
    }

    pub(crate) fn is_short(&self) -> bool {
        self.servers.lock().iter().any(|memory| memory.kept_ms.is_some())
    }

    /// Records the memory ratio of each server, by shard.
    pub(crate) fn note(&self, ratios: &[Option<f64>]) -> Vec<(usize, MemoryChange)> {
        let mut servers = self.servers.lock();
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

    /// Ends a sweep round that removed jobs in the shards of `forgot_in`. Any other shard that is short of memory has no older
    /// jobs left, so its retention is halved: the oldest jobs of all queues go first. Returns the shards that were halved.
    /// `was_wanted`: calls were waiting when the round began.
    pub(crate) fn end_round(&self, was_wanted: bool, forgot_in: impl Fn(u16) -> bool) -> Vec<u16> {
        let mut tightened = Vec::new();
        for (shard, memory) in (0..).zip(self.servers.lock().iter_mut()) {
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

    /// Resolves when a full server has refused a call.
    pub(crate) async fn wanted(&self) {
        self.wanted.notified().await;
    }

    /// Whether calls wait for a sweep round.
    pub(crate) fn is_wanted(&self) -> bool {
        self.rounds.receiver_count() > 0
    }

    /// Waits until the sweep has freed memory for a refused call. False: there was nothing to remove, or no time.
    pub(crate) async fn relieve(&self, shard: u16) -> bool {
        let begin = self.relieved(shard);
        let Some(begin) = begin else { return false };
        let mut rounds = self.rounds.subscribe();
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

    /// The number of rounds that freed memory; `None`: there was nothing to remove a moment ago.
    fn relieved(&self, shard: u16) -> Option<u64> {
        let servers = self.servers.lock();
        let Some(memory) = servers.get(usize::from(shard)) else { return Some(0) };
        let is_futile = memory.futile.is_some_and(|at| at.elapsed() < FUTILE_FOR);
        (!is_futile).then_some(memory.relieved)
    }
}
