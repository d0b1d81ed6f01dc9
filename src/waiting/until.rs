//! Long polls for the end of a job or batch, and for the next jobs of a list.

use std::{hash::Hash, sync::Arc, time::Duration};

use tokio::time::{self, Instant};

use super::{
    Waiting,
    looks::{AwaitedReads, CountedRead, ReadRefused, ReadResult},
    reads::{ReadPermit, ReaderId, Reads},
    tail::{RETRY_AFTER, Subscriber},
};
use crate::{
    job::{BatchId, Concern, JobId, QueueName, State},
    store::{Batch, Event, Fault, Job, JobFilter, JobPage, Subject},
};

/// The result of a read, and the permit that holds its memory.
pub struct WaitedRead<T> {
    pub what: Arc<CountedRead<T>>,
    pub turn: ReadPermit,
}

/// What to read, and whose limits it counts against.
struct ReadRequest<'q, K, T> {
    queue: &'q QueueName,
    key: K,
    looks: &'q AwaitedReads<K, T>,
    /// The limits of a shared read, and of an answer.
    shared: &'q Reads,
    reads: &'q Reads,
    who: &'q ReaderId,
    size: fn(&T) -> usize,
}

/// Reads a list page by page, and waits for new jobs at its end.
pub struct ListWatcher {
    waiting: Waiting,
    queue: QueueName,
    who: ReaderId,
    watch: ReaderState,
}

/// How a waiting reader follows the events.
#[derive(Default)]
struct ReaderState {
    following: Option<Subscriber>,
    /// The next read must begin no earlier; `None` if the last one has seen all events.
    needed: Option<Instant>,
}

impl Waiting {
    /// The job, when it has ended or the wait is over. `None`: there is no such job.
    ///
    /// # Errors
    /// When too many reads are running, or Redis is not well at the end.
    pub async fn job(
        &self,
        id: &JobId,
        wait: Duration,
        who: &ReaderId,
    ) -> Result<WaitedRead<Option<Job>>, ReadRefused> {
        let inner = &self.inner;
        let size = |job: &Option<Job>| job.as_ref().map_or(0, size_of);
        let (queue, key, looks) = (&id.queue, id.clone(), &inner.jobs);
        let question = ReadRequest { queue, key, looks, shared: &inner.shared_looks, reads: &inner.looks, who, size };
        let look = || inner.queues.job(id.clone());
        let ended = |job: &Option<Job>| job.as_ref().is_none_or(|job| job.state.is_ended());
        let own = |subject: &Subject| matches!(subject, Subject::Job(job) | Subject::Member(job) if job == id);
        self.once(&question, wait, look, ended, |event| own(&event.subject)).await
    }

    /// The batch, when it is over or the wait is over. `None`: there is no such batch.
    ///
    /// # Errors
    /// When too many reads are running, or Redis is not well at the end.
    pub async fn batch(
        &self,
        id: &BatchId,
        wait: Duration,
        who: &ReaderId,
    ) -> Result<WaitedRead<Option<Batch>>, ReadRefused> {
        let inner = &self.inner;
        let (queue, key, looks, size) = (&id.queue, id.clone(), &inner.batches, |_: &_| 0);
        let question = ReadRequest { queue, key, looks, shared: &inner.shared_looks, reads: &inner.looks, who, size };
        let look = || inner.queues.batch(id);
        let over = |batch: &Option<Batch>| batch.as_ref().is_none_or(|batch| batch.state.is_over());
        let own = |subject: &Subject| matches!(subject, Subject::Batch(batch) if batch == id);
        self.once(&question, wait, look, over, |event| own(&event.subject)).await
    }

    /// A page of jobs, when it has a job or the wait is over.
    ///
    /// # Errors
    /// When too many reads are running, or Redis is not well at the end.
    pub async fn jobs(
        &self,
        queue: &QueueName,
        filter: JobFilter,
        wait: Duration,
        who: &ReaderId,
    ) -> Result<WaitedRead<JobPage>, ReadRefused> {
        let question = self.page(queue, &filter, who);
        let look = || self.inner.queues.jobs(queue, filter.clone());
        self.once(&question, wait, look, has_some, matters_to(filter.state)).await
    }

