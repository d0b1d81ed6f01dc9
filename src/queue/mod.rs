//! The store: a cheap handle with one method per transition. It speaks Redis and no HTTP.
//!
//! An outcome is not an error: each method answers with what became of the job, and [`Fault`] is left for a machine that
//! is broken. Each transition has a file here and its twin in `lua/`.

mod answer;
mod args;
mod batch;
mod complaints;
mod connection;
mod ended;
mod enqueue;
mod epoch;
mod events;
mod group;
mod health;
mod hints;
mod inspect;
mod keys;
mod libraries;
mod locks;
mod meter;
mod migrate;
mod operate;
mod read;
mod record;
mod registry;
mod reserve;
mod rights;
mod script;
mod settings;
mod settle;
mod stats;
mod sweep;
mod task;
#[cfg(test)]
mod tests;
mod undo;

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, atomic::AtomicU32},
    time::Instant,
};

use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use answer::Sight;
pub use batch::{
    Appended, Batch, BatchCancellation, BatchCreation, BatchPage, MemberResult, NewBatch, NewMember, ResultPage,
};
pub use connection::Room;
pub use ended::{AbandonReason, Completed};
pub use enqueue::{Dedupe, Enqueued, NewJob};
pub use events::{Event, KINDS, Passage, Place, Subject};
pub use health::Check;
pub use hints::{Hint, Wanted};
pub use inspect::{Counts, Cursor, Held, HeldPage, Job, JobError, JobFilter, JobPage, LateResult};
pub use locks::{HeldLock, LockPage};
pub use migrate::{Adopted, LayoutError};
pub use operate::{Cancellation, Meant, Progress, Purge, Purged, Release, Released, Reprioritized, Requeue, Requeued};
pub use reserve::{Handout, Reason, Reserve, ReserveOutcome};
pub use settings::{Settings, SettingsPatch};
pub use settle::{Abandon, Complete, Completion, Extend, Extension, Fail, Lost, Return};
pub use stats::{QueueInfo, QueuePage, StateCounts, Totals};
pub use sweep::Swept;
pub use task::{Delay, Task};
pub use undo::Undo;

pub use crate::job::ids::{Nonce, derived_batch, derived_id, random_batch, random_id};
use crate::job::{QueueName, chance, ids};

/// The machine is broken; the domain has nothing to do with it.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Fault {
    /// Redis is away, slow, loading or read-only.
    #[error("Redis is not available: {why}")]
    Unavailable { applied: Applied, why: String },
    /// Redis is at `maxmemory`, or its disk is nearly full; nothing was stored.
    #[error("Redis is full")]
    Full,
    /// Redis answered something that this program does not understand.
    #[error("unexpected answer from Redis: {0}")]
    Broken(String),
}

/// Why Redis is not available when its disk is full or broken.
pub const UNWRITABLE: &str = "it cannot write to its disk";

/// Whether a call that failed had an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applied {
    No,
    Unknown,
}

/// A cheap handle on every queue.
#[derive(Clone)]
pub struct Queues {
    inner: Arc<Inner>,
}

struct Inner {
    link: connection::Link,
    hints: hints::Source,
    scripts: script::Scripts,
    keys: keys::Keys,
    epoch: epoch::Epoch,
    lanes: group::Lanes,
    complaints: complaints::Complaints,
    /// When this instance last told the registry of a queue.
    registered: Mutex<HashMap<QueueName, Instant>>,
    known: registry::Known,
    /// How many queues there may be; 0 = however many.
    most_queues: AtomicU32,
    /// Queues that this instance has moved a job of since its sweeper last looked.
    stirred: Mutex<HashSet<QueueName>>,
    tasks: TaskTracker,
}

impl Inner {
    fn keys_of(&self, script: &script::Script, queue: &QueueName) -> Vec<String> {
        script.keys.iter().map(|key| self.keys.of(queue, key)).collect()
    }
}

impl Queues {
    /// A handle on the queues behind a Redis URL (`redis://…` or `unix://…`), under a key prefix. It connects when it is used.
    ///
    /// # Errors
    /// When the URL is not one.
    pub fn new(url: &str, prefix: &str) -> Result<Self, redis::RedisError> {
        Self::with_room(url, prefix, None)
    }

    /// The same on a private server, of which is known what room it has on its disk. An answer waits until its append to
    /// the file is known to be whole.
    ///
    /// # Errors
    /// When the URL is not one.
    pub fn with_room(url: &str, prefix: &str, room: Option<Room>) -> Result<Self, redis::RedisError> {
        let (scripts, keys) = (script::Scripts::load(), keys::Keys::new(prefix));
        let inner = Inner {
            link: connection::Link::new(url, room, &scripts, &keys.trial())?,
            hints: hints::Source::new(url)?,
            scripts,
            keys,
            epoch: epoch::Epoch::default(),
            lanes: group::Lanes::default(),
            complaints: complaints::Complaints::default(),
            registered: Mutex::default(),
            known: registry::Known::default(),
            most_queues: AtomicU32::new(0),
            stirred: Mutex::default(),
            tasks: TaskTracker::new(),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Looks after the connections and what is behind them, and says what is left to say of those that failed, until it is
    /// stopped.
    pub async fn mind_redis(self, stop: CancellationToken) {
        let complaints = self.inner.complaints.follow_up(stop.clone());
        tokio::join!(self.inner.link.mind(stop.clone()), complaints, self.mind_epoch(stop));
    }

    /// Waits until everything that was begun is finished, reservations given back included.
    pub async fn close(&self) {
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
    }

    /// Runs a script that is not grouped.
    async fn run(
        &self,
        script: &script::Script,
        queue: &QueueName,
        args: &connection::Args,
    ) -> Result<redis::Value, Fault> {
        let keys = self.inner.keys_of(script, queue);
        group::run(&self.inner, script, queue, &keys, args).await
    }
}
