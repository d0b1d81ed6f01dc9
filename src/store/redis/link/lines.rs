//! Connections that carry one group of calls at a time, so that what Redis is asked behind it is about that group, and
//! nobody else waits for the answer.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};

use super::slot::Slot;
use crate::job::budget::CONNECT;

/// As many groups wait at the same time.
pub(super) const LINES: usize = 16;

pub(super) struct Lines {
    slots: [Slot; LINES],
    /// Places in `slots`; the one that was used last goes first, so that a quiet service has few connections open.
    free: Mutex<Vec<usize>>,
    room: Semaphore,
}

/// Given back when it is dropped.
pub(super) struct Line<'l> {
    lines: &'l Lines,
    place: usize,
    _room: SemaphorePermit<'l>,
}

impl Lines {
    pub(super) fn new() -> Self {
        let free = (0..LINES).rev().collect();
        Self { slots: Default::default(), free: Mutex::new(free), room: Semaphore::new(LINES) }
    }

    /// Nothing when all of them are in use for too long.
    pub(super) async fn take(&self) -> Option<Line<'_>> {
        let room = timeout(CONNECT, self.room.acquire()).await.ok()?.ok()?;
        self.line(room)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter()
    }

    /// Those that have a connection and carry nothing now.
    pub(super) fn idle(&self) -> Vec<Line<'_>> {
        let free = std::iter::from_fn(|| self.line(self.room.try_acquire().ok()?));
        // All are taken before any is given back: otherwise the first would come again and again.
        let mut idle: Vec<_> = free.collect();
        idle.retain(|line| line.slot().read().is_some());
        idle
    }

    fn line<'l>(&'l self, room: SemaphorePermit<'l>) -> Option<Line<'l>> {
        let place = self.free().pop()?;
        Some(Line { lines: self, place, _room: room })
    }

    fn free(&self) -> MutexGuard<'_, Vec<usize>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'l> Line<'l> {
    pub(super) fn slot(&self) -> &'l Slot {
        &self.lines.slots[self.place]
    }
}

impl Drop for Line<'_> {
    fn drop(&mut self) {
        self.lines.free().push(self.place);
    }
}
