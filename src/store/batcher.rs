//! Calls that arrive while one is in flight go out together, per queue and script: one round trip, an answer for each, in
//! their order. A lone call goes at once. Which calls there are, this does not know.

mod call_handle;

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use foldhash::HashMap;
use futures_util::future::BoxFuture;
use intray_redis::{Applied, Args, Fault};
use redis::Value;

use self::call_handle::CallHandle;
use super::{
    redis::read::broken,
    registry::Registry,
    runner::Runner,
    script::Script,
    transition::{BatchPolicy, BatchedTransition, QueueCheck, Reply, Retry},
};
use crate::job::{QueueName, budget::ANSWER};

/// One script: long enough to share a round trip, short enough for about a millisecond of Redis.
const MAX_JOBS_PER_SCRIPT: u32 = 100;
const MAX_BYTES_PER_SCRIPT: usize = 1 << 20;
/// How often a call that came to too many blocked jobs goes on behind them. A script looks at few: these are about 200 that
/// wait for others of many.
const MAX_CONTINUATIONS: u8 = 40;
/// How often a call that came to overdue work goes to the front again after a turn of the sweep: about 1,000 jobs. Then
/// it has what is in line by now.
const MAX_SWEEPS: u8 = 20;

/// Puts back what is overdue in a queue. If it fails, so does whatever comes after it.
pub(crate) type SweepFn = for<'s> fn(&'s Arc<Runner>, &'s QueueName) -> BoxFuture<'s, ()>;

