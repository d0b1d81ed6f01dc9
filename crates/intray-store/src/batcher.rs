//! Batches calls by queue and script: calls that arrive while one is in flight share the next round trip, in their order.
//! A single call is sent at once. The batcher knows no particular transition.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use foldhash::HashMap;
use intray_redis::{Applied, Args, Fault};
use parking_lot::Mutex;
use redis::Value;

use super::{
    redis::read::broken,
    registry::Registry,
    runner::Runner,
    script::StoreScript,
    transition::{
        BatchPolicy, BatchedTransition, CallHandle, FollowUp, MAX_SWEEPS, QueueCheck, Reply, SweepFn, call_handle,
    },
};
use crate::job::QueueName;

/// Limits of one script: enough calls to share a round trip, at most about a millisecond of Redis.
const MAX_JOBS_PER_SCRIPT: u32 = 100;
const MAX_BYTES_PER_SCRIPT: usize = 1 << 20;
/// How often a call continues after jobs that were blocked: a script looks at few, so this is about 200 jobs.
const MAX_CONTINUATIONS: u8 = 40;
/// The same after jobs that were passed over, of which a script looks at 100, counts so often: 2,000 jobs in all.
const PASSED_OVER: u8 = 2;
/// How long the calls of one script are prepared. The others wait for the next.
const MAKING_READY: Duration = Duration::from_millis(250);

