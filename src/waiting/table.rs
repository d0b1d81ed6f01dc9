//! The callers that wait, by queue. The longest waiting are woken first, as many as there are jobs.

mod state;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{sync::Notify, time::Instant};

use self::state::{TableState, WaitQueue, Waiter, Waker, sorted};
use crate::{
    job::{Name, QueueName, chance::between},
    store::{Fault, ReserveOutcome, Snapshot},
};

/// The pause of a queue after Redis did not answer or refused a write, between these.
const REST_RANGE_MS: [u64; 2] = [250, 500];

#[derive(Default)]
pub(super) struct Table(Mutex<TableState>);

/// A caller that waits, for `GET /workers`.
#[derive(Debug)]
pub struct WaitInfo {
    pub worker: Option<Name>,
    pub queues: Vec<QueueName>,
    pub waited: Duration,
}

/// A caller's registration; dropping it removes the caller.
pub(super) struct Registration<'t> {
    table: &'t Table,
    number: u64,
    waker: Arc<Waker>,
    served: AtomicBool,
}

impl Table {
    /// The number of waiting callers.
    pub(super) fn count(&self) -> usize {
        self.0.lock().waiters.len()
    }

    /// The longest waiting callers for queues that `sees` allows, at most `most`, and the number of all such callers.
    pub(super) fn waiters(&self, most: usize, sees: impl Fn(&QueueName) -> bool) -> (Vec<WaitInfo>, usize) {
        let state = self.0.lock();
        let seen = state.waiters.iter().filter(|(_, waiter)| waiter.queues.iter().any(&sees));
        let mut seen: Vec<_> = seen.collect();
        seen.sort_unstable_by_key(|(number, _)| **number);
        let waits = |(_, waiter): &(&u64, &Waiter)| WaitInfo {
            worker: waiter.worker.clone(),
            queues: waiter.queues.iter().filter(|queue| sees(queue)).cloned().collect(),
            waited: waiter.since.elapsed(),
        };
        (seen.iter().take(most).map(waits).collect(), seen.len())
    }

    /// Registers a caller as awake, since it tries before it sleeps. Returns the queues that have no watch yet. All queues are
    /// entered under one lock, because a watch ends as soon as its queue has no caller.
    pub(super) fn enter(&self, queues: &[QueueName], worker: Option<&Name>) -> (Registration<'_>, Vec<QueueName>) {
        let mut state = self.0.lock();
        state.next += 1;
        let (number, bell, queues) = (state.next, Arc::new(Waker::default()), Arc::<[QueueName]>::from(queues));
        let mut unwatched = Vec::new();
        for queue in queues.iter() {
            let line = state.lines.entry(queue.clone()).or_insert_with(|| {
                unwatched.push(queue.clone());
                WaitQueue::default()
            });
            line.awake.insert(number);
        }
        if let Some(worker) = worker {
            let older = state.workers.insert((worker.clone(), sorted(&queues)), number);
            if let Some(older) = older.and_then(|older| state.waiters.get(&older)) {
                older.waker.replaced.store(true, Ordering::Release);
                older.waker.woken.notify_one();
            }
        }
        state
            .waiters
            .insert(number, Waiter { waker: bell.clone(), queues, worker: worker.cloned(), since: Instant::now() });
        (Registration { table: self, number, waker: bell, served: AtomicBool::new(false) }, unwatched)
    }

    /// Wakes as many callers as there are jobs, the longest waiting first. Those that are awake try once more.
    pub(super) fn wake(&self, queue: &QueueName, jobs: u64) {
        let mut state = self.0.lock();
        let Some(line) = state.lines.get(queue) else { return };
        let jobs = usize::try_from(jobs).unwrap_or(usize::MAX);
        // A caller that is awake may have tried before the job was there.
        let awake = line.awake.iter().filter(|_| jobs > 0);
        let chosen: Vec<u64> = line.asleep.iter().take(jobs).chain(awake).copied().collect();
        for number in chosen {
            state.wake(number);
        }
    }

    /// Makes all watches read their queue now.
    pub(super) fn tick_all(&self) {
        self.0.lock().lines.values().for_each(|line| line.tick.notify_one());
    }

    /// Makes the watch of the queue read it now.
    pub(super) fn tick(&self, queue: &QueueName) {
        if let Some(line) = self.0.lock().lines.get(queue) {
            line.tick.notify_one();
        }
    }

    /// The signals of the queue's watch: read now, and no caller is left.
    pub(super) fn notifies_of(&self, queue: &QueueName) -> (Arc<Notify>, Arc<Notify>) {
        let mut state = self.0.lock();
        let line = state.lines.entry(queue.clone()).or_default();
        (line.tick.clone(), line.empty.clone())
    }

    /// Stores a snapshot. Wakes one of the callers without an answer, which tries for all of them. True: there are such callers.
    pub(super) fn record(&self, queue: &QueueName, snapshot: Result<Snapshot, Fault>) -> bool {
        let mut state = self.0.lock();
        let Some(line) = state.lines.get_mut(queue) else { return false };
        let first = line.unanswered.first().copied();
        let tries = first.filter(|_| snapshot.is_ok() && line.rest().is_none());
        line.seen = Some((Instant::now(), snapshot));
        if let Some(number) = tries {
            state.wake(number);
        }
        first.is_some()
    }

    /// How long the queue still pauses.
    pub(super) fn rest(&self, queue: &QueueName) -> Option<Duration> {
        self.0.lock().lines.get(queue)?.rest()
    }

