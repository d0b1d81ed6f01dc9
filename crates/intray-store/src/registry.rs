//! The registry lists the queues. A queue is registered before its first key is written, and again each minute while it is
//! in use. Reads never create a queue.

mod forgotten;
mod limit;
pub(crate) mod store_id;

use std::{
    collections::HashMap,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use intray_redis::{Applied, Args, Fault};
use parking_lot::Mutex;
use redis::Value;

use crate::{
    job::QueueName,
    redis::read::{Fields, broken, word},
    runner::Runner,
};

use self::limit::OwnerCounts;
pub use self::limit::Owners;

const REGISTER_EVERY: Duration = Duration::from_secs(60);
/// Queues registered by one script.
const MAX_PER_SCRIPT: usize = 200;
/// How long a queue is assumed to exist after it was found. If it is removed meanwhile, calls find no keys.
const KNOWN_FOR: Duration = Duration::from_secs(60);
/// Above this many the cache is cleared.
const MAX_KNOWN: usize = 10_000;

/// What the registry knows of a queue from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Registration {
    /// It was not registered before this call.
    New,
    Known,
    /// The limit of queues is reached.
    Refused,
}

impl Registration {
    pub(crate) fn is_new(self) -> bool {
        self == Self::New
    }

    pub(crate) fn is_refused(self) -> bool {
        self == Self::Refused
    }
}

/// A cache of the registry: what this instance has registered, and what it has read.
pub(crate) struct Registry {
    runner: Arc<Runner>,
    /// When this instance last registered each queue.
    registered: Mutex<HashMap<QueueName, Instant>>,
    /// When this instance has made queues forgotten, as an operator wants.
    forgotten: Mutex<HashMap<QueueName, Instant>>,
    /// Queues that were found. Missing ones are not cached: they may be created at any moment.
    known: Mutex<HashMap<QueueName, Instant>>,
    /// The last list of all queues, for when the node of the registry is away.
    listed: Mutex<Option<Vec<QueueName>>>,
    /// The limit of queues; 0 = none.
    max_queues: AtomicU32,
    /// Who owns which queues.
    owners: OnceLock<Arc<dyn Owners>>,
    counted: Mutex<Option<OwnerCounts>>,
}

impl Registry {
    pub(crate) fn new(runner: Arc<Runner>) -> Self {
        let (registered, forgotten, known, listed, counted) = Default::default();
        Self {
            runner,
            registered,
            forgotten,
            known,
            listed,
            max_queues: AtomicU32::new(0),
            owners: OnceLock::new(),
            counted,
        }
    }

    /// Limits the number of queues; the last free places are kept for owners with few queues.
    pub(crate) fn bound(&self, queues: u32, owners: Arc<dyn Owners>) {
        self.max_queues.store(queues, Ordering::Relaxed);
        drop(self.owners.set(owners));
    }

    /// Registers a queue before it is used.
    pub(crate) async fn register(&self, queue: &QueueName) -> Result<Registration, Fault> {
        if self.is_registered(queue) {
            return Ok(Registration::Known);
        }
        // Boxed, to keep the future of the common case small.
        Box::pin(self.register_uncached(queue)).await
    }

    async fn register_uncached(&self, queue: &QueueName) -> Result<Registration, Fault> {
        let registration = match self.register_within_limit(queue).await {
            Err(fault) if self.is_only_registry_away(&fault) => {
                // The registry has it already, or gets it when its node is back.
                let is_known = self.registered.lock().contains_key(queue) || self.has_keys(queue).await?;
                return if is_known { Ok(Registration::Known) } else { Err(fault) };
            }
            registration => registration?,
        };
        if !registration.is_refused() {
            self.registered.lock().insert(queue.clone(), Instant::now());
        }
        Ok(registration)
    }

    async fn register_if_available(&self, queues: &[QueueName], max: u32) -> Result<Registration, Fault> {
        self.check_available()?;
        self.register_all(queues, max).await
    }

    /// On a cluster the queues of the other nodes serve while the node of the registry is away.
    fn is_only_registry_away(&self, fault: &Fault) -> bool {
        self.runner.link.is_cluster() && matches!(fault, Fault::Unavailable { .. })
    }

    /// Fails at once if the node of the registry is known to be away.
    fn check_available(&self) -> Result<(), Fault> {
        let is_lost = self.runner.link.is_lost(&self.runner.keys.registry());
        let why = || "the node of the registry is away".to_owned();
        if is_lost { Err(Fault::Unavailable { applied: Applied::No, why: why() }) } else { Ok(()) }
    }

    /// Whether anything was ever put into the queue.
    pub(crate) async fn has_keys(&self, queue: &QueueName) -> Result<bool, Fault> {
        self.has_any_key(queue, &["jobs", "settings", "totals"]).await
    }

    /// Whether the queue has any of these keys.
    async fn has_any_key(&self, queue: &QueueName, names: &[&str]) -> Result<bool, Fault> {
        let keys: Vec<_> = names.iter().map(|name| self.runner.keys.of(queue, name)).collect();
        Ok(self.runner.link.plain(redis::cmd("EXISTS").arg(keys)).await? != Value::Int(0))
    }

