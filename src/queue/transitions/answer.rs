//! What reserve scripts said, queue by queue, made into one answer.

use redis::Value;

use crate::job::{JobId, Millis, Priority, QueueName, Reason, Reservation};
use crate::queue::{
    Fault,
    chance::between,
    lanes::Answer,
    layout::record::{self, Header, Live},
    redis::read::{Fields, broken},
    transitions::reserve::{Handout, ReserveOutcome},
    transitions::undo::Undo,
};

/// One queue's part of an answer.
pub(crate) struct Part {
    pub(crate) jobs: Vec<Handout>,
    undo: Option<Undo>,
    refusal: Option<ReserveOutcome>,
    sight: Sight,
}

/// What a queue looks like to somebody who finds nothing.
#[derive(Debug, Clone, Copy)]
pub struct Sight {
    now: Millis,
    pub waiting: u64,
    blocked: u64,
    delayed: u64,
    reserved: u64,
    pub paused: bool,
    /// Until something expires or falls due.
    pub next_ms: Option<u64>,
    /// All that is there, the worker has skipped.
    skipped: bool,
    /// More was to be looked at than one call may.
    cut_short: bool,
}

/// One queue, as a reserve over several looks at it first.
pub(crate) struct Look {
    pub(crate) at_limit: bool,
    /// This very call was given jobs before.
    pub(crate) replayed: bool,
    pub(crate) can_give: bool,
    /// Of each live reservation of the worker.
    pub(crate) since: Vec<Millis>,
    pub(crate) sight: Sight,
}

impl Look {
    pub(crate) fn read(mut answer: Fields) -> Result<Self, Fault> {
        let now = answer.time()?;
        let (at_limit, replayed, can_give) = (answer.flag()?, answer.flag()?, answer.flag()?);
        let (mut times, mut since) = (answer.list()?, Vec::new());
        while !times.is_done() {
            since.push(times.time()?);
        }
        Ok(Self { at_limit, replayed, can_give, since, sight: read_sight(now, answer.list()?)? })
    }

    /// A part that gives nothing.
    pub(crate) fn nothing(&self) -> Part {
        Part { jobs: Vec::new(), undo: None, refusal: None, sight: self.sight }
    }
}

impl Sight {
    /// The same, so long after.
    #[must_use]
    pub fn aged(mut self, ms: u64) -> Self {
        self.now = Millis(self.now.0 + ms);
        self.next_ms = self.next_ms.map(|next| next.saturating_sub(ms));
        self
    }

    /// What somebody is told who finds nothing in queues that look so.
    pub fn nothing(sights: &[Self]) -> ReserveOutcome {
        ReserveOutcome::Nothing {
            reason: reason(sights),
            retry_after_ms: retry_after(sights),
            remaining: sights.iter().map(|sight| sight.waiting).sum(),
            now: sights.iter().map(|sight| sight.now).max().unwrap_or(Millis(0)),
            passed_over: sights.iter().any(|sight| sight.skipped),
        }
    }
}

fn read_sight(now: Millis, mut fields: Fields) -> Result<Sight, Fault> {
    Ok(Sight {
        now,
        waiting: fields.count()?,
        blocked: fields.count()?,
        delayed: fields.count()?,
        reserved: fields.count()?,
        paused: fields.flag()?,
        next_ms: fields.maybe()?,
        skipped: false,
        cut_short: false,
    })
}

