//! reserve: a person takes the next job, or gets back what they hold.

use std::sync::Arc;

use redis::Value;

use super::{
    Fault, Inner, Queues,
    connection::Args,
    group::{self, Answer, Item, Op},
    ids::{self, Nonce, between},
    meter,
    read::{Fields, broken},
    record::{self, Header, Live},
};
use crate::{
    job::{Code, JobId, Millis, Name, Priority, QueueName, Reservation, State},
    payload::Json,
};

/// What somebody asks for. The queues are looked at in order.
#[derive(Debug, Clone)]
pub struct Reserve {
    pub queues: Vec<QueueName>,
    pub worker: Option<Name>,
    pub limit: u32,
    pub lease_ms: Option<u32>,
    pub nonce: Nonce,
    /// This very job and no other.
    pub id: Option<JobId>,
}

#[derive(Debug)]
pub enum ReserveOutcome {
    Jobs { jobs: Vec<Handout>, remaining: u64, now: Millis, undo: Undo },
    Nothing { reason: Reason, retry_after_ms: u64, remaining: u64, now: Millis },
    UnknownJob,
    NotWaiting(State),
    QueuePaused,
    WorkerLimit,
}

/// Why there is nothing: the first that applies to any of the queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    Paused,
    Delayed,
    Reserved,
    Empty,
}

impl Reason {
    pub fn word(self) -> &'static str {
        match self {
            Self::Paused => "paused",
            Self::Delayed => "delayed",
            Self::Reserved => "reserved",
            Self::Empty => "empty",
        }
    }
}

/// One job in somebody's hands.
#[derive(Debug)]
pub struct Handout {
    pub reservation: Reservation,
    pub payload: Json,
    /// 1 for the first: hand-outs that ended in fail or expiry since the last requeue, and this one.
    pub attempt: u32,
    pub deadline: Millis,
    /// How long before the deadline its holder should be warned.
    pub warn_ms: u32,
    pub reserved_at: Millis,
    pub priority: Priority,
    pub client: Option<Name>,
    pub worker: Option<Name>,
    pub enqueued_at: Millis,
    /// How often its holder has come back for it.
    pub resumes: u32,
    pub traceparent: Option<String>,
}

/// What a call newly reserved. Dropped before [`Undo::disarm`], it gives the jobs back: nobody has seen them.
#[derive(Default)]
pub struct Undo(Vec<Taken>);

struct Taken {
    inner: Arc<Inner>,
    queue: QueueName,
    nonce: [u8; 16],
    codes: Vec<Code>,
}

impl std::fmt::Debug for Undo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Undo({})", self.0.len())
    }
}

impl Undo {
    /// The answer is with its caller.
    pub fn disarm(mut self) {
        self.0.clear();
    }

    /// For the jobs of a script's answer, if they are newly reserved.
    pub(super) fn of(inner: &Arc<Inner>, queue: &QueueName, item: &Value) -> Option<Self> {
        let Value::Array(parts) = item else { return None };
        let (word, jobs) = parts.split_first()?;
        if super::read::word(word) != Some("new") {
            return None;
        }
        let (mut codes, mut nonce) = (Vec::with_capacity(jobs.len()), None);
        for job in jobs {
            let Value::Array(fields) = job else { return None };
            codes.push(Code::parse(super::read::word(fields.first()?)?)?);
            let Value::BulkString(live) = fields.get(3)? else { return None };
            nonce = Live::parse(live).ok()?.hold.map(|hold| hold.nonce);
        }
        Some(Self(vec![Taken { inner: inner.clone(), queue: queue.clone(), nonce: nonce?, codes }]))
    }

    fn join(&mut self, other: Option<Self>) {
        if let Some(mut other) = other {
            self.0.append(&mut other.0);
        }
    }
}

impl Drop for Undo {
    fn drop(&mut self) {
        for taken in self.0.drain(..) {
            let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
            let tasks = taken.inner.tasks.clone();
            tasks.spawn_on(give_back(taken), &runtime);
        }
    }
}

