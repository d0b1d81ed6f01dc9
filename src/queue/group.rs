//! Calls that arrive while one is in flight go out together, per (queue, operation): one script, one round trip, an answer
//! for each. A lone call goes at once.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU8, Ordering},
    },
    time::{Duration, Instant},
};

use redis::Value;
use tokio::sync::oneshot;

use super::{Applied, Fault, Inner, connection::Args, meter, script::Script, undo::Undo};
use crate::job::QueueName;

/// One script: long enough to share a round trip, short enough for about a millisecond of Redis.
const MOST_JOBS: u32 = 100;
const MOST_BYTES: usize = 1 << 20;
/// A reserve looks at what its worker holds, too.
const MOST_RESERVES: usize = 64;
/// How often a call that came to too much overdue work, or to too many blocked jobs, goes to the front again. A script does
/// little: these are about 2,000 jobs without locks, or 200 that wait for others of many.
const MOST_TRIES: u8 = 40;
/// Everybody has an answer within two seconds, whatever Redis does.
const PATIENCE: Duration = Duration::from_millis(1_800);

/// Which script a lane runs; calls of one lane share scripts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Op {
    Enqueue,
    Reserve,
    Extend,
    ExtendLarge,
    Complete,
    CompleteLarge,
    Abandon,
    AbandonLarge,
    Fail,
}

impl Op {
    fn script(self, inner: &Inner) -> &Script {
        match self {
            Self::Enqueue => &inner.scripts.enqueue,
            Self::Reserve => &inner.scripts.reserve,
            Self::Extend => &inner.scripts.extend,
            Self::ExtendLarge => &inner.scripts.extend_large,
            Self::Complete => &inner.scripts.complete,
            Self::CompleteLarge => &inner.scripts.complete_large,
            Self::Abandon => &inner.scripts.abandon,
            Self::AbandonLarge => &inner.scripts.abandon_large,
            Self::Fail => &inner.scripts.fail,
        }
    }
}

/// One item of a call.
pub(super) struct Item {
    pub(super) args: Args,
    /// How many jobs it may touch.
    pub(super) jobs: u32,
}

/// A script's answer to one item, and what it said for all of them.
pub(super) struct Answer {
    pub(super) item: Value,
    pub(super) shared: Arc<[Value]>,
    /// Armed for what a reserve newly took: dropped anywhere on its way to the caller, it gives the jobs back.
    pub(super) undo: Option<Undo>,
}

type Reply = oneshot::Sender<Result<Answer, Fault>>;

struct Waiting {
    item: Item,
    reply: Reply,
    claim: Arc<Claim>,
    tries: u8,
}

/// Who was first: the lane that sends an item, or the caller that gives up on it.
#[derive(Default)]
struct Claim(AtomicU8);

impl Claim {
    const SENT: u8 = 1;
    const WITHDRAWN: u8 = 2;

    fn send(&self) -> bool {
        self.0.compare_exchange(0, Self::SENT, Ordering::AcqRel, Ordering::Acquire) != Err(Self::WITHDRAWN)
    }

    /// It was sent and nothing was done about it: it waits again, and its caller may give up on it.
    fn take_back(&self) {
        self.0.store(0, Ordering::Release);
    }

