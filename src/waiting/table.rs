//! The callers that wait, by queue. The longest waiting are woken first, as many as there are jobs.

mod callers;
mod registration;
mod state;

use std::{
    collections::BTreeSet,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{sync::Notify, time::Instant};

pub(super) use self::registration::Registration;
use self::state::{TableState, WaitQueue, Waiter, Waker, sorted};
use crate::{
    job::{Line, Name, QueueName, Skill},
    store::{Fault, GateMark, OpenedGates, Snapshot},
};

fn limit(jobs: u64) -> usize {
    usize::try_from(jobs).unwrap_or(usize::MAX)
}

#[derive(Default)]
pub(super) struct Table(Mutex<TableState>);

/// A caller that waits, for `GET /workers`.
#[derive(Debug)]
pub struct WaitInfo {
    pub worker: Option<Name>,
    pub queues: Vec<QueueName>,
    pub waited: Duration,
}

impl Table {
    /// The number of waiting callers.
    pub(super) fn count(&self) -> usize {
        self.0.lock().waiters.len()
    }

    /// The longest waiting callers for queues that `sees` allows, at most `max`, and the number of all such callers.
    pub(super) fn waiters(&self, max: usize, sees: impl Fn(&QueueName) -> bool) -> (Vec<WaitInfo>, usize) {
        let state = self.0.lock();
        let seen = state.waiters.iter().filter(|(_, waiter)| waiter.queues.iter().any(&sees));
        let mut seen: Vec<_> = seen.collect();
        seen.sort_unstable_by_key(|(number, _)| **number);
        let waits = |(_, waiter): &(&u64, &Waiter)| WaitInfo {
            worker: waiter.worker.clone(),
            queues: waiter.queues.iter().filter(|queue| sees(queue)).cloned().collect(),
            waited: waiter.since.elapsed(),
        };
        (seen.iter().take(max).map(waits).collect(), seen.len())
    }

    /// Registers a caller as awake, since it tries before it sleeps. Returns the queues that have no watch yet. All queues are
    /// entered under one lock, because a watch ends as soon as its queue has no caller.
    pub(super) fn enter(
        &self,
        queues: &[QueueName],
        worker: Option<&Name>,
        skills: &[Skill],
    ) -> (Registration<'_>, Vec<QueueName>) {
        let lines = worker.cloned().map(Line::Worker).into_iter().chain(skills.iter().cloned().map(Line::Skill));
        let lines: Arc<[Line]> = lines.collect();
        let mut state = self.0.lock();
        state.next += 1;
        let (number, waker, queues) = (state.next, Arc::new(Waker::default()), Arc::<[QueueName]>::from(queues));
        let mut unwatched = Vec::new();
        for name in queues.iter() {
            let queue = state.queues.entry(name.clone()).or_insert_with(|| {
                unwatched.push(name.clone());
                WaitQueue::default()
            });
            queue.awake.insert(number, &lines);
        }
        if let Some(worker) = worker {
            let older = state.workers.insert((worker.clone(), sorted(&queues)), number);
            if let Some(older) = older.and_then(|older| state.waiters.get(&older)) {
                older.waker.replaced.store(true, Ordering::Release);
                older.waker.woken.notify_one();
            }
        }
        let (worker, since) = (worker.cloned(), Instant::now());
        let waiter = Waiter { waker: waker.clone(), queues, worker, lines, since, opened: OpenedGates::default() };
        state.waiters.insert(number, waiter);
        (Registration::new(self, number, waker), unwatched)
    }

    /// Wakes as many callers as there are jobs, the longest waiting first. Those that are awake try once more.
    pub(super) fn wake(&self, queue: &QueueName, jobs: u64) {
        let mut state = self.0.lock();
        let Some(callers) = state.queues.get(queue).filter(|_| jobs > 0) else { return };
        // A caller that is awake may have tried before the job was there.
        let chosen: Vec<u64> = callers.asleep.from(0).take(limit(jobs)).chain(callers.awake.from(0)).collect();
        chosen.into_iter().for_each(|number| state.wake(number));
    }

    /// The same for each line, among those who may look into it. One who is woken for a job of one line takes none of another.
    pub(super) fn wake_lines(&self, queue: &QueueName, lines: &[(Line, u64)]) {
        let mut state = self.0.lock();
        let Some(callers) = state.queues.get(queue) else { return };
        let lines = lines.iter().filter(|(_, jobs)| *jobs > 0);
        let mut chosen: BTreeSet<u64> = lines.clone().flat_map(|(line, _)| callers.awake.in_line(line, 0)).collect();
        for (line, jobs) in lines {
            let others = callers.asleep.in_line(line, 0).filter(|number| !chosen.contains(number));
            let first: Vec<u64> = others.take(limit(*jobs)).collect();
            chosen.extend(first);
        }
        chosen.into_iter().for_each(|number| state.wake(number));
    }

    /// These gates got room. Wakes those that they have held up; one that is awake may be held up by them until it sleeps.
    pub(super) fn wake_held_up(&self, queue: &QueueName, gates: &OpenedGates) {
        let mut state = self.0.lock();
        let TableState { queues, waiters, .. } = &mut *state;
        let Some(callers) = queues.get(queue).filter(|_| !gates.is_empty()) else { return };
        for number in callers.awake.in_any_line() {
            if let Some(waiter) = waiters.get_mut(&number) {
                waiter.opened.join(gates);
            }
        }
        let is_held =
            |(number, held): &(&u64, &BTreeSet<GateMark>)| gates.has_any_of(held) && callers.asleep.contains(**number);
        let chosen: Vec<u64> = callers.held_up.iter().filter(is_held).map(|(number, _)| *number).collect();
        chosen.into_iter().for_each(|number| state.wake_by_gate(number));
    }

    /// At most `max` lines of the queue that any sleeping caller may look into, in order, after this one.
    pub(super) fn sleeping_lines(&self, queue: &QueueName, after: Option<&Line>, max: usize) -> Vec<Line> {
        let state = self.0.lock();
        state.queues.get(queue).map_or_else(Vec::new, |callers| callers.asleep.lines(after, max))
    }

    /// At most `max` lines of the queue that callers which sleep may look into, and as many of those that are awake.
    pub(super) fn lines(&self, queue: &QueueName, max: usize) -> Vec<Line> {
        let state = self.0.lock();
        let of_queue = state.queues.get(queue).into_iter().flat_map(|queue| [&queue.asleep, &queue.awake]);
        of_queue.flat_map(|callers| callers.lines(None, max)).collect()
    }

    /// Makes all watches read their queue now.
    pub(super) fn tick_all(&self) {
        self.0.lock().queues.values().for_each(|queue| queue.tick.notify_one());
    }

    /// Makes the watch of the queue read it now.
    pub(super) fn tick(&self, queue: &QueueName) {
        if let Some(queue) = self.0.lock().queues.get(queue) {
            queue.tick.notify_one();
        }
    }

    /// The signals of the queue's watch: read now, and no caller is left.
    pub(super) fn notifies_of(&self, queue: &QueueName) -> (Arc<Notify>, Arc<Notify>) {
        let mut state = self.0.lock();
        let queue = state.queues.entry(queue.clone()).or_default();
        (queue.tick.clone(), queue.empty.clone())
    }

    /// Stores a snapshot. Wakes one of the callers without an answer, which tries for all of them. True: there are such callers.
    pub(super) fn record(&self, queue: &QueueName, snapshot: Result<Snapshot, Fault>) -> bool {
        let mut state = self.0.lock();
        let Some(queue) = state.queues.get_mut(queue) else { return false };
        let first = queue.unanswered.first().copied();
        let tries = first.filter(|_| snapshot.is_ok() && queue.rest().is_none());
        queue.seen = Some((Instant::now(), snapshot));
        if let Some(number) = tries {
            state.wake(number);
        }
        first.is_some()
    }

    /// How long the queue still pauses.
    pub(super) fn rest(&self, queue: &QueueName) -> Option<Duration> {
        self.0.lock().queues.get(queue)?.rest()
    }

    /// The last snapshot of the queue; `None` if there is none since `then`.
    pub(super) fn snapshot_after(&self, queue: &QueueName, then: Instant) -> Option<Result<Snapshot, Fault>> {
        let state = self.0.lock();
        let (at, snapshot) = state.queues.get(queue)?.seen.clone().filter(|(at, _)| *at > then)?;
        let age = u64::try_from(at.elapsed().as_millis()).unwrap_or(u64::MAX);
        Some(snapshot.map(|snapshot| snapshot.aged(age)))
    }

    pub(super) fn has_no_caller(&self, queue: &QueueName) -> bool {
        self.0.lock().queues.get(queue).is_none_or(WaitQueue::has_no_caller)
    }

    /// Removes the queue if it has no caller.
    pub(super) fn close_queue(&self, queue: &QueueName) -> bool {
        let mut state = self.0.lock();
        let deserted = state.queues.get(queue).is_none_or(WaitQueue::has_no_caller);
        if deserted {
            state.queues.remove(queue);
        }
        deserted
    }
}

#[cfg(test)]
mod tests;
