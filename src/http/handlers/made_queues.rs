//! Calls with `create=false` put nothing into a queue that is not there.

use std::collections::{BTreeSet, HashMap};

use futures_util::future::join_all;

use crate::{
    job::QueueName,
    store::{Applied, Fault, Queues},
};

/// Which of the queues that a call names are there. A queue that was not asked about counts as there.
#[derive(Default)]
pub struct MadeQueues(HashMap<QueueName, Result<bool, Fault>>);

impl MadeQueues {
    /// Asks about each queue, unless the call may create them.
    pub async fn find(queues: &Queues, creates: bool, named: impl Iterator<Item = &QueueName>) -> Self {
        if creates {
            return Self::default();
        }
        let named: BTreeSet<_> = named.collect();
        let asked = named.into_iter().map(async |queue| (queue.clone(), queues.is_made(queue).await));
        Self(join_all(asked).await.into_iter().collect())
    }

    /// # Errors
    /// When Redis was not well; nothing was put into the queue.
    pub fn has(&self, queue: &QueueName) -> Result<bool, Fault> {
        self.0.get(queue).cloned().unwrap_or(Ok(true)).map_err(|fault| fault.with(Applied::No))
    }

    /// Puts something into the queue, if it is there.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn put<T>(
        &self,
        queue: &QueueName,
        put: impl Future<Output = Result<T, Fault>>,
    ) -> Result<Option<T>, Fault> {
        if self.has(queue)? { put.await.map(Some) } else { Ok(None) }
    }
}