async fn give_back(taken: Taken) {
    let mut args = Args::default();
    let nonce = Nonce::from_bytes(taken.nonce);
    for code in &taken.codes {
        args.push(code.as_str()).push(nonce.as_bytes());
    }
    let script = &taken.inner.scripts.undo;
    let keys = taken.inner.keys_of(script, &taken.queue);
    // If this fails too, the deadline gives the jobs back.
    if group::timed(&taken.inner, script, &keys, &args).await.is_ok() {
        meter::transitions(&taken.queue, "undelivered", taken.codes.len() as u64);
        tracing::debug!(queue = %taken.queue, jobs = taken.codes.len(), "a caller was gone, its jobs are back");
    }
}

/// How the script is to look for jobs.
enum Mode<'m> {
    Next,
    /// What the worker holds, and nothing else.
    Resume,
    This(&'m JobId),
}

/// One queue's part of an answer.
struct Part {
    jobs: Vec<Handout>,
    undo: Option<Undo>,
    refusal: Option<ReserveOutcome>,
    sight: Sight,
}

/// What a queue looks like to somebody who finds nothing.
#[derive(Clone, Copy)]
struct Sight {
    now: Millis,
    waiting: u64,
    delayed: u64,
    reserved: u64,
    paused: bool,
    next_ms: Option<u64>,
    /// More was to be looked at than one call may.
    cut_short: bool,
}

impl Queues {
    /// Hands out jobs, or gives a worker at the limit the same ones again.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn reserve(&self, call: Reserve) -> Result<ReserveOutcome, Fault> {
        if let Some(id) = &call.id {
            let part = self.ask(&call, &id.queue, Mode::This(id), 1).await?;
            return Ok(finish(vec![part]));
        }
        if let [queue] = call.queues.as_slice() {
            let part = self.ask(&call, queue, Mode::Next, call.limit).await?;
            return Ok(finish(vec![part]));
        }
        self.reserve_of_many(&call).await
    }

    /// Looks at all queues at once, then asks one after the other until one gives.
    async fn reserve_of_many(&self, call: &Reserve) -> Result<ReserveOutcome, Fault> {
        let looks = call.queues.iter().map(|queue| self.look(queue, call.worker.as_ref()));
        let looks = futures_util::future::try_join_all(looks).await?;
        if looks.iter().any(|look| look.at_limit) {
            return self.resume(call, &looks).await;
        }
        let mut parts = Vec::with_capacity(looks.len());
        for (queue, look) in call.queues.iter().zip(looks) {
            let given = parts.iter().any(|part: &Part| !part.jobs.is_empty());
            parts.push(if given || !look.can_give {
                Part { jobs: Vec::new(), undo: None, refusal: None, sight: look.sight }
            } else {
                self.ask(call, queue, Mode::Next, call.limit).await?
            });
        }
        Ok(finish(parts))
    }

    /// All that the worker holds in the queues, the oldest first, as many as were asked for.
    async fn resume(&self, call: &Reserve, looks: &[Look]) -> Result<ReserveOutcome, Fault> {
        let held = looks.iter().enumerate().flat_map(|(i, look)| look.since.iter().map(move |&since| (since, i)));
        let mut held: Vec<_> = held.collect();
        held.sort_unstable();
        held.truncate(call.limit as usize);
        let asked = call.queues.iter().zip(looks).enumerate().map(|(i, (queue, look))| {
            let share = held.iter().filter(|(_, of)| *of == i).count() as u32;
            async move {
                if share > 0 {
                    return self.ask(call, queue, Mode::Resume, share).await;
                }
                Ok(Part { jobs: Vec::new(), undo: None, refusal: None, sight: look.sight })
            }
        });
        Ok(finish(futures_util::future::try_join_all(asked).await?))
    }

    async fn ask(&self, call: &Reserve, queue: &QueueName, mode: Mode<'_>, limit: u32) -> Result<Part, Fault> {
        let mut args = Args::default();
        args.push(call.worker.as_ref().map_or("", Name::as_str)).push(call.nonce.as_bytes());
        args.number(limit.into()).number(call.lease_ms.unwrap_or(0).into());
        let (word, id) = match mode {
            Mode::Next => ("next", ""),
            Mode::Resume => ("resume", ""),
            Mode::This(id) => ("this", id.code.as_str()),
        };
        args.push(word).push(id);
        let (mut secrets, mut digests) = (Vec::new(), Vec::new());
        for _ in 0..limit {
            let secret = ids::random_code();
            secrets.extend(secret.as_str().as_bytes());
            digests.extend(ids::secret_digest(&secret));
        }
        args.push(secrets).push(digests);
        self.stir(queue);
        let answer = group::call(&self.inner, queue, Op::Reserve, vec![Item { args, jobs: limit }]).await.pop();
        read_part(queue, answer.ok_or_else(|| broken("an answer"))??)
    }

    async fn look(&self, queue: &QueueName, worker: Option<&Name>) -> Result<Look, Fault> {
        let mut args = Args::default();
        args.push(worker.map_or("", Name::as_str));
        let mut answer = Fields::of(self.run(&self.inner.scripts.look, queue, &args).await?)?;
        let now = answer.time()?;
        let (at_limit, can_give) = (answer.flag()?, answer.flag()?);
        let (mut times, mut since) = (answer.list()?, Vec::new());
        while !times.is_done() {
            since.push(times.time()?);
        }
        Ok(Look { at_limit, can_give, since, sight: read_sight(now, answer.list()?)? })
    }
}

