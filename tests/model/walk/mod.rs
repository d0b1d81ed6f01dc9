//! A walk: a sequence of operations, done to the model and to the real queue, which must answer and look alike after each.

mod asking;
mod batching;
mod compare;
mod looking;
mod operating;
mod producing;
mod recount;
mod settling;

use std::{cell::RefCell, collections::BTreeMap};

use intray::{
    job::{BatchId, Code, JobId, Reservation},
    queue::{Fault, Undo, derived_id},
};

use crate::{
    ops::{Handle, Nth, Op, Setting, Time, Which},
    real::Real,
    reference::Queue,
    words::{Verdict, same},
};

pub struct Walk<'r> {
    real: &'r mut Real,
    model: Queue,
    is_short_sighted: bool,
    /// Every job and stub that there ever was.
    ids: Vec<Code>,
    /// Every reservation that was ever handed out: job and secret.
    given: Vec<(Code, Code)>,
    /// Worker and number of each reserve call.
    calls: Vec<(&'static str, u64)>,
    /// Reserves whose callers may turn out to be gone.
    unclear: Vec<(Vec<(Code, Code)>, Undo)>,
    /// Every batch that there ever was.
    batches: Vec<BatchId>,
    /// Appends that said their offset.
    sent: Vec<batching::Sent>,
    last_event: String,
    /// Counts up, for ids and nonces that are the same when the sequence runs again.
    next: u64,
    /// How often what was met.
    met: BTreeMap<String, u64>,
    story: RefCell<Option<Vec<String>>>,
}

impl<'r> Walk<'r> {
    pub fn new(real: &'r mut Real, is_short_sighted: bool) -> Self {
        real.begin();
        Self {
            model: Queue::new(real.now()),
            is_short_sighted,
            real,
            ids: Vec::new(),
            given: Vec::new(),
            calls: Vec::new(),
            unclear: Vec::new(),
            batches: Vec::new(),
            sent: Vec::new(),
            last_event: "0-0".to_owned(),
            next: 0,
            met: BTreeMap::new(),
            story: RefCell::new(None),
        }
    }

    /// Ends at the first difference. Answers how often what was met.
    pub async fn run(mut self, ops: &[Op]) -> Result<BTreeMap<String, u64>, String> {
        let verdict = self.steps(ops).await;
        self.unclear.drain(..).for_each(|(_, undo)| undo.disarm());
        verdict.map(|()| self.met)
    }

    /// Runs again, and says all that was asked and answered.
    pub async fn tell(mut self, ops: &[Op]) -> String {
        self.story = RefCell::new(Some(Vec::new()));
        let verdict = self.steps(ops).await;
        self.unclear.drain(..).for_each(|(_, undo)| undo.disarm());
        let mut story = self.story.into_inner().unwrap_or_default();
        story.push(verdict.err().unwrap_or_else(|| "this time they agree: chance in the queue decides".to_owned()));
        story.join("\n")
    }

    /// All of it, and then all goes: of a queue that nobody uses nothing is left.
    async fn steps(&mut self, ops: &[Op]) -> Verdict {
        self.each(ops).await?;
        let defaults: Vec<_> = self.model.chosen.iter().map(|name| Op::Set(Setting::default_of(name))).collect();
        self.each(&defaults).await?;
        self.each(&[Op::PurgeByForce]).await?;
        for _ in 0..3 {
            self.each(&[Op::Pass(Time::Day), Op::Sweep]).await?;
        }
        self.each(&[Op::Retire]).await?;
        self.compare_metric()?;
        let found = self.real.look(&self.last_event)?;
        same("keys that are left", &found.keys, &Vec::new())
    }

    async fn each(&mut self, ops: &[Op]) -> Verdict {
        for op in ops {
            self.note(|| format!("{op:?}"));
            self.step(op).await?;
            self.model.end_batches();
            self.compare()?;
        }
        Ok(())
    }

    async fn step(&mut self, op: &Op) -> Verdict {
        match op {
            Op::Enqueue(items) => self.enqueue(items).await,
            Op::Reserve(asks) => self.reserve(asks).await,
            Op::Undo(nth) => self.undo(*nth).await,
            Op::Extend(calls) => self.extend(calls).await,
            Op::Complete(calls) => self.complete(calls).await,
            Op::Abandon(calls) => self.abandon(calls).await,
            Op::Fail(calls) => self.fail(calls).await,
            Op::Cancel { job, force } => self.cancel(*job, *force).await,
            Op::ReleaseJob(job) => self.release_job(*job).await,
            Op::ReleaseWorker(worker) => self.release_worker(*worker).await,
            Op::RequeueJob(job) => self.requeue_job(*job).await,
            Op::RequeueAll => self.requeue_all().await,
            Op::Reprioritize { job, priority } => self.reprioritize(*job, *priority).await,
            Op::Purge(state) => self.purge(*state, false).await,
            Op::PurgeByForce => self.purge(None, true).await,
            Op::Sweep => self.sweep().await,
            Op::Retire => self.retire().await,
            Op::Set(setting) => self.set(*setting).await,
            Op::Batch(new) => self.create_batch(new).await,
            Op::Append(batch, append) => self.append(*batch, append).await,
            Op::Seal(batch) => self.seal(*batch).await,
            Op::CancelBatch(batch) => self.cancel_batch(*batch).await,
            Op::Pass(time) => {
                self.pass(*time);
                Ok(())
            }
            Op::Look(look) => self.look(*look).await,
        }
    }

