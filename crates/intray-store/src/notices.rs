//! What the calls of this instance have shown about queues, for its background tasks.

use std::{collections::BTreeSet, mem};

use foldhash::HashMap;
use parking_lot::Mutex;

use crate::job::QueueName;

#[derive(Default)]
pub(crate) struct Notices {
    /// How many calls have moved jobs, by queue, since the sweeper last asked.
    moved: Mutex<HashMap<QueueName, u32>>,
    /// The queues that keep day sheets.
    with_sheets: Mutex<BTreeSet<QueueName>>,
    /// The queues with events to be deleted because they name a worker.
    with_erasures: Mutex<BTreeSet<QueueName>>,
}

impl Notices {
    /// A call has moved a job of the queue, or may have.
    pub(crate) fn moved(&self, queue: &QueueName) {
        let mut moved = self.moved.lock();
        match moved.get_mut(queue) {
            Some(calls) => *calls = calls.saturating_add(1),
            None => _ = moved.insert(queue.clone(), 1),
        }
    }

    /// Takes the numbers since the last call.
    pub(crate) fn take_moved(&self) -> HashMap<QueueName, u32> {
        mem::take(&mut *self.moved.lock())
    }

    /// Whether the queue keeps day sheets.
    pub(crate) fn sheets(&self, queue: &QueueName, are_kept: bool) {
        note(&self.with_sheets, queue, are_kept);
    }

    pub(crate) fn with_sheets(&self) -> Vec<QueueName> {
        self.with_sheets.lock().iter().cloned().collect()
    }

    /// Whether the queue has events to be deleted because they name a worker.
    pub(crate) fn erasures(&self, queue: &QueueName, are_there: bool) {
        note(&self.with_erasures, queue, are_there);
    }

    pub(crate) fn with_erasures(&self) -> Vec<QueueName> {
        self.with_erasures.lock().iter().cloned().collect()
    }
}

fn note(known: &Mutex<BTreeSet<QueueName>>, queue: &QueueName, is_there: bool) {
    let mut known = known.lock();
    if !is_there {
        known.remove(queue);
    } else if !known.contains(queue) {
        known.insert(queue.clone());
    }
}
