//! Calls that arrive while one is in flight go out together, per (queue, operation): one script, one round trip, an answer
//! for each. A lone call goes at once.

mod answers;
mod claim;

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use redis::Value;
use tokio::sync::oneshot;

use self::claim::Claim;
use super::{Applied, Fault, Inner, meter, redis::link::Args, script::Script, transitions::undo::Undo};
use crate::job::{Ending, QueueName};

/// One script: long enough to share a round trip, short enough for about a millisecond of Redis.
const MOST_JOBS: u32 = 100;
const MOST_BYTES: usize = 1 << 20;
/// A reserve looks at what its worker holds, too.
const MOST_RESERVES: usize = 64;
/// Everybody has an answer within two seconds, whatever Redis does.
pub(crate) const PATIENCE: Duration = Duration::from_millis(1_800);

/// Which script a lane runs; calls of one lane share scripts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Op {
    Enqueue,
    Reserve,
    Extend,
    Complete,
    Abandon,
    Fail,
}

impl Op {
    fn script(self, needs_memory: bool, inner: &Inner) -> &Script {
        match (self, needs_memory) {
            (Self::Enqueue, _) => &inner.scripts.enqueue,
            (Self::Reserve, _) => &inner.scripts.reserve,
            (Self::Extend, false) => &inner.scripts.extend,
            (Self::Extend, true) => &inner.scripts.extend_large,
            (Self::Complete, false) => &inner.scripts.complete,
            (Self::Complete, true) => &inner.scripts.complete_large,
            (Self::Abandon, false) => &inner.scripts.abandon,
            (Self::Abandon, true) => &inner.scripts.abandon_large,
            (Self::Fail, _) => &inner.scripts.fail,
        }
    }
}

/// One item of a call.
pub(crate) struct Item {
    pub(crate) args: Args,
    /// How many jobs it may touch.
    pub(crate) jobs: u32,
    /// So much that it is refused at `maxmemory`. It goes with its like alone, lest others are refused with it; and down
    /// the same lane as they, lest one overtakes the other.
    pub(crate) needs_memory: bool,
}

/// A script's answer to one item, and what it said for all of them.
pub(crate) struct Answer {
    pub(crate) item: Value,
    pub(crate) shared: Arc<[Value]>,
    /// Armed for what a reserve newly took: dropped anywhere on its way to the caller, it gives the jobs back.
    pub(crate) undo: Option<Undo>,
}

impl Answer {
    /// To what is said about a reservation in a queue that is none: as a script would say it, and nothing is run for it.
    pub(crate) fn unknown() -> Self {
        let words = ["lost", Ending::Unknown.word(), ""];
        let item = Value::Array(words.iter().map(|word| Value::BulkString(word.as_bytes().to_vec())).collect());
        Self { item, shared: Arc::default(), undo: None }
    }
}

type Reply = oneshot::Sender<Result<Answer, Fault>>;

struct Waiting {
    item: Item,
    reply: Reply,
    claim: Arc<Claim>,
    tries: u8,
}

type Lane = (QueueName, Op);

/// What waits, by lane. A lane is here as long as its driver runs.
#[derive(Default)]
pub(crate) struct Lanes(Mutex<HashMap<Lane, VecDeque<Waiting>>>);

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
        let (mut group, mut jobs, mut bytes) = (Vec::<Waiting>::new(), 0, 0);
        while let Some(next) = waiting.front() {
            if group.first().is_some_and(|first| first.item.needs_memory != next.item.needs_memory) {
                break;
            }
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
pub(crate) async fn call(
    inner: &Arc<Inner>,
    queue: &QueueName,
    op: Op,
    items: Vec<Item>,
) -> Vec<Result<Answer, Fault>> {
    call_since(tokio::time::Instant::now(), inner, queue, op, items).await
}

/// The same for a caller who has waited before.
pub(crate) async fn call_since(
    begin: tokio::time::Instant,
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
    let deadline = begin + PATIENCE;
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

pub(crate) fn late(applied: Applied) -> Fault {
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
    // The same, whether or not there must be memory to spare.
    let keys = inner.keys_of(lane.1.script(false, inner), &lane.0);
    loop {
        // Whoever is ready to join does so first; when nobody is, this costs nothing.
        tokio::task::yield_now().await;
        let Some(group) = inner.lanes.next(lane) else { return };
        let script = lane.1.script(group.iter().any(|waiting| waiting.item.needs_memory), inner);
        let mut args = Args::default();
        for waiting in &group {
            args.append(&waiting.item.args);
        }
        metrics::histogram!("intray_script_group_jobs", "script" => script.name)
            .record(f64::from(group.iter().map(|w| w.item.jobs).sum::<u32>()));
        let answer = run(inner, script, &lane.0, &keys, &args).await;
        let answer = answer.and_then(|value| answers::split(lane.1, value, group.len()));
        // After the script: the sweep looks at what it moved, or may have moved.
        if answer.as_ref().map_or(true, |(items, _)| items.iter().any(|item| answers::moved(lane.1, item))) {
            inner.stir(&lane.0);
        }
        match answer {
            Ok((items, shared)) => {
                if items.first().and_then(super::redis::read::word) == Some("overdue") {
                    // Before the group goes again. If it fails, so will the group.
                    let _ = inner.sweep_step(&lane.0).await;
                }
                answers::deliver(inner, lane, group, items, &shared);
            }
            Err(fault) => {
                for waiting in group {
                    let _ = waiting.reply.send(Err(fault.clone()));
                }
            }
        }
    }
}

/// Runs a script on a queue, records how long it took, and counts what it did.
pub(crate) async fn run(
    inner: &Inner,
    script: &Script,
    queue: &QueueName,
    keys: &[String],
    args: &Args,
) -> Result<Value, Fault> {
    timed(inner, script, keys, args).await.map(|answer| meter::counted(queue, answer))
}

/// Runs a script and records how long it took.
pub(crate) async fn timed(inner: &Inner, script: &Script, keys: &[String], args: &Args) -> Result<Value, Fault> {
    let start = Instant::now();
    let answer = match inner.link.run(script, keys, args).await {
        Err(fault) => Err(inner.link.explained(fault, &inner.keys.registry()).await),
        done => done,
    };
    metrics::histogram!("intray_script_duration_seconds", "script" => script.name)
        .record(start.elapsed().as_secs_f64());
    if let Err(fault) = &answer {
        inner.complaints.about(script_failed, script.name, fault.to_string());
        metrics::counter!("intray_script_faults_total", "script" => script.name).increment(1);
    }
    answer
}

fn script_failed(script: &'static str, fault: &str, times: u64) {
    tracing::warn!(script, fault, times, "a script failed");
}