pub(crate) fn read_part(queue: &QueueName, answer: Answer) -> Result<Part, Fault> {
    let mut shared = Fields::of(Value::Array(answer.shared.to_vec()))?;
    let now = shared.time()?;
    let warn_ms = shared.count()? as u32;
    let mut sight = read_sight(now, shared.list()?)?;
    let mut item = Fields::of(answer.item)?;
    let (mut jobs, mut refusal) = (Vec::new(), None);
    match item.text()?.as_str() {
        "new" | "held" => {
            for job in item.lists() {
                jobs.push(read_handout(queue, warn_ms, job?)?);
            }
        }
        "overdue" | "later" => sight.cut_short = true,
        "more" => {
            sight.cut_short = true;
            sight.skipped = !item.bytes()?.is_empty();
        }
        "skipped" => sight.skipped = true,
        "unknown" => refusal = Some(ReserveOutcome::UnknownJob),
        "state" => refusal = Some(ReserveOutcome::NotWaiting(item.state()?)),
        "paused" => refusal = Some(ReserveOutcome::QueuePaused),
        "limit" => refusal = Some(ReserveOutcome::WorkerLimit),
        _ => return Err(broken("jobs or a refusal")),
    }
    Ok(Part { jobs, undo: answer.undo, refusal, sight })
}

fn read_handout(queue: &QueueName, warn_ms: u32, mut answer: Fields) -> Result<Handout, Fault> {
    let job = JobId { queue: queue.clone(), code: answer.code()? };
    let header = Header::parse(&answer.bytes()?)?;
    let apart = answer.bytes()?;
    let live = Live::parse(&answer.bytes()?)?;
    let deadline = answer.time()?;
    let draft = answer.bytes()?;
    let hold = live.hold.ok_or_else(|| broken("a reservation"))?;
    let payload = if apart.is_empty() { header.payload } else { Some(record::json(apart)?) };
    let priority = live.score.map_or(header.priority.into(), |score| score >> 46);
    Ok(Handout {
        reservation: Reservation { job: job.clone(), secret: hold.secret },
        payload: payload.ok_or_else(|| broken("a payload"))?,
        attempt: live.attempts + 1,
        deadline,
        warn_ms,
        reserved_at: hold.reserved_at,
        priority: Priority::new(priority).map_err(|_| broken("a priority"))?,
        client: header.client,
        locks: header.locks,
        batch: header.is_member.then(|| job.batch()),
        worker: hold.worker,
        enqueued_at: header.enqueued_at,
        resumes: hold.resumes,
        draft: if draft.is_empty() { None } else { Some(record::json(draft)?) },
        traceparent: header.traceparent,
    })
}

/// One answer out of the parts.
pub(crate) fn finish(parts: Vec<Part>) -> ReserveOutcome {
    let (mut jobs, mut undo, mut sights) = (Vec::new(), Undo::default(), Vec::new());
    for part in parts {
        if let Some(refusal) = part.refusal {
            return refusal;
        }
        jobs.extend(part.jobs);
        undo.join(part.undo);
        sights.push(part.sight);
    }
    if jobs.is_empty() {
        return Sight::nothing(&sights);
    }
    let now = sights.iter().map(|sight| sight.now).max().unwrap_or(Millis(0));
    let remaining = sights.iter().map(|sight| sight.waiting).sum();
    jobs.sort_by_key(|job| if job.resumes > 0 { job.reserved_at } else { Millis(0) });
    ReserveOutcome::Jobs { jobs, remaining, now, undo }
}

fn reason(sights: &[Sight]) -> Reason {
    let of = |sight: &Sight| match sight {
        Sight { paused: true, .. } => Reason::Paused,
        Sight { skipped: true, .. } => Reason::Skipped,
        Sight { blocked: 1.., .. } => Reason::Blocked,
        Sight { delayed: 1.., .. } => Reason::Delayed,
        Sight { reserved: 1.., .. } => Reason::Reserved,
        _ => Reason::Empty,
    };
    sights.iter().map(of).min().unwrap_or(Reason::Empty)
}

/// The soonest expiry or due time, within bounds, with a tenth of jitter so that pages do not come back together.
fn retry_after(sights: &[Sight]) -> u64 {
    const SOON: u64 = 250;
    const LATE: u64 = 5_000;
    let soonest = sights.iter().filter_map(|sight| sight.next_ms).min().unwrap_or(LATE);
    let wanted = if sights.iter().any(|sight| sight.cut_short) { SOON } else { soonest.clamp(SOON, LATE) };
    between(wanted, wanted + wanted / 10).min(LATE)
}
