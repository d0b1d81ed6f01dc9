//! Who waits where. The longest-waiting is woken first, and as many as there are jobs.

mod state;

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};

use self::state::{TableState, WaitQueue, Waiter, Waker, sorted};
use crate::{
    job::{Name, QueueName, chance::between},
    store::{Fault, ReserveOutcome, Snapshot},
};

/// How long a line rests after Redis did not answer, or refused a write: between these.
const REST_RANGE_MS: [u64; 2] = [250, 500];

#[derive(Default)]
pub(super) struct Table(Mutex<TableState>);

/// Somebody who waits, and for what.
#[derive(Debug)]
pub struct WaitInfo {
    pub worker: Option<Name>,
    pub queues: Vec<QueueName>,
    pub waited: Duration,
}

/// Somebody's seat in the table; dropped when they leave.
pub(super) struct Registration<'t> {
    table: &'t Table,
    number: u64,
    waker: Arc<Waker>,
    served: AtomicBool,
}

impl Table {
    fn state(&self) -> MutexGuard<'_, TableState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Those who have a seat.
    pub(super) fn count(&self) -> usize {
        self.state().waiters.len()
    }

    /// Those who wait for one of the queues that somebody sees, the longest first: so many of them, and how many there are.
    pub(super) fn waiters(&self, most: usize, sees: impl Fn(&QueueName) -> bool) -> (Vec<WaitInfo>, usize) {
        let state = self.state();
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

    /// Awake at first: who enters looks before they sleep. With the seat come those queues that nobody watches yet. All at
    /// once, for a watch may go at any moment in which nobody is in its line.
    pub(super) fn enter(&self, queues: &[QueueName], worker: Option<&Name>) -> (Registration<'_>, Vec<QueueName>) {
        let mut state = self.state();
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

    /// Wakes as many as there are jobs, those first who wait longest. Who is awake looks once more before they sleep.
    pub(super) fn wake(&self, queue: &QueueName, jobs: u64) {
        let mut state = self.state();
        let Some(line) = state.lines.get(queue) else { return };
        let jobs = usize::try_from(jobs).unwrap_or(usize::MAX);
        // Who is awake may have looked before the job was there.
        let awake = line.awake.iter().filter(|_| jobs > 0);
        let chosen: Vec<u64> = line.asleep.iter().take(jobs).chain(awake).copied().collect();
        for number in chosen {
            state.wake(number);
        }
    }

    /// Has all watches look now.
    pub(super) fn tick_all(&self) {
        self.state().lines.values().for_each(|line| line.tick.notify_one());
    }

    /// Has the queue's watch look now.
    pub(super) fn tick(&self, queue: &QueueName) {
        if let Some(line) = self.state().lines.get(queue) {
            line.tick.notify_one();
        }
    }

    /// What has the queue's watch look, and what says that nobody is there any more.
    pub(super) fn notifies_of(&self, queue: &QueueName) -> (Arc<Notify>, Arc<Notify>) {
        let mut state = self.state();
        let line = state.lines.entry(queue.clone()).or_default();
        (line.tick.clone(), line.empty.clone())
    }

    /// What the watch saw. One of the unanswered tries for all of them, if there are any; it answers whether.
    pub(super) fn record(&self, queue: &QueueName, snapshot: Result<Snapshot, Fault>) -> bool {
        let mut state = self.state();
        let Some(line) = state.lines.get_mut(queue) else { return false };
        let first = line.unanswered.first().copied();
        let tries = first.filter(|_| snapshot.is_ok() && line.rest().is_none());
        line.seen = Some((Instant::now(), snapshot));
        if let Some(number) = tries {
            state.wake(number);
        }
        first.is_some()
    }

    /// For how long the queue is still to be left alone.
    pub(super) fn rest(&self, queue: &QueueName) -> Option<Duration> {
        self.state().lines.get(queue)?.rest()
    }

    /// As the watch saw the queue last; `None` if it has not looked since.
    pub(super) fn snapshot_after(&self, queue: &QueueName, then: Instant) -> Option<Result<Snapshot, Fault>> {
        let state = self.state();
        let (at, snapshot) = state.lines.get(queue)?.seen.clone().filter(|(at, _)| *at > then)?;
        let age = u64::try_from(at.elapsed().as_millis()).unwrap_or(u64::MAX);
        Some(snapshot.map(|snapshot| snapshot.aged(age)))
    }

    pub(super) fn is_deserted(&self, queue: &QueueName) -> bool {
        self.state().lines.get(queue).is_none_or(WaitQueue::is_deserted)
    }

    /// Takes the line away if nobody has come meanwhile.
    pub(super) fn close_line(&self, queue: &QueueName) -> bool {
        let mut state = self.state();
        let deserted = state.lines.get(queue).is_none_or(WaitQueue::is_deserted);
        if deserted {
            state.lines.remove(queue);
        }
        deserted
    }
}

impl Registration<'_> {
    /// Until somebody rings. A bell that rang since the last look has it over at once.
    pub(super) async fn sleep(&self) {
        self.table.state().shift(self.number, |line| (&mut line.awake, &mut line.asleep));
        self.waker.woken.notified().await;
        self.table.state().shift(self.number, |line| (&mut line.asleep, &mut line.awake));
    }

    /// Wakes the next in each line, for a job that is not for this one.
    pub(super) fn pass_on(&self) {
        let mut state = self.table.state();
        let Some(queues) = state.waiters.get(&self.number).map(|waiter| waiter.queues.clone()) else { return };
        state.wake_next(&queues, self.number);
    }

    pub(super) fn is_replaced(&self) -> bool {
        self.waker.replaced.load(Ordering::Acquire)
    }

    /// Redis did not answer, or refused. After a rest somebody looks again, and when Redis is well this one does.
    pub(super) fn mark_unanswered(&self) {
        let rests_until = Some(Instant::now() + Duration::from_millis(between(REST_RANGE_MS[0], REST_RANGE_MS[1])));
        let mut state = self.table.state();
        let Some(queues) = state.waiters.get(&self.number).map(|waiter| waiter.queues.clone()) else { return };
        for queue in queues.iter() {
            if let Some(line) = state.lines.get_mut(queue) {
                line.unanswered.insert(self.number);
                line.rests_until = rests_until;
                line.tick.notify_one();
            }
        }
    }

    /// Redis answered. Who asked for one queue was served by a script that writes: it is well again, for everybody.
    pub(super) fn mark_answered(&self) {
        let mut state = self.table.state();
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

    /// Whoever leaves so passes nothing on, unless there is more: it may have been woken for that.
    pub(super) fn mark_served(&self, outcome: &Result<ReserveOutcome, Fault>) {
        let left = matches!(outcome, Ok(ReserveOutcome::Jobs { remaining: 1.., .. }));
        self.served.store(!left, Ordering::Relaxed);
    }
}

impl Drop for Registration<'_> {
    fn drop(&mut self) {
        let mut state = self.table.state();
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
                // It may have been the one that tries for all.
                if line.unanswered.remove(&self.number) && !line.unanswered.is_empty() {
                    line.tick.notify_one();
                }
                was_awake |= line.awake.remove(&self.number);
                if line.is_deserted() {
                    line.empty.notify_one();
                }
            }
        }
        // Woken for a job and gone without it: the next one is to look.
        if was_awake && !self.served.load(Ordering::Relaxed) {
            state.wake_next(&waiter.queues, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, thread};

    use super::*;

    /// One comes and goes, while the watches of the line go whenever they find it deserted: a line that is left behind
    /// would be one that is never looked at.
    #[test]
    fn whoever_enters_a_line_as_its_watch_goes_has_another() {
        let (table, queue) = (&Table::default(), &QueueName::parse("q").expect("a name"));
        let (sender, watches) = mpsc::channel::<QueueName>();
        thread::scope(|scope| {
            scope.spawn(move || {
                for queue in watches {
                    while !table.close_line(&queue) {
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
        assert!(table.state().lines.is_empty(), "a line without a watch");
    }
}