/// A lane: a queue, and the script that its calls run.
type LaneKey = (QueueName, &'static str);

/// A call that waits in a lane.
struct PendingCall {
    number: u64,
    args: Args,
    tries: u8,
    /// The call no longer waits for the sweep of overdue jobs.
    skips_overdue: bool,
    handle: Box<dyn CallHandle>,
}

/// The pending calls by lane. A lane exists while a task sends its calls.
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

    /// Adds a call to its lane and waits for the answer.
    pub(crate) async fn call<T: BatchedTransition>(
        self: &Arc<Self>,
        queue: &QueueName,
        call: T,
    ) -> Result<T::Outcome, Fault> {
        let (name, number) = ((queue.clone(), T::SCRIPT), self.numbers.fetch_add(1, Ordering::Relaxed));
        let args = call.args();
        let (handle, answer) = call_handle(call);
        let pending = PendingCall { number, args, tries: 0, skips_overdue: false, handle };
        let is_new = {
            let mut lanes = self.lanes.lock();
            match lanes.get_mut(&name) {
                Some(waiting) => {
                    waiting.push_back(pending);
                    false
                }
                None => lanes.insert(name.clone(), VecDeque::from([pending])).is_none(),
            }
        };
        if is_new {
            // A task of its own: a call that was sent is finished even if its caller leaves. Boxed, so that the future is
            // not copied into each wrapper of the task.
            self.runner.tasks.spawn(Box::pin(self.clone().run_lane(name.clone(), T::BATCHING)));
        }
        match tokio::time::timeout(self.runner.link.timeouts().answer(), answer).await {
            Ok(Ok(answer)) => answer,
            Err(_) if self.remove(&name, number) => Err(Fault::late(Applied::No)),
            Ok(Err(_)) | Err(_) => Err(Fault::late(Applied::Unknown)),
        }
    }

    /// True if the call was removed before it was sent.
    fn remove(&self, name: &LaneKey, number: u64) -> bool {
        let mut lanes = self.lanes.lock();
        let Some(waiting) = lanes.get_mut(name) else { return false };
        let place = waiting.iter().position(|pending| pending.number == number);
        place.and_then(|place| waiting.remove(place)).is_some()
    }

    fn is_empty(&self, name: &LaneKey) -> bool {
        self.lanes.lock().get(name).is_none_or(VecDeque::is_empty)
    }

    /// Removes a lane without pending calls.
    fn close_if_empty(&self, name: &LaneKey) -> bool {
        let mut lanes = self.lanes.lock();
        let is_empty = lanes.get(name).is_none_or(VecDeque::is_empty);
        if is_empty {
            lanes.remove(name);
        }
        is_empty
    }

    /// Takes the calls of the next script from the lane; none if all callers have left.
    fn take_batch(&self, name: &LaneKey, policy: &BatchPolicy) -> Vec<PendingCall> {
        let mut lanes = self.lanes.lock();
        let Some(waiting) = lanes.get_mut(name) else { return Vec::new() };
        let (mut group, mut jobs, mut bytes) = (Vec::<PendingCall>::new(), 0, 0);
        while let Some(next) = waiting.front() {
            // A reserve without a caller must not take jobs; other calls take effect without one.
            if policy.skips_abandoned && next.handle.is_abandoned() {
                waiting.pop_front();
                continue;
            }
            (jobs, bytes) = (jobs + next.handle.jobs(), bytes + next.args.size());
            let is_full = group.len() == policy.max_calls || jobs > MAX_JOBS_PER_SCRIPT || bytes > MAX_BYTES_PER_SCRIPT;
            let needs_other_script = |first: &PendingCall| first.handle.needs_memory() != next.handle.needs_memory();
            if group.first().is_some_and(|first| is_full || needs_other_script(first)) {
                break;
            }
            group.extend(waiting.pop_front());
        }
        group
    }

    fn take_all(&self, name: &LaneKey) -> VecDeque<PendingCall> {
        self.lanes.lock().get_mut(name).map(std::mem::take).unwrap_or_default()
    }

    fn requeue_front(&self, name: &LaneKey, again: Vec<PendingCall>) {
        if let Some(waiting) = self.lanes.lock().get_mut(name) {
            again.into_iter().rev().for_each(|pending| waiting.push_front(pending));
        }
    }

    async fn run_lane(self: Arc<Self>, name: LaneKey, policy: BatchPolicy) {
        let _guard = LaneGuard(&self, &name);
        let mut keys = Args::default();
        // Lets the tasks that are ready add their calls first.
        tokio::task::yield_now().await;
        loop {
            match self.check_queue(&name.0, policy.entry).await {
                Ok(true) => self.send(&name, &policy, &mut keys).await,
                Ok(false) => self.take_all(&name).into_iter().for_each(|p| p.handle.reject(&self.runner, &name.0)),
                Err(fault) => self.take_all(&name).into_iter().for_each(|p| p.handle.fail(fault.clone())),
            }
            // Calls that arrived meanwhile are sent at once: Redis works while the callers get their answers.
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
            QueueCheck::Registers => Ok(!self.registry.register(queue).await?.is_refused()),
            // The existence check is read-only: nothing was applied.
            QueueCheck::IfKnown => self.registry.is_known(queue).await.map_err(|fault| fault.with(Applied::No)),
        }
    }

    /// Makes calls ready to be sent, and puts back what is not. A fault is that of the queue: it answers all of them.
    async fn made_ready(&self, name: &LaneKey, group: Vec<PendingCall>) -> Vec<PendingCall> {
        let begin = Instant::now();
        let (mut ready, mut rest) = (Vec::with_capacity(group.len()), group.into_iter());
        while let Some(mut pending) = rest.next() {
            if !pending.handle.is_ready(begin) {
                match pending.handle.make_ready().await {
                    Ok(false) => {}
                    Ok(true) => pending.args = pending.handle.args(),
                    Err(fault) => {
                        let waiting = rest.chain(ready).chain([pending]);
                        waiting.for_each(|pending| pending.handle.fail(fault.clone()));
                        return Vec::new();
                    }
                }
            }
            ready.push(pending);
            if begin.elapsed() >= MAKING_READY {
                break;
            }
        }
        self.requeue_front(name, rest.collect());
        if !ready.iter_mut().all(|pending| pending.handle.is_ready(begin)) {
            self.requeue_front(name, std::mem::take(&mut ready));
        }
        ready
    }

    /// Sends one batch.
    async fn send(&self, name: &LaneKey, policy: &BatchPolicy, keys: &mut Args) {
        let mut group = self.take_batch(name, policy);
        if policy.is_checked {
            group = self.made_ready(name, group).await;
        }
        let Some(first) = group.first() else { return };
        let script = self.runner.scripts.named(name.1, first.handle.needs_memory());
        if keys.count() == 0 {
            // The small and the large variant of a script have the same keys.
            *keys = self.runner.keys_of(script, &name.0);
        }
        let args: Vec<_> = group.iter().map(|pending| &pending.args).collect();
        let jobs: u32 = group.iter().map(|pending| pending.handle.jobs()).sum();
        script.metrics().group_jobs.observe(f64::from(jobs));
        let answer = self.runner.run(script, &name.0, keys, &args).await;
        match answer.and_then(|answer| split(script, policy, answer, group.len())) {
            Ok((shared, items)) => self.deliver(name, group, &shared, items).await,
            Err(fault) => {
                // The script may have moved jobs.
                self.runner.notices.moved(&name.0);
                group.into_iter().for_each(|pending| pending.handle.fail(fault.clone()));
            }
        }
    }

    /// Answers each caller, or puts its call back at the front of the lane.
    async fn deliver(&self, name: &LaneKey, group: Vec<PendingCall>, shared: &[Value], items: Vec<Value>) {
        let (mut again, mut sweeps) = (Vec::new(), false);
        for (mut pending, item) in group.into_iter().zip(items) {
            match pending.handle.follow_up(&item) {
                FollowUp::Again => {}
                FollowUp::After(place, member) if pending.tries < MAX_CONTINUATIONS && !pending.skips_overdue => {
                    pending.tries += if member.is_empty() { 1 } else { PASSED_OVER };
                    pending.args = pending.handle.args_after(place, member);
                }
                FollowUp::AfterSweep if pending.tries < MAX_SWEEPS => {
                    pending.tries += 1;
                    sweeps = true;
                }
                FollowUp::AfterSweep if !pending.skips_overdue => {
                    pending.skips_overdue = true;
                    pending.args = pending.handle.args_without_waiting();
                }
                FollowUp::Done | FollowUp::After(..) | FollowUp::AfterSweep => {
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

/// Separates the shared part of a reply from the items, one per call.
fn split(
    script: &StoreScript,
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

/// Removes the lane if its task panics, so that the next call starts another one.
struct LaneGuard<'d>(&'d Batcher, &'d LaneKey);

impl Drop for LaneGuard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.lanes.lock().remove(self.1);
        }
    }
}
