//! The registry knows which queues there are. It is told before the first key of a queue is written, and each minute of
//! those in use; reading never brings a queue into being.

mod limit;
pub(crate) mod store_id;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use intray_redis::{Applied, Args, Fault};
use redis::Value;

use crate::{
    job::QueueName,
    store::{
        redis::{
            move_marker,
            read::{Fields, word},
        },
        runner::Runner,
    },
};

use self::limit::OwnerCounts;
pub use self::limit::Owners;

const TELL_AGAIN: Duration = Duration::from_secs(60);
/// Queues in one script.
const TOLD_AT_ONCE: usize = 200;
/// How long a queue is taken to be there once it was: the keys of one that went are found empty, and that is all.
const KNOWN_FOR: Duration = Duration::from_secs(60);
/// Beyond so many the older ones are asked about again.
const MOST_KNOWN: usize = 10_000;

/// What this instance has told the registry, and what it knows from it.
pub(crate) struct Registry {
    runner: Arc<Runner>,
    /// When the registry was last told of a queue.
    registered: Mutex<HashMap<QueueName, Instant>>,
    /// Queues that were there. Those that were not are never remembered: the next moment they may be.
    known: Mutex<HashMap<QueueName, Instant>>,
    /// All there were when the registry was last asked, which is kept for when its node is away.
    listed: Mutex<Option<Vec<QueueName>>>,
    /// How many queues there may be; 0 = however many.
    most: AtomicU32,
    /// Whose queues are whose.
    owners: OnceLock<Arc<dyn Owners>>,
    counted: Mutex<Option<OwnerCounts>>,
}

impl Registry {
    pub(crate) fn new(runner: Arc<Runner>) -> Self {
        let (registered, known, listed, counted) = Default::default();
        Self { runner, registered, known, listed, most: AtomicU32::new(0), owners: OnceLock::new(), counted }
    }

