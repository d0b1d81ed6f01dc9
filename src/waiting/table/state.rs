//! The state of the table: the callers, the queues they wait for, and which of them are awake.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};

use super::callers::Callers;
use crate::{
    job::{Line, Name, QueueName},
    store::{Fault, GateMark, OpenedGates, Snapshot},
};

/// How many callers are asked whether they wait for the same gates.
const WATCHERS: usize = 100;

#[derive(Default)]
pub(super) struct TableState {
    pub(super) next: u64,
    pub(super) waiters: HashMap<u64, Waiter>,
    pub(super) queues: HashMap<QueueName, WaitQueue>,
    /// One wait per named worker and set of queues.
    pub(super) workers: HashMap<(Name, Arc<[QueueName]>), u64>,
}

pub(super) struct Waiter {
    pub(super) waker: Arc<Waker>,
    pub(super) queues: Arc<[QueueName]>,
    pub(super) worker: Option<Name>,
    /// The lines of its own: of its name and of each skill.
    pub(super) lines: Arc<[Line]>,
    pub(super) since: Instant,
    /// Gates that got room while it tries: it may have looked before.
    pub(super) opened: OpenedGates,
}

#[derive(Default)]
pub(super) struct Waker {
    pub(super) woken: Notify,
    pub(super) replaced: AtomicBool,
    /// It was woken because a gate got room, perhaps for a job that it has passed over.
    pub(super) by_gate: AtomicBool,
}

/// A queue with its callers, the oldest first.
#[derive(Default)]
pub(super) struct WaitQueue {
    pub(super) asleep: Callers,
    pub(super) awake: Callers,
    /// Callers that were given nothing because of these gates, until their next answer.
    pub(super) held_up: BTreeMap<u64, BTreeSet<GateMark>>,
    /// Callers whose last try had no answer or was refused; it may have reserved a job all the same.
    pub(super) unanswered: BTreeSet<u64>,
    /// None of them tries before this time.
    pub(super) rests_until: Option<Instant>,
    /// Makes the watch read the queue now.
    pub(super) tick: Arc<Notify>,
    /// Signals that no caller is left.
    pub(super) empty: Arc<Notify>,
    pub(super) seen: Option<(Instant, Result<Snapshot, Fault>)>,
}

/// The queues in sorted order, as the key of a set.
pub(super) fn sorted(queues: &[QueueName]) -> Arc<[QueueName]> {
    let mut queues = queues.to_vec();
    queues.sort_unstable();
    queues.into()
}

impl WaitQueue {
    pub(super) fn has_no_caller(&self) -> bool {
        self.asleep.is_empty() && self.awake.is_empty()
    }

    pub(super) fn rest(&self) -> Option<Duration> {
        let until = self.rests_until.filter(|_| !self.unanswered.is_empty())?;
        until.checked_duration_since(Instant::now()).filter(|rest| !rest.is_zero())
    }
}

impl TableState {
    pub(super) fn wake(&mut self, number: u64) {
        self.shift(number, |queue| (&mut queue.asleep, &mut queue.awake));
        if let Some(waiter) = self.waiters.get(&number) {
            waiter.waker.woken.notify_one();
        }
    }

    /// Whether the hints of these gates wake a sleeping caller that may look into this line. Looks at a few callers only.
    pub(super) fn is_watched(&self, queue: &QueueName, line: &Line, gates: &BTreeSet<GateMark>) -> bool {
        let Some(queue) = self.queues.get(queue) else { return false };
        let may_look = |number: &u64| self.waiters.get(number).is_some_and(|waiter| waiter.lines.contains(line));
        let mut first = queue.held_up.iter().take(WATCHERS);
        first.any(|(number, held)| gates.is_subset(held) && queue.asleep.contains(*number) && may_look(number))
    }

    /// Forgets the gates that got room while a caller was awake. Returns whether any of them has held it up.
    pub(super) fn take_room(&mut self, number: u64) -> bool {
        let Some(waiter) = self.waiters.get_mut(&number) else { return false };
        let opened = std::mem::take(&mut waiter.opened);
        let held = |queue| self.queues.get(queue).and_then(|queue| queue.held_up.get(&number));
        waiter.queues.iter().filter_map(held).any(|held| opened.has_any_of(held))
    }

    /// A gate got room for a caller that it has held up.
    pub(super) fn wake_by_gate(&mut self, number: u64) {
        if let Some(waiter) = self.waiters.get(&number) {
            waiter.waker.by_gate.store(true, Ordering::Release);
        }
        self.wake(number);
    }

    /// Wakes the first sleeping caller of each queue, from this number on, and the first of those who may look into each line.
    pub(super) fn wake_next(&mut self, queues: &[QueueName], common_line: bool, lines: &[Line], from: u64) {
        let mut next = BTreeSet::new();
        for queue in queues.iter().filter_map(|queue| self.queues.get(queue)) {
            next.extend(queue.asleep.from(from).next().filter(|_| common_line));
            next.extend(lines.iter().filter_map(|line| queue.asleep.in_line(line, from).next()));
        }
        next.into_iter().for_each(|number| self.wake(number));
    }

    /// Moves a caller from one set of each of its queues to another.
    pub(super) fn shift(&mut self, number: u64, sets: impl Fn(&mut WaitQueue) -> (&mut Callers, &mut Callers)) {
        let Some(waiter) = self.waiters.get(&number) else { return };
        for queue in waiter.queues.iter() {
            if let Some((from, to)) = self.queues.get_mut(queue).map(&sets) {
                from.remove(number, &waiter.lines);
                to.insert(number, &waiter.lines);
            }
        }
    }
}
