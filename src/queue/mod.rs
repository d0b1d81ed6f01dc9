//! The store: a cheap handle with one method per transition. It speaks Redis and no HTTP.
//!
//! An outcome is not an error: each method answers with what became of the job, and [`Fault`] is left for a machine that
//! is broken. Each transition has a file here and its twin in `lua/`.

mod lanes;
mod layout;
mod meter;
mod redis;
mod script;
#[cfg(test)]
mod tests;
mod transitions;
mod views;

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, atomic::AtomicU32},
    time::Instant,
};

use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use layout::{
    batch::Batch,
    health::Check,
    migrate::{Adopted, LayoutError},
    settings::{Settings, SettingsPatch},
    task::{Delay, Task},
};
pub use redis::{
    hints::{Hint, Wanted},
    link::Room,
};
pub use transitions::{
    answer::Sight,
    batch::{Appended, BatchCancellation, BatchCreation, BatchPage, MemberResult, NewBatch, NewMember, ResultPage},
    enqueue::{Dedupe, Enqueued, NewJob},
    operate::{Cancellation, Meant, Progress, Purge, Purged, Release, Released, Reprioritized, Requeue, Requeued},
    reserve::{Handout, Reserve, ReserveOutcome},
    settle::{Abandon, Complete, Completion, Extend, Extension, Fail, Lost, Return},
    sweep::Swept,
    undo::Undo,
};
pub use views::{
    ended::{AbandonReason, Completed},
    events::{Event, Passage, Place, Subject},
    inspect::{Counts, Cursor, Held, HeldPage, Job, JobError, JobFilter, JobPage, LateResult},
    locks::{HeldLock, LockPage},
    stats::{QueueInfo, QueuePage, StateCounts, Totals},
};

pub use crate::job::Reason;
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

pub(crate) struct Inner {
    link: redis::link::Link,
    hints: redis::hints::Source,
    scripts: script::Scripts,
    keys: redis::keys::Keys,
    epoch: layout::epoch::Epoch,
    lanes: lanes::Lanes,
    complaints: redis::complaints::Complaints,
    /// When this instance last told the registry of a queue.
    registered: Mutex<HashMap<QueueName, Instant>>,
    known: layout::registry::Known,
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
    pub fn new(url: &str, prefix: &str) -> Result<Self, ::redis::RedisError> {
        Self::with_room(url, prefix, None)
    }

    /// The same on a private server, of which is known what room it has on its disk. An answer waits until its append to
    /// the file is known to be whole.
    ///
    /// # Errors
    /// When the URL is not one.
    pub fn with_room(url: &str, prefix: &str, room: Option<Room>) -> Result<Self, ::redis::RedisError> {
        let inner = Inner {
            link: redis::link::Link::new(url, room)?,
            hints: redis::hints::Source::new(url)?,
            scripts: script::Scripts::load(),
            keys: redis::keys::Keys::new(prefix),
            epoch: layout::epoch::Epoch::default(),
            lanes: lanes::Lanes::default(),
            complaints: redis::complaints::Complaints::default(),
            registered: Mutex::default(),
            known: layout::registry::Known::default(),
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
        args: &redis::args::Args,
    ) -> Result<::redis::Value, Fault> {
        let keys = self.inner.keys_of(script, queue);
        lanes::run(&self.inner, script, queue, &keys, args).await
    }
}
