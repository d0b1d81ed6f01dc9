//! Long polls for jobs. A caller is registered, tries to reserve, and then sleeps until a hint, the safety tick or its
//! deadline. All callers share the connections to Redis.

mod callers;
mod feed;
mod looks;
mod reads;
mod table;
mod tail;
mod turns;
mod until;
mod watch;

use std::{sync::Arc, time::Duration};

use tokio::{sync::mpsc, time::Instant};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use self::{
    feed::Feed,
    looks::{CountedRead, ReadRefused},
    reads::{ReadPermit, ReaderId},
    table::WaitInfo,
    tail::{Subscriber, TailUpdate, TooSlow},
    until::{ListWatcher, WaitedRead},
};
use self::{
    looks::AwaitedReads,
    reads::{ReadBounds, Reads, TooManyReads},
    table::{Registration, Table},
    tail::Tails,
    turns::QueueRotation,
};
use crate::{
    job::{BatchId, JobId, QueueName},
    store::{
        Applied, Batch, Fault, Hint, Job, JobFilter, JobPage, PassedLines, Queues, Reason, Reserve, ReserveOutcome,
        Snapshot, Wanted,
    },
};

/// A cheap handle on all long polls of this instance.
#[derive(Clone)]
pub struct Waiting {
    inner: Arc<WaitingState>,
}

struct WaitingState {
    queues: Queues,
    table: Table,
    tails: Tails,
    wanted: Wanted,
    turns: QueueRotation,
    watches: TaskTracker,
    /// Limits of large and small reads, of reads shared by several callers, and of event streams that catch up.
    pages: Reads,
    looks: Reads,
    shared_pages: Reads,
    shared_looks: Reads,
    catch_ups: Reads,
    /// Whose limits the reads of webhooks count against.
    webhooks: ReaderId,
    jobs: AwaitedReads<JobId, Option<Job>>,
    batches: AwaitedReads<BatchId, Option<Batch>>,
    lists: AwaitedReads<(QueueName, JobFilter), JobPage>,
    stop: CancellationToken,
}

impl Waiting {
    /// `stop` ends all waits with an answer.
    pub fn new(queues: Queues, stop: CancellationToken) -> Self {
        let (table, tails, wanted, turns, watches) = Default::default();
        let (jobs, batches, lists) = Default::default();
        let inner = WaitingState {
            queues,
            table,
            tails,
            wanted,
            turns,
            watches,
            pages: Reads::new(ReadBounds::PAGES),
            looks: Reads::new(ReadBounds::LOOKS),
            shared_pages: Reads::new(ReadBounds::SHARED_PAGES),
            shared_looks: Reads::new(ReadBounds::LOOKS),
            catch_ups: Reads::new(ReadBounds::CATCH_UPS),
            webhooks: ReaderId::new("webhooks".into(), "webhooks".into()),
            jobs,
            batches,
            lists,
            stop,
        };
        Self { inner: Arc::new(inner) }
    }

    /// The number of calls that wait for a job.
    pub fn count(&self) -> usize {
        self.inner.table.count()
    }

    /// The longest waiting calls for queues that `sees` allows, at most `max`, and the number of all such calls.
    pub fn waiters(&self, max: usize, sees: impl Fn(&QueueName) -> bool) -> (Vec<WaitInfo>, usize) {
        self.inner.table.waiters(max, sees)
    }

    /// A permit for a large read.
    ///
    /// # Errors
    /// When none is free soon.
    pub async fn page_permit(&self, who: &ReaderId) -> Result<ReadPermit, ReadRefused> {
        self.inner.enter_soon(&self.inner.pages, who).await
    }

    /// A permit for a small read.
    ///
    /// # Errors
    /// When none is free soon.
    pub async fn read_permit(&self, who: &ReaderId) -> Result<ReadPermit, ReadRefused> {
        self.inner.enter_soon(&self.inner.looks, who).await
    }

    /// A permit for a large read of the webhooks, which wait in line as one caller.
    pub async fn webhook_permit(&self) -> ReadPermit {
        self.inner.pages.enter(&self.inner.webhooks).await
    }

    /// Receives hints and wakes callers until it is stopped.
    pub async fn run(self) {
        let (sender, mut hints) = mpsc::unbounded_channel();
        let inner = &self.inner;
        let pass_on = async {
            while let Some(hint) = hints.recv().await {
                match hint {
                    Hint::Ready(queue, n) => {
                        inner.table.wake(&queue, n);
                        inner.tails.news(&queue);
                    }
                    Hint::Lines(queue, lines, gates) => {
                        inner.table.wake_lines(&queue, &lines);
                        inner.table.wake_held_up(&queue, &gates);
                    }
                    Hint::Listening(queue) => {
                        inner.table.tick(&queue);
                        inner.tails.news(&queue);
                    }
                    Hint::Disconnected => inner.table.tick_all(),
                }
            }
        };
        tokio::join!(inner.queues.listen(&inner.wanted, sender, inner.stop.clone()), pass_on);
        inner.watches.close();
        inner.watches.wait().await;
    }

