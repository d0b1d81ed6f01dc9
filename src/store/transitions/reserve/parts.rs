//! What reserve scripts said, queue by queue, made into one answer.

use intray_redis::Fault;

use super::{Handout, ReserveOutcome};
use crate::{
    job::{Millis, QueueName, Reason, chance::between},
    store::{redis::read::Fields, transitions::undo::Undo},
};

/// One queue's part of an answer.
pub(super) struct Part {
    pub(super) jobs: Vec<Handout>,
    pub(super) undo: Undo,
    pub(super) refusal: Option<ReserveOutcome>,
    pub(super) snapshot: Snapshot,
}

/// What a queue looks like to somebody who finds nothing.
#[derive(Debug, Clone, Copy)]
pub struct Snapshot {
    pub(super) now: Millis,
    pub waiting: u64,
    pub(super) blocked: u64,
    pub(super) delayed: u64,
    pub(super) reserved: u64,
    pub paused: bool,
    /// Until something expires or falls due.
    pub next_ms: Option<u64>,
    /// All that is there, the worker has skipped.
    pub(super) skipped: bool,
    /// More was to be looked at than one call may.
    pub(super) cut_short: bool,
}

/// One queue, as a reserve over several looks at it first.
pub(super) struct Look {
    pub(super) at_limit: bool,
    /// This very call was given jobs before.
    pub(super) replayed: bool,
    pub(super) can_give: bool,
    /// Of each live reservation of the worker.
    pub(super) since: Vec<Millis>,
    pub(super) snapshot: Snapshot,
}

impl Look {
    pub(super) fn read(mut answer: Fields<'_>) -> Result<Self, Fault> {
        let now = answer.time()?;
        let (at_limit, replayed, can_give) = (answer.flag()?, answer.flag()?, answer.flag()?);
        let (mut times, mut since) = (answer.list()?, Vec::new());
        while !times.is_done() {
            since.push(times.time()?);
        }
        Ok(Self { at_limit, replayed, can_give, since, snapshot: Snapshot::of(now, answer.list()?)? })
    }

    /// A part that gives nothing.
    pub(super) fn nothing(&self) -> Part {
        Part { jobs: Vec::new(), undo: Undo::default(), refusal: None, snapshot: self.snapshot }
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

    /// The same, so long after.
    #[must_use]
    pub fn aged(mut self, ms: u64) -> Self {
        self.now = Millis(self.now.0 + ms);
        self.next_ms = self.next_ms.map(|next| next.saturating_sub(ms));
        self
    }

    /// What somebody is told who finds nothing in queues that look so.
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

/// One answer out of the parts.
pub(super) fn finish(parts: Vec<Part>, unavailable: Vec<QueueName>) -> ReserveOutcome {
    let (mut jobs, mut undo, mut snapshots) = (Vec::new(), Undo::default(), Vec::new());
    for part in parts {
        if let Some(refusal) = part.refusal {
            return refusal;
        }
        jobs.extend(part.jobs);
        undo.join(part.undo);
        snapshots.push(part.snapshot);
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

/// The soonest expiry or due time, within bounds, with a tenth of jitter so that pages do not come back together.
fn retry_after(snapshots: &[Snapshot]) -> u64 {
    const SOON: u64 = 250;
    const LATE: u64 = 5_000;
    let soonest = snapshots.iter().filter_map(|snapshot| snapshot.next_ms).min().unwrap_or(LATE);
    let wanted = if snapshots.iter().any(|snapshot| snapshot.cut_short) { SOON } else { soonest.clamp(SOON, LATE) };
    between(wanted, wanted + wanted / 10).min(LATE)
}