    fn pass(&mut self, time: Time) {
        let now = self.model.now;
        let ms = match time {
            Time::Ms(ms) => ms.into(),
            Time::Moment(nth, off) => {
                let ahead: Vec<_> = self.model.moments().into_iter().filter(|&moment| moment > now).collect();
                let moment = nth.of(&ahead).copied().unwrap_or(now + 1);
                moment.saturating_add_signed(off.into()) - now
            }
            Time::Hour => 3_600_000,
            Time::Day => 86_400_000,
        };
        self.real.pass(ms);
        self.model.now += ms;
        self.note(|| format!("  {ms} ms pass"));
    }

    /// A number that was not there before.
    fn fresh(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn which(&self, which: Which) -> JobId {
        let code = match which {
            Which::Unknown => None,
            Which::Any(nth) => nth.of(&self.ids).copied(),
            Which::Of(state, nth) => {
                nth.of(&self.model.in_state(state)).copied().or_else(|| nth.of(&self.ids).copied())
            }
        };
        let id = match code {
            Some(code) => JobId { queue: self.real.queue.clone(), code },
            None => derived_id(self.real.queue.clone(), &[b"nobody's"]),
        };
        self.note(|| format!("  {}", self.short(id.code)));
        id
    }

    fn handle(&self, handle: Handle) -> Reservation {
        let is_out = |(id, secret): &&(Code, Code)| self.model.jobs.get(id).is_some_and(|job| job.is_held_by(secret));
        let given = match handle {
            Handle::Out(nth) => {
                let out: Vec<_> = self.given.iter().filter(is_out).copied().collect();
                nth.of(&out).or_else(|| nth.of(&self.given)).copied()
            }
            Handle::Any(nth) => nth.of(&self.given).copied(),
            Handle::Forged(nth) => nth.of(&self.ids).map(|id| (*id, *id)),
        };
        let nobody = || derived_id(self.real.queue.clone(), &[b"nobody's"]).code;
        let (code, secret) = given.unwrap_or_else(|| (nobody(), nobody()));
        self.note(|| format!("  {}.{}", self.short(code), &secret.as_str()[20..]));
        Reservation { job: JobId { queue: self.real.queue.clone(), code }, secret }
    }

    /// Something happened. Its name ends where numbers and ids begin.
    fn met(&mut self, what: String) {
        let end = ["id:", "Millis", "Shown", "total"].iter().filter_map(|word| what.find(word)).min();
        let what = what[..end.unwrap_or(what.len())].trim_end_matches(|c: char| !c.is_alphanumeric());
        *self.met.entry(what.to_owned()).or_default() += 1;
    }

    /// A line of the story, if it is told.
    fn note(&self, line: impl Fn() -> String) {
        if let Some(story) = self.story.borrow_mut().as_mut() {
            story.push(line());
        }
    }

    /// A job's name in the story.
    fn short(&self, id: Code) -> String {
        let state = self.model.jobs.get(&id).map_or("no job", |job| job.state.word());
        format!("{} ({state})", &id.as_str()[..6])
    }
}

/// How a difference begins that is none: there was no answer.
pub const NO_ANSWER: &str = "no answer";

fn broken(fault: Fault) -> String {
    match fault {
        Fault::Unavailable { why, .. } => format!("{NO_ANSWER}: {why}"),
        Fault::Full | Fault::Broken(_) => format!("the queue failed: {fault}"),
    }
}

/// The answers of a call of several items.
/// As the service does with the items of an array.
async fn all<T>(calls: impl IntoIterator<Item = impl Future<Output = Result<T, Fault>>>) -> Result<Vec<T>, String> {
    futures_util::future::join_all(calls).await.into_iter().map(|answer| answer.map_err(broken)).collect()
}

fn nth_of_undos(nth: Nth, undos: &[(Vec<(Code, Code)>, Undo)]) -> Option<usize> {
    let places: Vec<_> = (0..undos.len()).collect();
    nth.of(&places).copied()
}