    /// A reader of a list.
    pub fn list(&self, queue: QueueName, who: ReaderId) -> ListWatcher {
        ListWatcher { waiting: self.clone(), queue, who, watch: ReaderState::default() }
    }

    fn page<'q>(
        &'q self,
        queue: &'q QueueName,
        filter: &JobFilter,
        who: &'q ReaderId,
    ) -> ReadRequest<'q, (QueueName, JobFilter), JobPage> {
        let size = |page: &JobPage| page.jobs.iter().map(size_of).sum();
        let key = (queue.clone(), filter.clone());
        let inner = &self.inner;
        ReadRequest { queue, key, looks: &inner.lists, shared: &inner.shared_pages, reads: &inner.pages, who, size }
    }

    /// Reads and waits until `enough` accepts the result; the state at the deadline otherwise.
    async fn once<K: Eq + Hash + Clone, T, F: Future<Output = Result<T, Fault>>>(
        &self,
        question: &ReadRequest<'_, K, T>,
        wait: Duration,
        look: impl Fn() -> F,
        enough: impl Fn(&T) -> bool,
        matters: impl Fn(&Event) -> bool,
    ) -> Result<WaitedRead<T>, ReadRefused> {
        let ReadRequest { reads, who, .. } = question;
        if wait.is_zero() {
            let turn = self.inner.enter_soon(reads, who).await?;
            return Ok(WaitedRead::alone(look().await?, turn));
        }
        let mut watch = ReaderState { needed: Some(Instant::now()), ..ReaderState::default() };
        let what = match self.until(question, wait, &mut watch, &look, enough, matters).await? {
            Some(what) => what,
            None => self.at_end(question, look).await?,
        };
        let turn = self.inner.enter_after_wait(reads, who).await?;
        Ok(WaitedRead { what, turn })
    }

    /// The state at the end of a wait: one read for all callers whose waits end together.
    async fn at_end<K: Eq + Hash + Clone, T, F: Future<Output = Result<T, Fault>>>(
        &self,
        question: &ReadRequest<'_, K, T>,
        look: impl Fn() -> F,
    ) -> Result<Arc<CountedRead<T>>, ReadRefused> {
        let place = question.looks.ends.of(question.key.clone());
        let turn = self.inner.enter_after_wait(question.shared, question.who);
        let read = async { question.read(turn, look).await.map(Arc::new) };
        place.since(Instant::now(), read).await.1
    }

    /// Reads again after each event that `matters`, until `enough` accepts the result. `None`: the wait is over, or the service
    /// stops.
    async fn until<K: Eq + Hash + Clone, T, F: Future<Output = Result<T, Fault>>>(
        &self,
        question: &ReadRequest<'_, K, T>,
        wait: Duration,
        watch: &mut ReaderState,
        look: impl Fn() -> F,
        enough: impl Fn(&T) -> bool,
        matters: impl Fn(&Event) -> bool,
    ) -> Result<Option<Arc<CountedRead<T>>>, ReadRefused> {
        let deadline = Instant::now() + wait;
        let place = question.looks.waits.of(question.key.clone());
        let mut refused = None;
        loop {
            if let Some(since) = watch.needed {
                tokio::select! {
                    () = place.rested() => {}
                    () = time::sleep_until(deadline) => break,
                    () = self.inner.stop.cancelled() => break,
                }
                let turn = self.inner.enter_soon(question.shared, question.who);
                let kept = |read: CountedRead<T>| enough(&read).then(|| Arc::new(read));
                let read = async { question.read(turn, &look).await.map(kept) };
                let (begun, seen) = place.since(since, read).await;
                match seen {
                    Ok(Some(what)) => {
                        watch.needed = Some(begun);
                        return Ok(Some(what));
                    }
                    Ok(None) => (refused, watch.needed) = (None, None),
                    Err(why) => refused = Some(why),
                }
            }
            if watch.following.is_none()
                && let Ok(following) = self.follow(question.queue).await
            {
                // The event may have come before the queue was followed.
                (watch.following, watch.needed) = (Some(following), Some(Instant::now()));
                continue;
            }
            let something = async {
                match (&refused, &mut watch.following) {
                    (None, Some(following)) => following.next_relevant(&matters).await,
                    _ => {
                        time::sleep(RETRY_AFTER).await;
                        Instant::now()
                    }
                }
            };
            tokio::select! {
                since = something => watch.needed = Some(since),
                () = time::sleep_until(deadline) => break,
                () = self.inner.stop.cancelled() => break,
            }
        }
        match refused {
            Some(ReadRefused::Fault(fault)) => Err(fault.into()),
            // What found no turn during the wait finds one at its end.
            Some(ReadRefused::Busy) | None => Ok(None),
        }
    }
}

