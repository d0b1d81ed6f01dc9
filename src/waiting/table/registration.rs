//! A caller's place in the table: it sleeps, says what its tries came to, and passes on what it does not take.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;

use super::{
    Table,
    state::{Waker, sorted},
};
use crate::{
    job::{Line, chance::between},
    store::{Fault, PassedLines, ReserveOutcome},
};

/// The pause of a queue after Redis did not answer or refused a write, between these.
const REST_RANGE_MS: [u64; 2] = [250, 500];
/// How long a caller that has passed over very many jobs rests before its next look.
const REST_AFTER_FAR_LOOK: Duration = Duration::from_millis(250);

/// A caller's registration; dropping it removes the caller.
pub(in crate::waiting) struct Registration<'t> {
    pub(super) table: &'t Table,
    pub(super) number: u64,
    waker: Arc<Waker>,
    served: AtomicBool,
    /// Whether its queues count it among those that a gate holds up.
    held_up: AtomicBool,
}

impl<'t> Registration<'t> {
    pub(super) fn new(table: &'t Table, number: u64, waker: Arc<Waker>) -> Self {
        Self { table, number, waker, served: AtomicBool::new(false), held_up: AtomicBool::new(false) }
    }

    /// It tries from now on. Returns whether a gate got room that has held it up.
    pub(in crate::waiting) fn begin_try(&self) -> bool {
        let has_room = self.table.0.lock().take_room(self.number);
        self.waker.by_gate.swap(false, Ordering::AcqRel) || has_room
    }

    /// Sleeps until it is woken. A wake-up since the last try ends the sleep at once, and so does a gate that got room.
    pub(in crate::waiting) async fn sleep(&self) {
        {
            let mut state = self.table.0.lock();
            if state.take_room(self.number) {
                return self.waker.by_gate.store(true, Ordering::Release);
            }
            state.shift(self.number, |queue| (&mut queue.awake, &mut queue.asleep));
        }
        self.waker.woken.notified().await;
        self.table.0.lock().shift(self.number, |queue| (&mut queue.asleep, &mut queue.awake));
    }

    /// The same after a scan that has passed over these. After a far one it rests first, however often it is woken; it continues if it has
    /// not seen all.
    pub(in crate::waiting) async fn sleep_after(&self, passed: &PassedLines) {
        if passed.is_far || passed.has_more {
            tokio::time::sleep(REST_AFTER_FAR_LOOK).await;
        }
        if !passed.has_more {
            self.sleep().await;
        }
    }

    /// It was given nothing, and these were passed over. Wakes for each the next caller that may look into it, and remembers
    /// which gates held some up.
    pub(in crate::waiting) fn mark_passed(&self, passed: &PassedLines) {
        let is_held_up = !passed.gates.is_empty();
        let was_held_up = self.held_up.swap(is_held_up, Ordering::Relaxed);
        if !was_held_up && *passed == PassedLines::default() {
            return;
        }
        let mut state = self.table.0.lock();
        let Some(queues) = state.waiters.get(&self.number).map(|waiter| waiter.queues.clone()) else { return };
        for name in queues.iter() {
            let Some(queue) = state.queues.get_mut(name) else { continue };
            if is_held_up {
                queue.held_up.insert(self.number, passed.gates.clone());
            } else {
                queue.held_up.remove(&self.number);
            }
        }
        // Where a gate holds jobs up another caller gets no further, and many would try for nothing.
        if passed.for_others {
            state.wake_next(&queues, passed.common_line, &passed.lines, self.number);
        }
    }

    pub(in crate::waiting) fn is_replaced(&self) -> bool {
        self.waker.replaced.load(Ordering::Acquire)
    }

    /// Redis did not answer, or refused. The watch reads the queue after a pause, and wakes this caller when Redis is well.
    pub(in crate::waiting) fn mark_unanswered(&self) {
        let rests_until = Some(Instant::now() + Duration::from_millis(between(REST_RANGE_MS[0], REST_RANGE_MS[1])));
        let mut state = self.table.0.lock();
        let Some(queues) = state.waiters.get(&self.number).map(|waiter| waiter.queues.clone()) else { return };
        for name in queues.iter() {
            if let Some(queue) = state.queues.get_mut(name) {
                queue.unanswered.insert(self.number);
                queue.rests_until = rests_until;
                queue.tick.notify_one();
            }
        }
    }

    /// Redis answered. A call over one queue ran a script that writes, so Redis is well again for all callers of the queue.
    pub(in crate::waiting) fn mark_answered(&self) {
        let mut state = self.table.0.lock();
        let Some(queues) = state.waiters.get(&self.number).map(|waiter| waiter.queues.clone()) else { return };
        for name in queues.iter() {
            let Some(queue) = state.queues.get_mut(name).filter(|queue| !queue.unanswered.is_empty()) else { continue };
            queue.tick.notify_one();
            queue.unanswered.remove(&self.number);
            if queues.len() == 1 {
                let all = std::mem::take(&mut queue.unanswered);
                all.into_iter().for_each(|number| state.wake(number));
            }
        }
    }

    /// A served caller passes no wake-up on, unless more jobs are left: it may have been woken for those.
    pub(in crate::waiting) fn mark_served(&self, outcome: &Result<ReserveOutcome, Fault>) {
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
        let (mut was_awake, mut held_up) = (false, Vec::new());
        for name in waiter.queues.iter() {
            if let Some(queue) = state.queues.get_mut(name) {
                queue.asleep.remove(self.number, &waiter.lines);
                // It may have been the caller that tries for all.
                if queue.unanswered.remove(&self.number) && !queue.unanswered.is_empty() {
                    queue.tick.notify_one();
                }
                was_awake |= queue.awake.remove(self.number, &waiter.lines);
                held_up.extend(queue.held_up.remove(&self.number).map(|gates| (name.clone(), gates)));
                if queue.has_no_caller() {
                    queue.empty.notify_one();
                }
            }
        }
        if was_awake && !self.served.load(Ordering::Relaxed) {
            // It was woken for a job and left without it: the next caller must try.
            state.wake_next(&waiter.queues, true, &waiter.lines, 0);
        } else {
            // It may have been the only one that the hints of its gates would have woken.
            for (queue, gates) in held_up {
                let is_unwatched = |line: &&Line| !state.is_watched(&queue, line, &gates);
                let lines: Vec<_> = waiter.lines.iter().filter(is_unwatched).cloned().collect();
                state.wake_next(&[queue], false, &lines, 0);
            }
        }
    }
}
