//! The registry knows which queues there are. It is told before the first key of a queue is written, and each minute of
//! those in use; reading never brings a queue into being.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::{Mutex, PoisonError, atomic::Ordering},
    time::{Duration, Instant},
};

use redis::Value;

use crate::job::QueueName;
use crate::queue::{Applied, Fault, Inner, Queues, lanes, redis::link::Args, redis::read::Fields};

const TELL_AGAIN: Duration = Duration::from_secs(60);
/// Queues in one script.
const TOLD_AT_ONCE: usize = 200;
/// How long a queue is taken to be there once it was: the keys of one that went are found empty, and that is all.
const KNOWN_FOR: Duration = Duration::from_secs(60);
/// Beyond so many the older ones are asked about again.
const MOST_KNOWN: usize = 10_000;

/// Queues that were there. Those that were not are never remembered: the next moment they may be.
#[derive(Default)]
pub(crate) struct Known(Mutex<HashMap<QueueName, Instant>>);

impl Known {
    fn has(&self, queue: &QueueName) -> bool {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(queue).is_some_and(|at| at.elapsed() < KNOWN_FOR)
    }

    fn add(&self, queue: QueueName) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        known.insert(queue, Instant::now());
    }
}

impl Inner {
    /// Notes that a job of the queue has been moved here.
    pub(crate) fn stir(&self, queue: &QueueName) {
        let mut stirred = self.stirred.lock().unwrap_or_else(PoisonError::into_inner);
        if !stirred.contains(queue) {
            stirred.insert(queue.clone());
        }
    }
}

impl Queues {
    /// From now on no call brings more queues than this into being.
    pub fn bound(&self, queues: u32) {
        self.inner.most_queues.store(queues, Ordering::Relaxed);
    }

    /// Sees to it that the registry knows a queue that is about to be used. False: there are as many as may be.
    pub(crate) async fn seen(&self, queue: &QueueName) -> Result<bool, Fault> {
        if self.is_registered(queue) {
            return Ok(true);
        }
        if !self.tell(std::slice::from_ref(queue), self.inner.most_queues.load(Ordering::Relaxed)).await? {
            return Ok(false);
        }
        let mut registered = self.inner.registered.lock().unwrap_or_else(PoisonError::into_inner);
        registered.insert(queue.clone(), Instant::now());
        Ok(true)
    }

    async fn tell(&self, queues: &[QueueName], most: u32) -> Result<bool, Fault> {
        let mut args = Args::default();
        args.number(most.into());
        for queue in queues {
            args.push(queue.as_str());
        }
        let script = &self.inner.scripts.seen;
        let answer = lanes::timed(&self.inner, script, &[self.inner.keys.registry()], &args).await?;
        Ok(crate::queue::redis::read::word(&answer) == Some("seen"))
    }

    fn is_registered(&self, queue: &QueueName) -> bool {
        let registered = self.inner.registered.lock().unwrap_or_else(PoisonError::into_inner);
        registered.get(queue).is_some_and(|at| at.elapsed() < TELL_AGAIN)
    }

    /// The queues that this instance has moved jobs of since it was last asked.
    pub fn stirred(&self) -> HashSet<QueueName> {
        std::mem::take(&mut *self.inner.stirred.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// # Errors
    /// When something else stands in the registry's place.
    pub(crate) async fn find_registry(&self) -> Result<(), Fault> {
        let registry = self.inner.keys.registry();
        match self.inner.link.plain(redis::cmd("ZCARD").arg(&registry)).await {
            Ok(_) => Ok(()),
            Err(fault) => Err(self.inner.link.explained(fault, &registry).await),
        }
    }

    /// Every queue, by name.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn names(&self) -> Result<Vec<QueueName>, Fault> {
        let mut command = redis::cmd("ZRANGE");
        command.arg(self.inner.keys.registry()).arg(0).arg(-1);
        let mut names = names_in(Fields::of(self.inner.link.plain(&command).await?)?)?;
        names.sort();
        Ok(names)
    }

    /// Every queue, and those in use here that the registry has lost: it is told of them again.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn names_and_ours(&self) -> Result<Vec<QueueName>, Fault> {
        let mut names = self.names().await?;
        let mut ours = self.in_use();
        ours.retain(|queue| names.binary_search(queue).is_err());
        if !ours.is_empty() {
            self.tell_anew(&ours).await?;
            names.extend(ours);
            names.sort();
        }
        Ok(names)
    }

    /// After the registry was lost: those who use a queue here think that it is known.
    pub(crate) async fn tell_again(&self) -> Result<(), Fault> {
        self.tell_anew(&self.in_use()).await
    }