struct Look {
    at_limit: bool,
    can_give: bool,
    since: Vec<Millis>,
    sight: Sight,
}

fn read_sight(now: Millis, mut fields: Fields) -> Result<Sight, Fault> {
    Ok(Sight {
        now,
        waiting: fields.count()?,
        delayed: fields.count()?,
        reserved: fields.count()?,
        paused: fields.flag()?,
        next_ms: fields.maybe()?,
        cut_short: false,
    })
}

fn read_part(queue: &QueueName, answer: Answer) -> Result<Part, Fault> {
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
        "more" => sight.cut_short = true,
        "unknown" => refusal = Some(ReserveOutcome::UnknownJob),
        "state" => refusal = Some(ReserveOutcome::NotWaiting(item.state()?)),
        "paused" => refusal = Some(ReserveOutcome::QueuePaused),
        "limit" => refusal = Some(ReserveOutcome::WorkerLimit),
        _ => return Err(broken("jobs or a refusal")),
    }
    Ok(Part { jobs, undo: answer.undo, refusal, sight })
}

fn read_handout(queue: &QueueName, warn_ms: u32, mut job: Fields) -> Result<Handout, Fault> {
    let code = job.code()?;
    let header = Header::parse(&job.bytes()?)?;
    let apart = job.bytes()?;
    let live = Live::parse(&job.bytes()?)?;
    let deadline = job.time()?;
    let hold = live.hold.ok_or_else(|| broken("a reservation"))?;
    let payload = if apart.is_empty() { header.payload } else { Some(record::json(apart)?) };
    let priority = live.score.map_or(header.priority.into(), |score| score >> 46);
    Ok(Handout {
        reservation: Reservation { job: JobId { queue: queue.clone(), code }, secret: hold.secret },
        payload: payload.ok_or_else(|| broken("a payload"))?,
        attempt: live.attempts + 1,
        deadline,
        warn_ms,
        reserved_at: hold.reserved_at,
        priority: Priority::new(priority).map_err(|_| broken("a priority"))?,
        client: header.client,
        worker: hold.worker,
        enqueued_at: header.enqueued_at,
        resumes: hold.resumes,
        traceparent: header.traceparent,
    })
}

/// One answer out of the parts.
fn finish(parts: Vec<Part>) -> ReserveOutcome {
    let (mut jobs, mut undo, mut sights) = (Vec::new(), Undo::default(), Vec::new());
    for part in parts {
        if let Some(refusal) = part.refusal {
            return refusal;
        }
        jobs.extend(part.jobs);
        undo.join(part.undo);
        sights.push(part.sight);
    }
    let now = sights.iter().map(|sight| sight.now).max().unwrap_or(Millis(0));
    let remaining = sights.iter().map(|sight| sight.waiting).sum();
    if jobs.is_empty() {
        return ReserveOutcome::Nothing {
            reason: reason(&sights),
            retry_after_ms: retry_after(&sights),
            remaining,
            now,
        };
    }
    jobs.sort_by_key(|job| if job.resumes > 0 { job.reserved_at } else { Millis(0) });
    ReserveOutcome::Jobs { jobs, remaining, now, undo }
}

fn reason(sights: &[Sight]) -> Reason {
    let of = |sight: &Sight| match sight {
        Sight { paused: true, .. } => Reason::Paused,
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