/// A queue, and the name of the script that all calls of the lane run.
type LaneKey = (QueueName, &'static str);

/// A call on its way.
struct PendingCall {
    number: u64,
    args: Args,
    tries: u8,
    /// It waits for the sweep no more.
    skips_overdue: bool,
    handle: Box<dyn CallHandle>,
}

/// What waits, by lane. A lane is here as long as its driver runs.
pub(crate) struct Batcher {
    runner: Arc<Runner>,
    registry: Arc<Registry>,
    sweep: SweepFn,
    lanes: Mutex<HashMap<LaneKey, VecDeque<PendingCall>>>,
    numbers: AtomicU64,
}

impl Batcher {
    pub(crate) fn new(runner: Arc<Runner>, registry: Arc<Registry>, sweep: SweepFn) -> Self {
        Self { runner, registry, sweep, lanes: Mutex::default(), numbers: AtomicU64::new(0) }
    }

    /// Sends a call behind those that are on their way, and waits for its answer.
    pub(crate) async fn call<T: BatchedTransition>(
        self: &Arc<Self>,
        queue: &QueueName,
        call: T,
    ) -> Result<T::Outcome, Fault> {
        let (name, number) = ((queue.clone(), T::SCRIPT), self.numbers.fetch_add(1, Ordering::Relaxed));
        let args = call.args();
        let (handle, answer) = call_handle::of(call);
        if self.join(&name, PendingCall { number, args, tries: 0, skips_overdue: false, handle }) {
            // Not dropped with the caller: a mutation that has begun is finished and its answer read. In a box, lest it is
            // copied into each of the wrappers that a task has.
            self.runner.tasks.spawn(Box::pin(self.clone().drive(name.clone(), T::BATCHING)));
        }
        match tokio::time::timeout(ANSWER, answer).await {
            Ok(Ok(answer)) => answer,
            Err(_) if self.remove(&name, number) => Err(Fault::late(Applied::No)),
            Ok(Err(_)) | Err(_) => Err(Fault::late(Applied::Unknown)),
        }
    }

    fn lanes(&self) -> MutexGuard<'_, HashMap<LaneKey, VecDeque<PendingCall>>> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a call at the end of a lane, and says whether it needs a driver.
    fn join(&self, name: &LaneKey, pending: PendingCall) -> bool {
        let mut lanes = self.lanes();
        if let Some(waiting) = lanes.get_mut(name) {
            waiting.push_back(pending);
            return false;
        }
        lanes.insert(name.clone(), VecDeque::from([pending]));
        true
    }

    /// True when the call will never be sent.
    fn remove(&self, name: &LaneKey, number: u64) -> bool {
        let mut lanes = self.lanes();
        let Some(waiting) = lanes.get_mut(name) else { return false };
        let place = waiting.iter().position(|pending| pending.number == number);
        place.and_then(|place| waiting.remove(place)).is_some()
    }

    fn is_empty(&self, name: &LaneKey) -> bool {
        self.lanes().get(name).is_none_or(VecDeque::is_empty)
    }

    /// Takes a lane away in which nobody waits.
    fn close_if_empty(&self, name: &LaneKey) -> bool {
        let mut lanes = self.lanes();
        let is_empty = lanes.get(name).is_none_or(VecDeque::is_empty);
        if is_empty {
            lanes.remove(name);
        }
        is_empty
    }

    /// As many as go together; none if all who waited are gone.
    fn next(&self, name: &LaneKey, policy: &BatchPolicy) -> Vec<PendingCall> {
        let mut lanes = self.lanes();
        let Some(waiting) = lanes.get_mut(name) else { return Vec::new() };
        let (mut group, mut jobs, mut bytes) = (Vec::<PendingCall>::new(), 0, 0);
        while let Some(next) = waiting.front() {
            // A reserve whose caller is gone takes nothing; other calls are meant, whoever hears the answer.
            if policy.skips_abandoned && next.handle.is_abandoned() {
                waiting.pop_front();
                continue;
            }
            (jobs, bytes) = (jobs + next.handle.jobs(), bytes + next.args.size());
            let is_full = group.len() == policy.max_calls || jobs > MAX_JOBS_PER_SCRIPT || bytes > MAX_BYTES_PER_SCRIPT;
            let is_other = |first: &PendingCall| first.handle.needs_memory() != next.handle.needs_memory();
            if group.first().is_some_and(|first| is_full || is_other(first)) {
                break;
            }
            group.extend(waiting.pop_front());
        }
        group
    }

    fn all(&self, name: &LaneKey) -> VecDeque<PendingCall> {
        self.lanes().get_mut(name).map(std::mem::take).unwrap_or_default()
    }

    fn requeue_front(&self, name: &LaneKey, again: Vec<PendingCall>) {
        if let Some(waiting) = self.lanes().get_mut(name) {
            again.into_iter().rev().for_each(|pending| waiting.push_front(pending));
        }
    }

    async fn drive(self: Arc<Self>, name: LaneKey, policy: BatchPolicy) {
        let _driver = LaneGuard(&self, &name);
        let mut keys = Args::default();
        // Whoever is ready to join does so first; when nobody is, this costs nothing.
        tokio::task::yield_now().await;
        loop {
            match self.check_queue(&name.0, policy.entry).await {
                Ok(true) => self.go(&name, &policy, &mut keys).await,
                Ok(false) => self.all(&name).into_iter().for_each(|p| p.handle.reject(&self.runner, &name.0)),
                Err(fault) => self.all(&name).into_iter().for_each(|p| p.handle.fail(fault.clone())),
            }
            // Whoever came meanwhile goes at once: Redis works while those who were away are told.
            if self.is_empty(&name) {
                tokio::task::yield_now().await;
                if self.close_if_empty(&name) {
                    return;
                }
            }
        }
    }

    async fn check_queue(&self, queue: &QueueName, entry: QueueCheck) -> Result<bool, Fault> {
        match entry {
            QueueCheck::Open => Ok(true),
            QueueCheck::Registers => self.registry.register(queue).await,
            // Whoever has only looked has changed nothing.
            QueueCheck::IfKnown => self.registry.is_known(queue).await.map_err(|fault| fault.with(Applied::No)),
        }
    }

    /// Sends one group.
    async fn go(&self, name: &LaneKey, policy: &BatchPolicy, keys: &mut Args) {
        let group = self.next(name, policy);
        let Some(first) = group.first() else { return };
        let script = self.runner.scripts.named(name.1, first.handle.needs_memory());
        if keys.count() == 0 {
            // The same, whether or not there must be memory to spare.
            *keys = self.runner.keys_of(script, &name.0);
        }
        let args: Vec<_> = group.iter().map(|pending| &pending.args).collect();
        let jobs: u32 = group.iter().map(|pending| pending.handle.jobs()).sum();
        self.runner.meter.of(script.name).group_jobs.record(f64::from(jobs));
        let answer = self.runner.run(script, &name.0, keys, &args).await;
        match answer.and_then(|answer| split(script, policy, answer, group.len())) {
            Ok((shared, items)) => self.deliver(name, group, &shared, items).await,
            Err(fault) => {
                // Nobody knows what it has moved.
                self.runner.mark_active(&name.0);
                group.into_iter().for_each(|pending| pending.handle.fail(fault.clone()));
            }
        }
    }

    /// Each caller has an answer, or its call goes again.
    async fn deliver(&self, name: &LaneKey, group: Vec<PendingCall>, shared: &[Value], items: Vec<Value>) {
        let (mut again, mut sweeps) = (Vec::new(), false);
        for (mut pending, item) in group.into_iter().zip(items) {
            match pending.handle.retry(&item) {
                Retry::Again => {}
                Retry::After(place, member) if pending.tries < MAX_CONTINUATIONS && !pending.skips_overdue => {
                    pending.tries += 1;
                    pending.args = pending.handle.args_after(place, member);
                }
                Retry::AfterSweep if pending.tries < MAX_SWEEPS => {
                    pending.tries += 1;
                    sweeps = true;
                }
                Retry::AfterSweep if !pending.skips_overdue => {
                    pending.skips_overdue = true;
                    pending.args = pending.handle.args_without_waiting();
                }
                Retry::Done | Retry::After(..) | Retry::AfterSweep => {
                    pending.handle.deliver(Reply { item: &item, shared, queue: &name.0, runner: &self.runner });
                    continue;
                }
            }
            again.push(pending);
        }
        self.requeue_front(name, again);
        if sweeps {
            (self.sweep)(&self.runner, &name.0).await;
        }
    }
}

/// What was said for all, and to each.
fn split(
    script: &Script,
    policy: &BatchPolicy,
    answer: Value,
    expected: usize,
) -> Result<(Vec<Value>, Vec<Value>), Fault> {
    let broken = || broken(&format!("an answer of {} for each item", script.name));
    let Value::Array(mut shared) = answer else { return Err(broken()) };
    let begin =
        shared.len().checked_sub(expected).filter(|begin| policy.has_shared || *begin == 0).ok_or_else(broken)?;
    let items = shared.split_off(begin);
    Ok((shared, items))
}

/// A driver that panics takes its lane with it, so that the next call starts another.
struct LaneGuard<'d>(&'d Batcher, &'d LaneKey);

impl Drop for LaneGuard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.lanes().remove(self.1);
        }
    }
}