    /// [`Registration::New`] if any of them is.
    async fn register_all(&self, queues: &[QueueName], max: u32) -> Result<Registration, Fault> {
        let mut args = Args::default();
        args.number(max.into());
        queues.iter().for_each(|queue| _ = args.push(queue.as_str()));
        let script = self.runner.scripts.named("seen", false);
        match word(&self.runner.run_timed(script, &self.key(), &[&args]).await?) {
            Some("new") => Ok(Registration::New),
            Some("seen") => Ok(Registration::Known),
            Some("many") => Ok(Registration::Refused),
            _ => Err(broken("new, seen or many")),
        }
    }

    fn is_registered(&self, queue: &QueueName) -> bool {
        self.registered.lock().get(queue).is_some_and(|at| at.elapsed() < REGISTER_EVERY)
    }

    /// Registers the queues in use here again, after the registry was lost.
    pub(crate) async fn reregister_in_use(&self) -> Result<(), Fault> {
        self.reregister(&self.in_use()).await
    }

    /// Registers existing queues, to which the limit does not apply.
    pub(crate) async fn reregister(&self, queues: &[QueueName]) -> Result<(), Fault> {
        for some in queues.chunks(MAX_PER_SCRIPT) {
            self.register_all(some, 0).await?;
        }
        Ok(())
    }

    /// The queues that this instance has registered recently. Another instance may have removed any other.
    pub(crate) fn in_use(&self) -> Vec<QueueName> {
        let mut registered = self.registered.lock();
        registered.retain(|_, at| at.elapsed() < REGISTER_EVERY);
        registered.keys().cloned().collect()
    }

    /// Whether the registry lists the queue.
    pub(crate) async fn has(&self, queue: &QueueName) -> Result<bool, Fault> {
        if self.is_registered(queue) {
            return Ok(true);
        }
        match self.is_listed(queue).await {
            Err(fault) if self.is_only_registry_away(&fault) => self.has_keys(queue).await,
            is_listed => is_listed,
        }
    }

    async fn is_listed(&self, queue: &QueueName) -> Result<bool, Fault> {
        Ok(self.last_seen(queue).await?.is_some())
    }

    /// Whether a queue exists: the registry lists it, or it has jobs although the registry has lost it.
    pub(crate) async fn is_known(&self, queue: &QueueName) -> Result<bool, Fault> {
        if self.is_registered(queue) || self.known.lock().get(queue).is_some_and(|at| at.elapsed() < KNOWN_FOR) {
            return Ok(true);
        }
        Box::pin(self.look_up(queue)).await
    }

    async fn look_up(&self, queue: &QueueName) -> Result<bool, Fault> {
        if self.has(queue).await? {
            let mut known = self.known.lock();
            if known.len() >= MAX_KNOWN {
                known.clear();
            }
            known.insert(queue.clone(), Instant::now());
            return Ok(true);
        }
        self.has_any_key(queue, &["jobs"]).await
    }

    /// Every queue, by name; the last known list while the node of the registry is away.
    pub(crate) async fn names(&self) -> Result<Vec<QueueName>, Fault> {
        match self.listed_names().await {
            Err(fault) if self.is_only_registry_away(&fault) => {
                let mut names = self.listed.lock().clone().ok_or(fault)?;
                names.extend(self.in_use());
                names.sort();
                names.dedup();
                Ok(names)
            }
            names => names,
        }
    }

    async fn listed_names(&self) -> Result<Vec<QueueName>, Fault> {
        self.check_available()?;
        let registry = self.runner.keys.registry();
        let reply = self.runner.plain(redis::cmd("ZRANGE").arg(registry).arg(0).arg(-1)).await?;
        let mut names = names_in(Fields::of(&reply)?)?;
        names.sort();
        if self.runner.link.is_cluster() {
            *self.listed.lock() = Some(names.clone());
        }
        Ok(names)
    }

    /// Queues that were not used for a day, after the first `skipped`.
    pub(crate) async fn unseen(&self, skipped: u64) -> Result<Vec<QueueName>, Fault> {
        self.ask_unseen("list", &skipped.to_string()).await
    }

    pub(crate) async fn forget(&self, queue: &QueueName) -> Result<(), Fault> {
        self.ask_unseen("forget", queue.as_str()).await?;
        // Otherwise this instance would register it again.
        self.registered.lock().remove(queue);
        Ok(())
    }

    async fn ask_unseen(&self, word: &str, what: &str) -> Result<Vec<QueueName>, Fault> {
        let mut args = Args::default();
        args.push(word).push(what);
        self.run_unseen(&args).await
    }

    async fn run_unseen(&self, args: &Args) -> Result<Vec<QueueName>, Fault> {
        let script = self.runner.scripts.named("unseen", false);
        names_in(Fields::of(&self.runner.run_timed(script, &self.key(), &[args]).await?)?)
    }

    /// The key of the scripts that work on the registry.
    fn key(&self) -> Args {
        let mut key = Args::default();
        key.push(self.runner.keys.registry());
        key
    }

    /// Makes all registrations older.
    #[cfg(test)]
    pub(crate) fn grow_old(&self, by: Duration) {
        for at in self.registered.lock().values_mut() {
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