    /// True when the item will never be sent.
    fn withdraw(&self) -> bool {
        self.0.compare_exchange(0, Self::WITHDRAWN, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

type Lane = (QueueName, Op);

/// What waits, by lane. A lane is here as long as its driver runs.
#[derive(Default)]
pub(super) struct Lanes(Mutex<HashMap<Lane, VecDeque<Waiting>>>);

impl Lanes {
    /// Puts items at the end of a lane, and says whether it needs a driver.
    fn join(&self, lane: &Lane, items: Vec<Waiting>) -> bool {
        let mut lanes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match lanes.get_mut(lane) {
            Some(waiting) => {
                waiting.extend(items);
                false
            }
            None => {
                lanes.insert(lane.clone(), items.into());
                true
            }
        }
    }

    /// The next group; `None` ends the lane.
    fn next(&self, lane: &Lane) -> Option<Vec<Waiting>> {
        let mut lanes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = lanes.get_mut(lane)?;
        let (mut group, mut jobs, mut bytes) = (Vec::new(), 0, 0);
        while let Some(next) = waiting.front() {
            jobs += next.item.jobs;
            bytes += next.item.args.size();
            let full = lane.1 == Op::Reserve && group.len() == MOST_RESERVES;
            if !group.is_empty() && (full || jobs > MOST_JOBS || bytes > MOST_BYTES) {
                break;
            }
            let next = waiting.pop_front()?;
            // A reserve whose caller is gone takes nothing; other calls are meant, whoever hears the answer.
            if next.claim.send() && !(lane.1 == Op::Reserve && next.reply.is_closed()) {
                group.push(next);
            } else {
                jobs -= next.item.jobs;
                bytes -= next.item.args.size();
            }
        }
        if group.is_empty() {
            lanes.remove(lane);
            return None;
        }
        Some(group)
    }

    fn first_again(&self, lane: &Lane, items: Vec<Waiting>) {
        let mut lanes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(waiting) = lanes.get_mut(lane) {
            for item in items.into_iter().rev() {
                waiting.push_front(item);
            }
        }
    }
}

/// Sends items in order and waits for the answer to each.
pub(super) async fn call(
    inner: &Arc<Inner>,
    queue: &QueueName,
    op: Op,
    items: Vec<Item>,
) -> Vec<Result<Answer, Fault>> {
    let (mut tickets, mut waiting) = (Vec::with_capacity(items.len()), Vec::with_capacity(items.len()));
    for item in items {
        let (reply, ticket) = oneshot::channel();
        let claim = Arc::new(Claim::default());
        tickets.push((ticket, claim.clone()));
        waiting.push(Waiting { item, reply, claim, tries: 0 });
    }
    let lane = (queue.clone(), op);
    if inner.lanes.join(&lane, waiting) {
        let inner = inner.clone();
        // Not dropped with the caller: a mutation that has begun is finished and its answer read.
        inner.tasks.clone().spawn(async move { drive(&inner, &lane).await });
    }
    let deadline = tokio::time::Instant::now() + PATIENCE;
    let mut answers = Vec::with_capacity(tickets.len());
    for (ticket, claim) in tickets {
        answers.push(match tokio::time::timeout_at(deadline, ticket).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(late(Applied::Unknown)),
            Err(_) if claim.withdraw() => Err(late(Applied::No)),
            Err(_) => Err(late(Applied::Unknown)),
        });
    }
    answers
}

fn late(applied: Applied) -> Fault {
    Fault::Unavailable { applied, why: "no answer in time".to_owned() }
}

/// A driver that panics takes its lane with it, so that the next call starts another.
struct Driver<'d>(&'d Lanes, &'d Lane);

impl Drop for Driver<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.0.lock().unwrap_or_else(PoisonError::into_inner).remove(self.1);
        }
    }
}

async fn drive(inner: &Arc<Inner>, lane: &Lane) {
    let _driver = Driver(&inner.lanes, lane);
    let script = lane.1.script(inner);
    let keys = inner.keys_of(script, &lane.0);
    loop {
        // Whoever is ready to join does so first; when nobody is, this costs nothing.
        tokio::task::yield_now().await;
        let Some(group) = inner.lanes.next(lane) else { return };
        let mut args = Args::default();
        for waiting in &group {
            args.append(&waiting.item.args);
        }
        metrics::histogram!("intray_script_group_jobs", "script" => script.name)
            .record(f64::from(group.iter().map(|w| w.item.jobs).sum::<u32>()));
        let answer = timed(inner, script, &keys, &args).await.and_then(|value| split(lane.1, value, group.len()));
        // After the script, whatever came of it: the sweep looks at what it moved.
        inner.stir(&lane.0);
        match answer {
            Ok((items, shared)) => {
                if items.first().and_then(super::read::word) == Some("overdue") {
                    // Before the group goes again. If it fails, so will the group.
                    let _ = inner.sweep_step(&lane.0).await;
                }
                deliver(inner, lane, group, items, &shared);
            }
            Err(fault) => {
                for waiting in group {
                    let _ = waiting.reply.send(Err(fault.clone()));
                }
            }
        }
    }
}

