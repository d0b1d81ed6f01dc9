//! The state of a queue as a reserve or a look sees it, and the answer to a call that finds no job there.

use intray_redis::Fault;

use super::{PassedLines, QueueAnswer, ReserveOutcome};
use crate::{
    job::{Millis, QueueName, Reason, chance::between},
    record_fields::reserve_fields::{HELD_UP, NOT_ELIGIBLE, SKIPPED},
    redis::read::Fields,
    transitions::undo::Undo,
};

/// Bounds of `retry_after_ms`.
const MIN_RETRY_MS: u64 = 250;
const MAX_RETRY_MS: u64 = 5_000;
/// After a wait that ended early: another instance, or the call that replaced it, can serve at once.
const MAX_RETRY_AFTER_WAIT_MS: u64 = 1_000;

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
    /// How many wait for this worker or those with its skills, in addition to `waiting`.
    pub(super) own_waiting: u64,
    /// Why jobs were passed over, in bits.
    pub(super) passed: u64,
    /// The call stopped before it had seen all jobs.
    pub(super) cut_short: bool,
    /// How many wait for some workers only; 0 in the reply of a reserve, which does not count them.
    pub restricted: u64,
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
    /// How many jobs wait in each line that was asked for.
    pub(super) in_lines: Vec<u64>,
}

impl QueueLook {
    pub(super) fn read(mut answer: Fields<'_>) -> Result<Self, Fault> {
        let now = answer.time()?;
        let (at_limit, replayed, can_give) = (answer.flag()?, answer.flag()?, answer.flag()?);
        let (mut times, mut since) = (answer.list()?, Vec::new());
        while !times.is_done() {
            since.push(times.time()?);
        }
        let snapshot = Snapshot::of(now, answer.list()?)?;
        let (mut counts, mut in_lines) = (answer.list()?, Vec::new());
        while !counts.is_done() {
            in_lines.push(counts.count()?);
        }
        Ok(Self { at_limit, replayed, can_give, since, snapshot, in_lines })
    }

    /// An answer without jobs.
    pub(super) fn nothing(&self) -> QueueAnswer {
        QueueAnswer {
            jobs: Vec::new(),
            undo: Undo::default(),
            refusal: None,
            snapshot: self.snapshot,
            passed: PassedLines::default(),
        }
    }
}

impl Snapshot {
    /// waiting, blocked, delayed, reserved, paused (0 | 1), next ms (negative: never), in a look also restricted
    pub(super) fn of(now: Millis, mut counts: Fields<'_>) -> Result<Self, Fault> {
        let (waiting, blocked) = (counts.count()?, counts.count()?);
        let (delayed, reserved) = (counts.count()?, counts.count()?);
        let (paused, next_ms) = (counts.flag()?, counts.maybe()?);
        let restricted = if counts.is_done() { 0 } else { counts.count()? };
        let (own_waiting, passed, cut_short) = (0, 0, false);
        Ok(Self {
            now,
            waiting,
            blocked,
            delayed,
            reserved,
            paused,
            next_ms,
            own_waiting,
            passed,
            cut_short,
            restricted,
        })
    }

    /// The state that is expected `ms` later.
    #[must_use]
    pub fn aged(mut self, ms: u64) -> Self {
        self.now = Millis(self.now.0 + ms);
        self.next_ms = self.next_ms.map(|next| next.saturating_sub(ms));
        self
    }

    /// The answer to a call that found no job in these queues.
    pub fn nothing(snapshots: &[Self], passed: PassedLines, unavailable: Vec<QueueName>) -> ReserveOutcome {
        ReserveOutcome::Nothing {
            reason: reason(snapshots),
            retry_after_ms: retry_after(snapshots),
            remaining: snapshots.iter().map(|snapshot| snapshot.waiting + snapshot.own_waiting).sum(),
            now: snapshots.iter().map(|snapshot| snapshot.now).max().unwrap_or(Millis(0)),
            passed,
            unavailable,
        }
    }
}

fn reason(snapshots: &[Snapshot]) -> Reason {
    let of = |snapshot: &Snapshot| match snapshot {
        Snapshot { paused: true, .. } => Reason::Paused,
        Snapshot { passed, .. } if passed & SKIPPED != 0 => Reason::Skipped,
        Snapshot { passed, .. } if passed & NOT_ELIGIBLE != 0 => Reason::Ineligible,
        Snapshot { passed, .. } if passed & HELD_UP != 0 => Reason::Blocked,
        Snapshot { waiting: 0, restricted: 1.., .. } => Reason::Ineligible,
        Snapshot { blocked: 1.., .. } => Reason::Blocked,
        Snapshot { delayed: 1.., .. } => Reason::Delayed,
        Snapshot { reserved: 1.., .. } => Reason::Reserved,
        _ => Reason::Empty,
    };
    snapshots.iter().map(of).min().unwrap_or(Reason::Empty)
}

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
            Self::Nothing { remaining, now, passed, unavailable, .. } => {
                let retry_after_ms = between(MIN_RETRY_MS, MAX_RETRY_AFTER_WAIT_MS);
                Self::Nothing { reason, retry_after_ms, remaining, now, passed, unavailable }
            }
            other => other,
        }
    }
}
