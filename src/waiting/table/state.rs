//! What the table holds: who waits, in which lines, and who of them is awake.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};

use crate::{
    job::{Name, QueueName},
    store::{Fault, Snapshot},
};

#[derive(Default)]
pub(super) struct TableState {
    pub(super) next: u64,
    pub(super) waiters: HashMap<u64, Waiter>,
    pub(super) lines: HashMap<QueueName, WaitQueue>,
    /// One wait a named worker and set of queues.
    pub(super) workers: HashMap<(Name, Arc<[QueueName]>), u64>,
}

pub(super) struct Waiter {
    pub(super) waker: Arc<Waker>,
    pub(super) queues: Arc<[QueueName]>,
    pub(super) worker: Option<Name>,
    pub(super) since: Instant,
}

#[derive(Default)]
pub(super) struct Waker {
    pub(super) woken: Notify,
    pub(super) replaced: AtomicBool,
}

/// One queue, with those who wait for it, by age.
#[derive(Default)]
pub(super) struct WaitQueue {
    pub(super) asleep: BTreeSet<u64>,
    pub(super) awake: BTreeSet<u64>,
    /// Those whose last look Redis did not answer, or refused: it may have reserved a job for them all the same.
    pub(super) unanswered: BTreeSet<u64>,
    /// Until then none of them looks again.
    pub(super) rests_until: Option<Instant>,
    /// Asks the queue's watch to look now.
    pub(super) tick: Arc<Notify>,
    /// Tells it that nobody is there any more.
    pub(super) empty: Arc<Notify>,
    pub(super) seen: Option<(Instant, Result<Snapshot, Fault>)>,
}

/// A set of queues, however it was named.
pub(super) fn sorted(queues: &[QueueName]) -> Arc<[QueueName]> {
    let mut queues = queues.to_vec();
    queues.sort_unstable();
    queues.into()
}

impl WaitQueue {
    pub(super) fn is_deserted(&self) -> bool {
        self.asleep.is_empty() && self.awake.is_empty()
    }

    pub(super) fn rest(&self) -> Option<Duration> {
        let until = self.rests_until.filter(|_| !self.unanswered.is_empty())?;
        until.checked_duration_since(Instant::now()).filter(|rest| !rest.is_zero())
    }
}

impl TableState {
    pub(super) fn wake(&mut self, number: u64) {
        self.shift(number, |line| (&mut line.asleep, &mut line.awake));
        if let Some(waiter) = self.waiters.get(&number) {
            waiter.waker.woken.notify_one();
        }
    }

    /// The first in each line who is asleep, of those from this number on.
    pub(super) fn wake_next(&mut self, queues: &[QueueName], from: u64) {
        let first = |queue| self.lines.get(queue)?.asleep.range(from..).next().copied();
        let next: BTreeSet<u64> = queues.iter().filter_map(first).collect();
        for number in next {
            self.wake(number);
        }
    }

    /// From one set of each of its lines to the other.
    pub(super) fn shift(
        &mut self,
        number: u64,
        sets: impl Fn(&mut WaitQueue) -> (&mut BTreeSet<u64>, &mut BTreeSet<u64>),
    ) {
        let Some(waiter) = self.waiters.get(&number) else { return };
        for queue in waiter.queues.iter() {
            if let Some((from, to)) = self.lines.get_mut(queue).map(&sets) {
                from.remove(&number);
                to.insert(number);
            }
        }
    }
}
