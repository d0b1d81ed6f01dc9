//! reserve: a worker takes the next jobs, or gets back what it holds.

mod request;
mod several;

use intray_redis::{Args, Fault};

use self::request::{Mode, ReserveRequest};
use super::undo::Undo;
use crate::{
    job::{
        BatchId, JobId, LockName, Millis, Name, Priority, QueueName, Reason, Reservation, State, chance::between,
        ids::Nonce,
    },
    payload::Json,
    store::{handle::Queues, redis::read::Fields},
};

/// A reserve call. The queues are tried in this order.
#[derive(Debug, Clone)]
pub struct Reserve {
    pub queues: Vec<QueueName>,
    pub worker: Option<Name>,
    pub limit: u32,
    pub lease_ms: Option<u32>,
    pub nonce: Nonce,
    /// Only this job.
    pub id: Option<JobId>,
}

#[derive(Debug)]
pub enum ReserveOutcome {
    Jobs {
        jobs: Vec<Handout>,
        remaining: u64,
        now: Millis,
        undo: Undo,
        /// Queues that could not be asked, because their node is away.
        unavailable: Vec<QueueName>,
    },
    /// `passed_over`: this worker has skipped some of the waiting jobs, which another worker may take.
    Nothing {
        reason: Reason,
        retry_after_ms: u64,
        remaining: u64,
        now: Millis,
        passed_over: bool,
        unavailable: Vec<QueueName>,
    },
    UnknownJob,
    NotWaiting(State),
    QueuePaused,
    WorkerLimit,
}

/// A job with its reservation.
#[derive(Debug)]
pub struct Handout {
    pub reservation: Reservation,
    pub payload: Json,
    /// Counts from 1: hand-outs that ended in fail or expiry since the last requeue, plus this one.
    pub attempt: u32,
    pub deadline: Millis,
    /// Warn the holder this long before the deadline.
    pub warn_ms: u32,
    pub reserved_at: Millis,
    pub priority: Priority,
    pub client: Option<Name>,
    pub locks: Vec<LockName>,
    pub batch: Option<BatchId>,
    pub worker: Option<Name>,
    pub enqueued_at: Millis,
    /// How often the holder has resumed it.
    pub resumes: u32,
    /// The draft of its holder, or of any earlier holder where drafts are shared.
    pub draft: Option<Json>,
    pub traceparent: Option<String>,
}

impl Queues {
    /// Hands out jobs. A repeated call gets the same jobs again, and a worker at its limit gets those it holds.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn reserve(&self, call: Reserve) -> Result<ReserveOutcome, Fault> {
        let batcher = &self.parts.batcher;
        if let Some(id) = &call.id {
            let answer = batcher.call(&id.queue, ReserveRequest::new(&call, Mode::Job(id.code), 1)).await?;
            return Ok(finish(vec![answer], Vec::new()));
        }
        if let [queue] = call.queues.as_slice() {
            let answer = batcher.call(queue, ReserveRequest::new(&call, Mode::Next, call.limit)).await?;
            return Ok(finish(vec![answer], Vec::new()));
        }
        // Boxed, to keep the future of the common case small.
        Box::pin(self.reserve_from_several(&call)).await
    }

    /// The state of a queue, as a caller without reservations sees it.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn snapshot(&self, queue: &QueueName) -> Result<Snapshot, Fault> {
        self.look_at(queue, None, Nonce::random()).await.map(|look| look.snapshot)
    }

    async fn look_at(&self, queue: &QueueName, worker: Option<&Name>, nonce: Nonce) -> Result<QueueLook, Fault> {
        let mut args = Args::default();
        args.push(worker.map_or("", Name::as_str)).push(nonce.as_bytes());
        QueueLook::read(Fields::of(&self.run_view("look", queue, &args).await?)?)
    }
}

/// The reply of one queue.
pub(super) struct QueueAnswer {
    /// Each job, and how long it waited in line if this is its first hand-out.
    pub(super) jobs: Vec<(Handout, Option<u64>)>,
    pub(super) undo: Undo,
    pub(super) refusal: Option<ReserveOutcome>,
    pub(super) snapshot: Snapshot,
}

/// The state of a queue, from which an empty answer is made.
#[derive(Debug, Clone, Copy)]
pub struct Snapshot {
    pub(super) now: Millis,
    pub waiting: u64,
    pub(super) blocked: u64,
    pub(super) delayed: u64,
    pub(super) reserved: u64,
    pub paused: bool,
    /// Until a lease expires or a job falls due.
    pub next_ms: Option<u64>,
    /// The worker has skipped all waiting jobs.
    pub(super) skipped: bool,
    /// The call stopped before it had seen all jobs.
    pub(super) cut_short: bool,
}

/// What a reserve over several queues reads of each one first.
pub(super) struct QueueLook {
    pub(super) at_limit: bool,
    /// This call is a repeat, and its jobs are here.
    pub(super) replayed: bool,
    pub(super) can_give: bool,
    /// The start of each live reservation of the worker.
    pub(super) since: Vec<Millis>,
    pub(super) snapshot: Snapshot,
}

