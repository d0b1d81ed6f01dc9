//! Who has worked in a queue lately. No call that moves jobs writes anything for this: it is read from what is there.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::time::Instant;

use super::Sheets;
use crate::{
    job::QueueName,
    store::{Fault, RecentWorkers},
};

/// How long a complete read is used again, so that a page that changes many jobs one by one costs few reads.
const KEPT_FOR: Duration = Duration::from_secs(2);

/// The last complete read of this instance.
#[derive(Clone, Default)]
pub(super) struct RecentRead(Arc<Mutex<Option<(Instant, QueueName, RecentWorkers)>>>);

impl Sheets {
    /// Adds the workers that the queue's reservations, day sheets and last events know, and the skills by which workers were given jobs.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn add_recent(&self, queue: &QueueName, found: &mut RecentWorkers) -> Result<(), Fault> {
        self.read_recent(queue, found, |_| false).await
    }

    /// The same as it was up to two seconds ago; ends early when it is enough.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn add_recent_until(
        &self,
        queue: &QueueName,
        found: &mut RecentWorkers,
        is_enough: impl Fn(&RecentWorkers) -> bool,
    ) -> Result<(), Fault> {
        if let Some((at, of, last)) = &*self.recent_read.0.lock()
            && of == queue
            && at.elapsed() < KEPT_FOR
        {
            found.names.extend(last.names.iter().cloned());
            found.skills.extend(last.skills.iter().cloned());
            return Ok(());
        }
        self.read_recent(queue, found, is_enough).await
    }

    async fn read_recent(
        &self,
        queue: &QueueName,
        found: &mut RecentWorkers,
        is_enough: impl Fn(&RecentWorkers) -> bool,
    ) -> Result<(), Fault> {
        let mut read = std::mem::take(found);
        let begun = Instant::now();
        if !is_enough(&read) {
            self.queues.add_holders(queue, &mut read).await?;
        }
        if !is_enough(&read) {
            read.names.extend(self.recent_names(queue).await?);
        }
        if !is_enough(&read) {
            self.queues.add_by_events(queue, &mut read, &is_enough).await?;
        }
        if !is_enough(&read) {
            *self.recent_read.0.lock() = Some((begun, queue.clone(), read.clone()));
        }
        *found = read;
        Ok(())
    }
}