    /// The last snapshot of the queue; `None` if there is none since `then`.
    pub(super) fn snapshot_after(&self, queue: &QueueName, then: Instant) -> Option<Result<Snapshot, Fault>> {
        let state = self.0.lock();
        let (at, snapshot) = state.lines.get(queue)?.seen.clone().filter(|(at, _)| *at > then)?;
        let age = u64::try_from(at.elapsed().as_millis()).unwrap_or(u64::MAX);
        Some(snapshot.map(|snapshot| snapshot.aged(age)))
    }

    pub(super) fn has_no_caller(&self, queue: &QueueName) -> bool {
        self.0.lock().lines.get(queue).is_none_or(WaitQueue::has_no_caller)
    }

    /// Removes the queue if it has no caller.
    pub(super) fn close_queue(&self, queue: &QueueName) -> bool {
        let mut state = self.0.lock();
        let deserted = state.lines.get(queue).is_none_or(WaitQueue::has_no_caller);
        if deserted {
            state.lines.remove(queue);
        }
        deserted
    }
}

impl Registration<'_> {
    /// Sleeps until it is woken. A wake-up since the last try ends the sleep at once.
    pub(super) async fn sleep(&self) {
        self.table.0.lock().shift(self.number, |line| (&mut line.awake, &mut line.asleep));
        self.waker.woken.notified().await;
        self.table.0.lock().shift(self.number, |line| (&mut line.asleep, &mut line.awake));
    }

    /// Wakes the next caller of each queue, for a job that this one does not take.
    pub(super) fn pass_on(&self) {
        let mut state = self.table.0.lock();
        let Some(queues) = state.waiters.get(&self.number).map(|waiter| waiter.queues.clone()) else { return };
        state.wake_next(&queues, self.number);
    }

    pub(super) fn is_replaced(&self) -> bool {
        self.waker.replaced.load(Ordering::Acquire)
    }

    /// Redis did not answer, or refused. The watch reads the queue after a pause, and wakes this caller when Redis is well.
    pub(super) fn mark_unanswered(&self) {
        let rests_until = Some(Instant::now() + Duration::from_millis(between(REST_RANGE_MS[0], REST_RANGE_MS[1])));
        let mut state = self.table.0.lock();
        let Some(queues) = state.waiters.get(&self.number).map(|waiter| waiter.queues.clone()) else { return };
        for queue in queues.iter() {
            if let Some(line) = state.lines.get_mut(queue) {
                line.unanswered.insert(self.number);
                line.rests_until = rests_until;
                line.tick.notify_one();
            }
        }
    }

    /// Redis answered. A call over one queue ran a script that writes, so Redis is well again for all callers of the queue.
    pub(super) fn mark_answered(&self) {
        let mut state = self.table.0.lock();
        let Some(queues) = state.waiters.get(&self.number).map(|waiter| waiter.queues.clone()) else { return };
        for queue in queues.iter() {
            let Some(line) = state.lines.get_mut(queue).filter(|line| !line.unanswered.is_empty()) else { continue };
            line.tick.notify_one();
            line.unanswered.remove(&self.number);
            if queues.len() == 1 {
                let all = std::mem::take(&mut line.unanswered);
                all.into_iter().for_each(|number| state.wake(number));
            }
        }
    }

    /// A served caller passes no wake-up on, unless more jobs are left: it may have been woken for those.
    pub(super) fn mark_served(&self, outcome: &Result<ReserveOutcome, Fault>) {
        let left = matches!(outcome, Ok(ReserveOutcome::Jobs { remaining: 1.., .. }));
        self.served.store(!left, Ordering::Relaxed);
    }
}

impl Drop for Registration<'_> {
    fn drop(&mut self) {
        let mut state = self.table.0.lock();
        let Some(waiter) = state.waiters.remove(&self.number) else { return };
        if let Some(worker) = &waiter.worker {
            let key = (worker.clone(), sorted(&waiter.queues));
            if state.workers.get(&key) == Some(&self.number) {
                state.workers.remove(&key);
            }
        }
        let mut was_awake = false;
        for queue in waiter.queues.iter() {
            if let Some(line) = state.lines.get_mut(queue) {
                line.asleep.remove(&self.number);
                // It may have been the caller that tries for all.
                if line.unanswered.remove(&self.number) && !line.unanswered.is_empty() {
                    line.tick.notify_one();
                }
                was_awake |= line.awake.remove(&self.number);
                if line.has_no_caller() {
                    line.empty.notify_one();
                }
            }
        }
        // It was woken for a job and left without it: the next caller must try.
        if was_awake && !self.served.load(Ordering::Relaxed) {
            state.wake_next(&waiter.queues, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, thread};

    use super::*;

    /// A caller comes and goes while watches close the queue whenever it is empty. A queue that stayed without a watch would
    /// never be read.
    #[test]
    fn caller_that_enters_as_the_watch_ends_gets_a_new_watch() {
        let (table, queue) = (&Table::default(), &QueueName::parse("q").expect("a name"));
        let (sender, watches) = mpsc::channel::<QueueName>();
        thread::scope(|scope| {
            scope.spawn(move || {
                for queue in watches {
                    while !table.close_queue(&queue) {
                        std::hint::spin_loop();
                    }
                }
            });
            for _ in 0..20_000 {
                let (seat, unwatched) = table.enter(std::slice::from_ref(queue), None);
                unwatched.into_iter().for_each(|queue| sender.send(queue).expect("watches"));
                drop(seat);
            }
            drop(sender);
        });
        assert!(table.0.lock().lines.is_empty(), "a queue without a watch");
    }
}