impl QueueLook {
    pub(super) fn read(mut answer: Fields<'_>) -> Result<Self, Fault> {
        let now = answer.time()?;
        let (at_limit, replayed, can_give) = (answer.flag()?, answer.flag()?, answer.flag()?);
        let (mut times, mut since) = (answer.list()?, Vec::new());
        while !times.is_done() {
            since.push(times.time()?);
        }
        Ok(Self { at_limit, replayed, can_give, since, snapshot: Snapshot::of(now, answer.list()?)? })
    }

    /// An answer without jobs.
    pub(super) fn nothing(&self) -> QueueAnswer {
        QueueAnswer { jobs: Vec::new(), undo: Undo::default(), refusal: None, snapshot: self.snapshot }
    }
}

impl Snapshot {
    /// waiting, blocked, delayed, reserved, paused (0 | 1), next ms (negative: never)
    pub(super) fn of(now: Millis, mut counts: Fields<'_>) -> Result<Self, Fault> {
        let (waiting, blocked) = (counts.count()?, counts.count()?);
        let (delayed, reserved) = (counts.count()?, counts.count()?);
        let (paused, next_ms) = (counts.flag()?, counts.maybe()?);
        Ok(Self { now, waiting, blocked, delayed, reserved, paused, next_ms, skipped: false, cut_short: false })
    }

    /// The state that is expected `ms` later.
    #[must_use]
    pub fn aged(mut self, ms: u64) -> Self {
        self.now = Millis(self.now.0 + ms);
        self.next_ms = self.next_ms.map(|next| next.saturating_sub(ms));
        self
    }

    /// The answer to a call that found no job in these queues.
    pub fn nothing(snapshots: &[Self], unavailable: Vec<QueueName>) -> ReserveOutcome {
        ReserveOutcome::Nothing {
            reason: reason(snapshots),
            retry_after_ms: retry_after(snapshots),
            remaining: snapshots.iter().map(|snapshot| snapshot.waiting).sum(),
            now: snapshots.iter().map(|snapshot| snapshot.now).max().unwrap_or(Millis(0)),
            passed_over: snapshots.iter().any(|snapshot| snapshot.skipped),
            unavailable,
        }
    }
}

/// Joins the replies of the queues.
pub(super) fn finish(answers: Vec<QueueAnswer>, unavailable: Vec<QueueName>) -> ReserveOutcome {
    let (mut jobs, mut undo, mut snapshots) = (Vec::new(), Undo::default(), Vec::new());
    for answer in answers {
        if let Some(refusal) = answer.refusal {
            return refusal;
        }
        jobs.extend(answer.jobs.into_iter().map(|(job, _)| job));
        undo.join(answer.undo);
        snapshots.push(answer.snapshot);
    }
    if jobs.is_empty() {
        return Snapshot::nothing(&snapshots, unavailable);
    }
    let now = snapshots.iter().map(|snapshot| snapshot.now).max().unwrap_or(Millis(0));
    let remaining = snapshots.iter().map(|snapshot| snapshot.waiting).sum();
    jobs.sort_by_key(|job| if job.resumes > 0 { job.reserved_at } else { Millis(0) });
    ReserveOutcome::Jobs { jobs, remaining, now, undo, unavailable }
}

fn reason(snapshots: &[Snapshot]) -> Reason {
    let of = |snapshot: &Snapshot| match snapshot {
        Snapshot { paused: true, .. } => Reason::Paused,
        Snapshot { skipped: true, .. } => Reason::Skipped,
        Snapshot { blocked: 1.., .. } => Reason::Blocked,
        Snapshot { delayed: 1.., .. } => Reason::Delayed,
        Snapshot { reserved: 1.., .. } => Reason::Reserved,
        _ => Reason::Empty,
    };
    snapshots.iter().map(of).min().unwrap_or(Reason::Empty)
}

/// Bounds of `retry_after_ms`.
const MIN_RETRY_MS: u64 = 250;
const MAX_RETRY_MS: u64 = 5_000;
/// After a wait that ended early: another instance, or the call that replaced it, can serve at once.
const MAX_RETRY_AFTER_WAIT_MS: u64 = 1_000;

/// The soonest expiry or due time within the bounds, with a tenth of jitter so that clients do not return together.
fn retry_after(snapshots: &[Snapshot]) -> u64 {
    let soonest = snapshots.iter().filter_map(|snapshot| snapshot.next_ms).min().unwrap_or(MAX_RETRY_MS);
    let is_cut_short = snapshots.iter().any(|snapshot| snapshot.cut_short);
    let wanted = if is_cut_short { MIN_RETRY_MS } else { soonest.clamp(MIN_RETRY_MS, MAX_RETRY_MS) };
    between(wanted, wanted + wanted / 10).min(MAX_RETRY_MS)
}

impl ReserveOutcome {
    /// The same answer to a wait that ended early, for a reason other than a job or its deadline.
    #[must_use]
    pub fn ended_early(self, reason: Reason) -> Self {
        match self {
            Self::Nothing { remaining, now, passed_over, unavailable, .. } => {
                let retry_after_ms = between(MIN_RETRY_MS, MAX_RETRY_AFTER_WAIT_MS);
                Self::Nothing { reason, retry_after_ms, remaining, now, passed_over, unavailable }
            }
            other => other,
        }
    }
}
