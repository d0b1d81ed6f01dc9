//! Waiting for what becomes of one job or batch, or for the next one of a list.

use std::time::Duration;

use super::Waiting;
use crate::{
    job::{BatchId, JobId, QueueName},
    queue::{Batch, Fault, Job, JobFilter, JobPage, Subject},
};

impl Waiting {
    /// The job, as soon as it has ended or the time is up. `None`: there is no such job.
    ///
    /// # Errors
    /// When Redis is not well at the end.
    pub async fn job(&self, id: &JobId, wait: Duration) -> Result<Option<Job>, Fault> {
        let look = || self.inner.queues.job(id.clone());
        let ended = |job: &Option<Job>| job.as_ref().is_none_or(|job| job.state.is_ended());
        let own = |subject: &Subject| matches!(subject, Subject::Job(job) | Subject::Member(job) if job == id);
        self.until(&id.queue, wait, look, ended, |event| own(&event.subject)).await
    }

    /// The batch, as soon as it is over or the time is up. `None`: there is no such batch.
    ///
    /// # Errors
    /// When Redis is not well at the end.
    pub async fn batch(&self, id: &BatchId, wait: Duration) -> Result<Option<Batch>, Fault> {
        let look = || self.inner.queues.batch(id);
        let over = |batch: &Option<Batch>| batch.as_ref().is_none_or(|batch| batch.state.is_over());
        let own = |subject: &Subject| matches!(subject, Subject::Batch(batch) if batch == id);
        self.until(&id.queue, wait, look, over, |event| own(&event.subject)).await
    }

    /// A page of jobs, as soon as there is one on it or the time is up.
    ///
    /// # Errors
    /// When Redis is not well at the end.
    pub async fn jobs(&self, queue: &QueueName, filter: JobFilter, wait: Duration) -> Result<JobPage, Fault> {
        let look = || self.inner.queues.jobs(queue, filter.clone());
        // A page that looked at as many as it may goes on behind them.
        let some = |page: &JobPage| !page.is_empty();
        self.until(queue, wait, look, some, |_| true).await
    }
}
