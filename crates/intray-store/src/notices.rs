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
        let mut known = self.with_sheets.lock();
        if !are_kept {
            known.remove(queue);
        } else if !known.contains(queue) {
            known.insert(queue.clone());
        }
    }

    pub(crate) fn with_sheets(&self) -> Vec<QueueName> {
        self.with_sheets.lock().iter().cloned().collect()
    }
}
