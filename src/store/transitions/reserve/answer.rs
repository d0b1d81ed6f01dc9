//! The replies of the queues that a reserve has asked, joined into one answer, and when to try again.

use intray_redis::Fault;

use super::{Handout, ReserveOutcome};
use crate::{
    job::{Millis, QueueName, Reason, chance::between},
    store::{redis::read::Fields, transitions::undo::Undo},
};

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