impl<K, T> ReadRequest<'_, K, T> {
    /// Reads when there is a turn.
    async fn read<F: Future<Output = Result<T, Fault>>>(
        &self,
        turn: impl Future<Output = Result<ReadPermit, ReadRefused>>,
        look: impl Fn() -> F,
    ) -> ReadResult<CountedRead<T>> {
        let turn = match turn.await {
            Ok(turn) => turn,
            Err(why) => return ReadResult::refused(why),
        };
        let begun = Instant::now();
        match look().await {
            Ok(what) => {
                turn.finish_read((self.size)(&what));
                ReadResult { begun, took: begun.elapsed(), seen: Ok(CountedRead::new(what, Some(turn))) }
            }
            Err(fault) => ReadResult::refused(fault),
        }
    }
}

impl<T> WaitedRead<T> {
    /// A read that is not shared: its permit is that of its answer.
    fn alone(what: T, turn: ReadPermit) -> Self {
        Self { what: Arc::new(CountedRead::new(what, None)), turn }
    }
}

impl ListWatcher {
    /// The next page that has a job, before the wait is over; without a wait the page as it is now.
    ///
    /// # Errors
    /// When Redis is not well at the end.
    pub async fn next(
        &mut self,
        filter: &JobFilter,
        wait: Duration,
    ) -> Result<Option<WaitedRead<JobPage>>, ReadRefused> {
        let Self { waiting, queue, who, watch } = self;
        let (pages, look) = (&waiting.inner.pages, || waiting.inner.queues.jobs(queue, filter.clone()));
        if wait.is_zero() {
            let turn = pages.enter(who).await;
            return Ok(Some(WaitedRead::alone(look().await?, turn)));
        }
        if watch.following.is_none() {
            watch.needed = Some(Instant::now());
        }
        let question = waiting.page(queue, filter, who);
        let Some(what) = waiting.until(&question, wait, watch, look, has_some, matters_to(filter.state)).await? else {
            return Ok(None);
        };
        if what.next.is_none() {
            // The page is complete up to that read; later events are followed.
            watch.needed = None;
        }
        Ok(Some(WaitedRead { what, turn: pages.enter(who).await }))
    }
}

/// A page without jobs has more if the read stopped at its limit.
fn has_some(page: &JobPage) -> bool {
    !page.is_empty()
}

/// Each list of ended jobs grows by one kind of event.
fn matters_to(state: State) -> impl Fn(&Event) -> bool {
    let is_end = matches!(state, State::Completed | State::Cancelled | State::Dead);
    move |event| !is_end || event.kind.concerns() == Concern::Job(state)
}

fn size_of(job: &Job) -> usize {
    let late = job.late_results.iter().filter_map(|late| late.result.as_ref());
    job.payload.iter().chain(&job.result).chain(late).map(|json| json.len()).sum()
}
