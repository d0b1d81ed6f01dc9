//! The registry knows which queues there are. It is told before the first key of a queue is written, and each minute of
//! those in use; reading never brings a queue into being.

use std::{
    collections::HashSet,
    sync::PoisonError,
    time::{Duration, Instant},
};

use super::{Fault, Queues, connection::Args, group, read::Fields};
use crate::job::QueueName;

const TELL_AGAIN: Duration = Duration::from_secs(60);

impl Queues {
    pub(super) async fn seen<const N: usize>(&self, queues: [&QueueName; N]) -> Result<(), Fault> {
        let mut args = Args::default();
        let fresh: Vec<_> = queues.into_iter().filter(|queue| !self.is_registered(queue)).collect();
        if fresh.is_empty() {
            return Ok(());
        }
        for queue in &fresh {
            args.push(queue.as_str());
        }
        let script = &self.inner.scripts.seen;
        group::timed(&self.inner, script, &[self.inner.keys.registry()], &args).await?;
        let mut registered = self.inner.registered.lock().unwrap_or_else(PoisonError::into_inner);
        registered.retain(|_, at| at.elapsed() < TELL_AGAIN);
        registered.extend(fresh.into_iter().map(|queue| (queue.clone(), Instant::now())));
        Ok(())
    }

    fn is_registered(&self, queue: &QueueName) -> bool {
        let registered = self.inner.registered.lock().unwrap_or_else(PoisonError::into_inner);
        registered.get(queue).is_some_and(|at| at.elapsed() < TELL_AGAIN)
    }

    /// Notes that a job of the queue has been moved here.
    pub(super) fn stir(&self, queue: &QueueName) {
        let mut stirred = self.inner.stirred.lock().unwrap_or_else(PoisonError::into_inner);
        if !stirred.contains(queue) {
            stirred.insert(queue.clone());
        }
    }

    /// The queues that this instance has moved jobs of since it was last asked.
    pub fn stirred(&self) -> HashSet<QueueName> {
        std::mem::take(&mut *self.inner.stirred.lock().unwrap_or_else(PoisonError::into_inner))
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
        let (registry, unseen) = ([self.inner.keys.registry()], &self.inner.scripts.unseen);
        let mut list = Args::default();
        list.push("list");
        for queue in names_in(Fields::of(group::timed(&self.inner, unseen, &registry, &list).await?)?)? {
            let kept = self.run(&self.inner.scripts.retire, &queue, &Args::default()).await?;
            if super::read::word(&kept) == Some("retired") {
                let mut forget = Args::default();
                forget.push("forget").push(queue.as_str());
                group::timed(&self.inner, unseen, &registry, &forget).await?;
            }
        }
        Ok(())
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