    /// They are there, and have jobs: the bound is for those that are to come.
    async fn tell_anew(&self, queues: &[QueueName]) -> Result<(), Fault> {
        for some in queues.chunks(TOLD_AT_ONCE) {
            self.tell(some, 0).await?;
        }
        Ok(())
    }

    /// The queues that this instance has told of lately. Any other may have been let go meanwhile, by whichever instance.
    fn in_use(&self) -> Vec<QueueName> {
        let mut registered = self.inner.registered.lock().unwrap_or_else(PoisonError::into_inner);
        registered.retain(|_, at| at.elapsed() < TELL_AGAIN);
        registered.keys().cloned().collect()
    }

    /// Whether there is such a queue.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn exists(&self, queue: &QueueName) -> Result<bool, Fault> {
        if self.is_registered(queue) {
            return Ok(true);
        }
        let mut command = redis::cmd("ZSCORE");
        command.arg(self.inner.keys.registry()).arg(queue.as_str());
        Ok(self.inner.link.plain(&command).await? != redis::Value::Nil)
    }

    /// Those of some queues that are none: the registry does not know them, nor have they jobs that it has lost. Nothing is
    /// kept of them, nor done for them.
    pub(crate) async fn unknown_of<'q>(
        &self,
        queues: impl Iterator<Item = &'q QueueName>,
        begin: tokio::time::Instant,
    ) -> Result<BTreeSet<QueueName>, Fault> {
        let strange: BTreeSet<_> =
            queues.filter(|queue| !self.is_registered(queue) && !self.inner.known.has(queue)).cloned().collect();
        if strange.is_empty() {
            return Ok(strange);
        }
        match tokio::time::timeout_at(begin + lanes::PATIENCE, self.look_up(strange)).await {
            Ok(Ok(unknown)) => Ok(unknown),
            // Whoever has only looked has changed nothing.
            Ok(Err(Fault::Unavailable { why, .. })) => Err(Fault::Unavailable { applied: Applied::No, why }),
            Ok(Err(fault)) => Err(fault),
            Err(_) => Err(lanes::late(Applied::No)),
        }
    }

    async fn look_up(&self, mut strange: BTreeSet<QueueName>) -> Result<BTreeSet<QueueName>, Fault> {
        let mut command = redis::cmd("ZMSCORE");
        command.arg(self.inner.keys.registry());
        for queue in &strange {
            command.arg(queue.as_str());
        }
        let Value::Array(scores) = self.inner.link.plain(&command).await? else {
            return Err(crate::queue::redis::read::broken("a score for each queue"));
        };
        let mut scores = scores.into_iter();
        strange.retain(|queue| {
            let is_there = scores.next().is_some_and(|score| score != Value::Nil);
            if is_there {
                self.inner.known.add(queue.clone());
            }
            !is_there
        });
        if strange.is_empty() {
            return Ok(strange);
        }
        let mut command = redis::cmd("EXISTS");
        for queue in &strange {
            command.arg(self.inner.keys.of(queue, "jobs"));
        }
        // One that the registry has lost is rare: then all are asked.
        let lost = self.inner.link.plain(&command).await? != Value::Int(0);
        Ok(if lost { BTreeSet::new() } else { strange })
    }

    /// Lets go of queues that are empty, have no settings and were not used for a day.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn retire_unseen(&self) -> Result<(), Fault> {
        let mut kept = 0;
        loop {
            let unseen = self.unseen("list", &kept.to_string()).await?;
            if unseen.is_empty() {
                return Ok(());
            }
            for queue in unseen {
                let outcome = self.run(&self.inner.scripts.retire, &queue, &Args::default()).await?;
                if crate::queue::redis::read::word(&outcome) == Some("retired") {
                    self.unseen("forget", queue.as_str()).await?;
                    // Lest this instance tells the registry of it again.
                    self.inner.registered.lock().unwrap_or_else(PoisonError::into_inner).remove(&queue);
                } else {
                    kept += 1;
                }
            }
        }
    }

    async fn unseen(&self, word: &str, what: &str) -> Result<Vec<QueueName>, Fault> {
        let mut args = Args::default();
        args.push(word).push(what);
        let (script, registry) = (&self.inner.scripts.unseen, [self.inner.keys.registry()]);
        names_in(Fields::of(lanes::timed(&self.inner, script, &registry, &args).await?)?)
    }
}

fn names_in(mut fields: Fields) -> Result<Vec<QueueName>, Fault> {
    let mut names = Vec::new();
    while !fields.is_done() {
        // A name that does not parse is not ours to touch.
        names.extend(QueueName::parse(&fields.text()?).ok());
    }
    Ok(names)
}