/// Runs a script and records how long it took.
pub(super) async fn timed(inner: &Inner, script: &Script, keys: &[String], args: &Args) -> Result<Value, Fault> {
    let start = Instant::now();
    let answer = inner.link.run(script, keys, args).await;
    metrics::histogram!("intray_script_duration_seconds", "script" => script.name)
        .record(start.elapsed().as_secs_f64());
    if let Err(fault) = &answer {
        tracing::warn!(script = script.name, %fault, "a script failed");
        metrics::counter!("intray_script_faults_total", "script" => script.name).increment(1);
    }
    answer
}

/// A reserve answers {…shared, items}, all others their items alone.
fn split(op: Op, value: Value, expected: usize) -> Result<(Vec<Value>, Arc<[Value]>), Fault> {
    let broken = || Fault::Broken(format!("{op:?}: an answer for each item was expected"));
    let Value::Array(mut items) = value else { return Err(broken()) };
    let mut shared = Vec::new();
    if op == Op::Reserve {
        let Some(Value::Array(calls)) = items.pop() else { return Err(broken()) };
        shared = std::mem::replace(&mut items, calls);
    }
    if items.len() == expected { Ok((items, shared.into())) } else { Err(broken()) }
}

fn deliver(inner: &Arc<Inner>, lane: &Lane, group: Vec<Waiting>, items: Vec<Value>, shared: &Arc<[Value]>) {
    let (mut again, mut counts) = (Vec::new(), Vec::<(&'static str, u64)>::new());
    for (mut waiting, item) in group.into_iter().zip(items) {
        // "later" is bounded by the caller's patience: each script serves somebody, and those behind it come in their order.
        let word = super::read::word(&item);
        let unlucky = matches!(word, Some("overdue" | "more"));
        if word == Some("later") || unlucky && waiting.tries < MOST_TRIES {
            waiting.tries += u8::from(unlucky);
            waiting.claim.take_back();
            if let Some(behind) = go_on_behind(&item) {
                super::reserve::go_on_behind(&mut waiting.item.args, behind);
            }
            again.push(waiting);
            continue;
        }
        if let Some((transition, n)) = counted(lane.1, &item) {
            match counts.iter_mut().find(|(known, _)| *known == transition) {
                Some((_, sum)) => *sum += n,
                None => counts.push((transition, n)),
            }
        }
        let undo = (lane.1 == Op::Reserve).then(|| Undo::of(inner, &lane.0, &item)).flatten();
        // A caller that is gone drops the answer, and with it the guard.
        let _ = waiting.reply.send(Ok(Answer { item, shared: shared.clone(), undo }));
    }
    for (transition, n) in counts {
        meter::transitions(&lane.0, transition, n);
    }
    if !again.is_empty() {
        inner.lanes.first_again(lane, again);
    }
}

/// Where a reserve that looked at as many as it may goes on: place and id.
fn go_on_behind(item: &Value) -> Option<(&[u8], &[u8])> {
    match item {
        Value::Array(parts) => match parts.as_slice() {
            [Value::BulkString(word), Value::BulkString(place), Value::BulkString(id)] if word == b"more" => {
                Some((place, id))
            }
            _ => None,
        },
        _ => None,
    }
}

/// Which transition an answer tells of, and of how many jobs.
fn counted(op: Op, item: &Value) -> Option<(&'static str, u64)> {
    let transition = meter::transition_of(op, super::read::word(item)?)?;
    match (op, item) {
        (Op::Reserve, Value::Array(parts)) => Some((transition, parts.len() as u64 - 1)),
        _ => Some((transition, 1)),
    }
}
