//! The registry knows which queues there are. It is told before the first key of a queue is written, and each minute of
//! those in use; reading never brings a queue into being.

use std::{
    collections::HashSet,
    sync::PoisonError,
    time::{Duration, Instant},
};

use super::{Fault, Inner, Queues, connection::Args, group, read::Fields};
use crate::job::QueueName;

const TELL_AGAIN: Duration = Duration::from_secs(60);

impl Inner {
    /// Notes that a job of the queue has been moved here.
    pub(super) fn stir(&self, queue: &QueueName) {
        let mut stirred = self.stirred.lock().unwrap_or_else(PoisonError::into_inner);
        if !stirred.contains(queue) {
            stirred.insert(queue.clone());
        }
    }
}

impl Queues {
    /// Sees to it that the registry knows a queue that is about to be used.
    pub(super) async fn seen(&self, queue: &QueueName) -> Result<(), Fault> {
        if self.is_registered(queue) {
            return Ok(());
        }
        let queue = std::slice::from_ref(queue);
        self.tell(queue).await?;
        let mut registered = self.inner.registered.lock().unwrap_or_else(PoisonError::into_inner);
        registered.retain(|_, at| at.elapsed() < TELL_AGAIN);
        registered.extend(queue.iter().map(|queue| (queue.clone(), Instant::now())));
        Ok(())
    }

    async fn tell(&self, queues: &[QueueName]) -> Result<(), Fault> {
        let mut args = Args::default();
        for queue in queues {
            args.push(queue.as_str());
        }
        let script = &self.inner.scripts.seen;
        group::timed(&self.inner, script, &[self.inner.keys.registry()], &args).await.map(drop)
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
    pub(super) async fn find_registry(&self) -> Result<(), Fault> {
        let mut command = redis::cmd("ZCARD");
        command.arg(self.inner.keys.registry());
        self.inner.link.plain(&command).await.map(drop)
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

    /// Every queue, and those of this instance that the registry has lost: it is told of them again.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn names_and_ours(&self) -> Result<Vec<QueueName>, Fault> {
        let mut names = self.names().await?;
        let ours: Vec<_> = {
            let registered = self.inner.registered.lock().unwrap_or_else(PoisonError::into_inner);
            registered.keys().filter(|queue| names.binary_search(queue).is_err()).cloned().collect()
        };
        if !ours.is_empty() {
            self.tell(&ours).await?;
            names.extend(ours);
            names.sort();
        }
        Ok(names)
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
                if super::read::word(&outcome) == Some("retired") {
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
        names_in(Fields::of(group::timed(&self.inner, script, &registry, &args).await?)?)
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