    /// Hands out jobs as [`Queues::reserve`] does, and waits until there are some. Returns early when the caller is no longer
    /// authorized; check its credential again before you use the result.
    ///
    /// # Errors
    /// When Redis is not well at the end of the wait.
    pub async fn reserve(
        &self,
        mut call: Reserve,
        wait: Duration,
        still_authorized: impl Fn() -> bool,
    ) -> Result<ReserveOutcome, Fault> {
        if wait.is_zero() || call.id.is_some() {
            return self.inner.queues.reserve(call).await;
        }
        let (registration, deadline) = (self.enter(&call), Instant::now() + wait);
        // The effect of a try that had no answer.
        let mut tried = Applied::No;
        let (scanned_at, seen) = loop {
            let (scanned_at, mut all_passed) = (Instant::now(), PassedLines::default());
            if registration.begin_try() {
                self.inner.queues.look_from_front(&call);
            }
            let seen = match self.inner.queues.reserve(call.clone()).await.inspect(|_| registration.mark_answered()) {
                Ok(nothing @ ReserveOutcome::Nothing { .. }) => {
                    if let ReserveOutcome::Nothing { ref passed, .. } = nothing {
                        registration.mark_passed(passed);
                        all_passed.clone_from(passed);
                    }
                    tried = Applied::No;
                    Ok(nothing)
                }
                Err(fault @ Fault::Unavailable { .. }) => {
                    registration.mark_unanswered();
                    call.nonce = call.nonce.again();
                    let fault = fault.after(tried);
                    tried = fault.applied();
                    Err(fault)
                }
                served_or_refused => {
                    registration.mark_served(&served_or_refused);
                    return served_or_refused;
                }
            };
            tokio::select! {
                () = registration.sleep_after(&all_passed) => {}
                () = tokio::time::sleep_until(deadline) => break (scanned_at, seen),
                () = self.inner.stop.cancelled() => return seen.map(|seen| seen.ended_early(Reason::Shutdown)),
            }
            if registration.is_replaced() {
                return seen.map(|seen| seen.ended_early(Reason::Replaced));
            }
            if !still_authorized() {
                return seen;
            }
        };
        // A try without an answer may have reserved jobs: the repeated call gets them.
        match seen {
            Ok(_) => self.answer_at_timeout(&call, scanned_at, seen),
            Err(_) if still_authorized() => self.inner.queues.reserve(call).await.map_err(|fault| fault.after(tried)),
            Err(_) => seen,
        }
    }

    /// The answer for queues without a job. Queues whose node is away are named; it is an error if all are away.
    fn nothing_in(
        &self,
        queues: &[QueueName],
        snapshots: Vec<Result<Snapshot, Fault>>,
    ) -> Result<ReserveOutcome, Fault> {
        let (mut there, mut unavailable, mut why) = (Vec::new(), Vec::new(), None);
        for (queue, snapshot) in queues.iter().zip(snapshots) {
            match snapshot {
                Ok(snapshot) => there.push(snapshot),
                Err(fault) if self.inner.queues.has_several_servers() => {
                    unavailable.push(queue.clone());
                    why = Some(fault);
                }
                Err(fault) => return Err(fault),
            }
        }
        match why {
            Some(fault) if there.is_empty() => Err(fault),
            _ => Ok(Snapshot::nothing(&there, PassedLines::default(), unavailable)),
        }
    }

    /// Rotates the queues, one place further each time, so that several queues are served as one.
    pub fn rotated(&self, queues: Vec<QueueName>) -> Vec<QueueName> {
        self.inner.turns.next(queues)
    }

    fn enter(&self, call: &Reserve) -> Registration<'_> {
        let (registration, unwatched) = self.inner.table.enter(&call.queues, call.worker.as_ref(), &call.skills);
        for queue in unwatched {
            self.inner.wanted.add(&queue);
            let inner = self.inner.clone();
            self.inner.watches.spawn(async move { watch::watch(&inner, queue).await });
        }
        registration
    }

    /// The answer at the deadline: from newer snapshots of the queues, if there are any that hold for this caller.
    fn answer_at_timeout(
        &self,
        call: &Reserve,
        scanned_at: Instant,
        seen: Result<ReserveOutcome, Fault>,
    ) -> Result<ReserveOutcome, Fault> {
        let later = |queue: &QueueName| self.inner.table.snapshot_after(queue, scanned_at);
        match call.queues.iter().map(later).collect::<Option<Vec<_>>>() {
            Some(snapshots) if !is_personal(call, &seen, &snapshots) => self.nothing_in(&call.queues, snapshots),
            Some(_) | None => seen,
        }
    }
}

/// Whether another caller would be answered differently: skips and exclusions are per worker, and a shared snapshot does not
/// count what waits in the caller's own lines.
fn is_personal(call: &Reserve, seen: &Result<ReserveOutcome, Fault>, snapshots: &[Result<Snapshot, Fault>]) -> bool {
    let has_lines = call.worker.is_some() || !call.skills.is_empty();
    let is_restricted = |snapshot: &Result<Snapshot, Fault>| matches!(snapshot, Ok(Snapshot { restricted: 1.., .. }));
    let by_rule = match seen {
        Ok(ReserveOutcome::Nothing { passed, reason, .. }) => {
            *passed != PassedLines::default() || *reason == Reason::Ineligible
        }
        _ => false,
    };
    by_rule || (has_lines && snapshots.iter().any(is_restricted))
}

impl WaitingState {
    /// Waits for a permit. If none is free soon, other reads are running, or they wait for a Redis that is away.
    async fn enter_soon(&self, reads: &Reads, who: &ReaderId) -> Result<ReadPermit, ReadRefused> {
        reads.enter_soon(who).await.map_err(|why| self.refused(why))
    }

    /// The same at the end of a wait: the callers who have waited together take turns, and are not refused for their number.
    async fn enter_after_wait(&self, reads: &Reads, who: &ReaderId) -> Result<ReadPermit, ReadRefused> {
        reads.enter_after_wait(who).await.map_err(|why| self.refused(why))
    }

    fn refused(&self, _: TooManyReads) -> ReadRefused {
        self.queues.lately_away().map_or(ReadRefused::Busy, ReadRefused::Fault)
    }
}