    fn listed(&self) -> MutexGuard<'_, Option<Vec<QueueName>>> {
        self.listed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn registered(&self) -> MutexGuard<'_, HashMap<QueueName, Instant>> {
        self.registered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self) -> MutexGuard<'_, HashMap<QueueName, Instant>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on no call brings more queues than this into being, and the last of them are kept for owners of few.
    pub(crate) fn bound(&self, queues: u32, owners: Arc<dyn Owners>) {
        self.most.store(queues, Ordering::Relaxed);
        drop(self.owners.set(owners));
    }

    /// Sees to it that the registry knows a queue that is about to be used. False: there are as many as may be.
    pub(crate) async fn register(&self, queue: &QueueName) -> Result<bool, Fault> {
        if self.is_registered(queue) {
            return Ok(true);
        }
        // What is rare lies apart, lest every call is as large.
        Box::pin(self.tell_of(queue)).await
    }

    async fn tell_of(&self, queue: &QueueName) -> Result<bool, Fault> {
        let told = match self.tell_if_there_is_room(queue).await {
            Err(fault) if self.may_go_without(&fault) => {
                // It was told of it before, or is told when it is back.
                let is_known = self.registered().contains_key(queue) || self.has_keys(queue).await?;
                return if is_known { Ok(true) } else { Err(fault) };
            }
            told => told?,
        };
        if told {
            self.registered().insert(queue.clone(), Instant::now());
        }
        Ok(told)
    }

    async fn tell_if_there(&self, queues: &[QueueName], most: u32) -> Result<bool, Fault> {
        self.if_there()?;
        self.tell(queues, most).await
    }

    /// On a cluster the queues of the other nodes go on while the node of the registry is away.
    fn may_go_without(&self, fault: &Fault) -> bool {
        self.runner.link.is_cluster() && matches!(fault, Fault::Unavailable { .. })
    }

    /// Nobody waits for a node that is known to be away.
    fn if_there(&self) -> Result<(), Fault> {
        let is_lost = self.runner.link.is_lost(&self.runner.keys.registry());
        let why = || "the node of the registry is away".to_owned();
        if is_lost { Err(Fault::Unavailable { applied: Applied::No, why: why() }) } else { Ok(()) }
    }

    /// Whether anything is kept of it.
    async fn has_keys(&self, queue: &QueueName) -> Result<bool, Fault> {
        let mut command = redis::cmd("EXISTS");
        command.arg(["jobs", "settings", "totals"].map(|name| self.runner.keys.of(queue, name)).as_slice());
        Ok(self.runner.link.plain(&command).await? != Value::Int(0))
    }

    async fn tell(&self, queues: &[QueueName], most: u32) -> Result<bool, Fault> {
        let mut args = Args::default();
        args.number(most.into());
        for queue in queues {
            args.push(queue.as_str());
        }
        let script = self.runner.scripts.named("seen", false);
        Ok(word(&self.runner.run_timed(script, &self.key(), &[&args]).await?) == Some("seen"))
    }

    fn is_registered(&self, queue: &QueueName) -> bool {
        self.registered().get(queue).is_some_and(|at| at.elapsed() < TELL_AGAIN)
    }

    /// After the registry was lost: those who use a queue here think that it is known.
    pub(crate) async fn tell_again(&self) -> Result<(), Fault> {
        self.tell_anew(&self.in_use()).await
    }

    /// They are there, and have jobs: the bound is for those that are to come.
    pub(crate) async fn tell_anew(&self, queues: &[QueueName]) -> Result<(), Fault> {
        for some in queues.chunks(TOLD_AT_ONCE) {
            self.tell(some, 0).await?;
        }
        Ok(())
    }

    /// The queues that this instance has told of lately. Any other may have been let go meanwhile, by whichever instance.
    pub(crate) fn in_use(&self) -> Vec<QueueName> {
        let mut registered = self.registered();
        registered.retain(|_, at| at.elapsed() < TELL_AGAIN);
        registered.keys().cloned().collect()
    }

    /// Whether the registry has such a queue.
    pub(crate) async fn has(&self, queue: &QueueName) -> Result<bool, Fault> {
        if self.is_registered(queue) {
            return Ok(true);
        }
        match self.is_listed(queue).await {
            Err(fault) if self.may_go_without(&fault) => self.has_keys(queue).await,
            is_listed => is_listed,
        }
    }

    async fn is_listed(&self, queue: &QueueName) -> Result<bool, Fault> {
        self.if_there()?;
        let mut command = redis::cmd("ZSCORE");
        command.arg(self.runner.keys.registry()).arg(queue.as_str());
        Ok(self.runner.plain(&command).await? != Value::Nil)
    }

    /// Whether a queue is there: the registry knows it, or it has jobs that the registry has lost. Nothing is kept of one
    /// that is not, nor done for it.
    pub(crate) async fn is_known(&self, queue: &QueueName) -> Result<bool, Fault> {
        if self.is_registered(queue) || self.known().get(queue).is_some_and(|at| at.elapsed() < KNOWN_FOR) {
            return Ok(true);
        }
        Box::pin(self.look_up(queue)).await
    }

    async fn look_up(&self, queue: &QueueName) -> Result<bool, Fault> {
        if self.has(queue).await? {
            let mut known = self.known();
            if known.len() >= MOST_KNOWN {
                known.clear();
            }
            known.insert(queue.clone(), Instant::now());
            return Ok(true);
        }
        let mut command = redis::cmd("EXISTS");
        command.arg(self.runner.keys.of(queue, "jobs"));
        Ok(self.runner.link.plain(&command).await? != Value::Int(0))
    }

    /// Every queue, by name; while the registry's node is away, those that it had when it was last asked.
    pub(crate) async fn names(&self) -> Result<Vec<QueueName>, Fault> {
        match self.listed_names().await {
            Err(fault) if self.may_go_without(&fault) => {
                let mut names = self.listed().clone().ok_or(fault)?;
                names.extend(self.in_use());
                names.sort();
                names.dedup();
                Ok(names)
            }
            names => names,
        }
    }

    async fn listed_names(&self) -> Result<Vec<QueueName>, Fault> {
        self.if_there()?;
        let mut command = redis::cmd("ZRANGE");
        command.arg(self.runner.keys.registry()).arg(0).arg(-1);
        let mut names = names_in(Fields::of(&self.runner.plain(&command).await?)?)?;
        names.sort();
        if self.runner.link.is_cluster() {
            *self.listed() = Some(names.clone());
        }
        Ok(names)
    }

    /// # Errors
    /// When something else stands in the registry's place.
    pub(crate) async fn find(&self) -> Result<(), Fault> {
        let key = self.runner.keys.registry();
        match self.runner.link.checked(&key, redis::cmd("ZCARD").arg(&key)).await {
            Err(fault) => Err(Box::pin(move_marker::explain(&self.runner.link, fault, &key)).await),
            Ok(_) => Ok(()),
        }
    }

    /// Queues that were not used for a day, behind so many of them.
    pub(crate) async fn unseen(&self, behind: u64) -> Result<Vec<QueueName>, Fault> {
        self.ask_unseen("list", &behind.to_string()).await
    }

    pub(crate) async fn forget(&self, queue: &QueueName) -> Result<(), Fault> {
        self.ask_unseen("forget", queue.as_str()).await?;
        // Lest this instance tells the registry of it again.
        self.registered().remove(queue);
        Ok(())
    }

    async fn ask_unseen(&self, word: &str, what: &str) -> Result<Vec<QueueName>, Fault> {
        let mut args = Args::default();
        args.push(word).push(what);
        let script = self.runner.scripts.named("unseen", false);
        names_in(Fields::of(&self.runner.run_timed(script, &self.key(), &[&args]).await?)?)
    }

    /// The one key of scripts that are about the registry.
    fn key(&self) -> Args {
        let mut key = Args::default();
        key.push(self.runner.keys.registry());
        key
    }

    /// So long ago the instance was last used.
    #[cfg(test)]
    pub(crate) fn grow_old(&self, by: Duration) {
        for at in self.registered().values_mut() {
            *at = at.checked_sub(by).expect("a time");
        }
    }
}

fn names_in(mut fields: Fields<'_>) -> Result<Vec<QueueName>, Fault> {
    let mut names = Vec::new();
    while !fields.is_done() {
        // A name that does not parse is not ours to touch.
        names.extend(QueueName::parse(&fields.text()?).ok());
    }
    Ok(names)
}
