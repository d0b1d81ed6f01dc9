//! Connections that carry one group of calls at a time. WAIT and WAITAOF answer for the connection that they are sent on, so
//! the confirmation is about that group, and no other call waits for it.

use parking_lot::Mutex;
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};

use super::Slot;
use crate::timeouts::CONNECT_TIMEOUT;

/// The number of groups that wait for a confirmation at the same time.
pub(super) const DURABLE_CONNECTIONS: usize = 16;

pub(super) struct DurableConnections {
    slots: [Slot; DURABLE_CONNECTIONS],
    /// Indexes of `slots`; the one that was used last comes first, so that a quiet service has few connections open.
    free: Mutex<Vec<usize>>,
    permits: Semaphore,
}

/// The use of one of them until it is dropped.
pub(super) struct DurableConnection<'c> {
    connections: &'c DurableConnections,
    index: usize,
    _permit: SemaphorePermit<'c>,
}

impl DurableConnections {
    pub(super) fn new() -> Self {
        let free = (0..DURABLE_CONNECTIONS).rev().collect();
        Self { slots: Default::default(), free: Mutex::new(free), permits: Semaphore::new(DURABLE_CONNECTIONS) }
    }

    /// `None` if all stay in use for the timeout of a connection.
    pub(super) async fn acquire(&self) -> Option<DurableConnection<'_>> {
        let permit = timeout(CONNECT_TIMEOUT, self.permits.acquire()).await.ok()?.ok()?;
        self.take(permit)
    }

    pub(super) fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter()
    }

    /// The open connections that carry nothing now.
    pub(super) fn idle(&self) -> Vec<DurableConnection<'_>> {
        let free = std::iter::from_fn(|| self.take(self.permits.try_acquire().ok()?));
        // All are taken before any is given back; otherwise the first would be returned again and again.
        let mut idle: Vec<_> = free.collect();
        idle.retain(|connection| connection.slot().current().is_some());
        idle
    }

    fn take<'c>(&'c self, permit: SemaphorePermit<'c>) -> Option<DurableConnection<'c>> {
        let index = self.free.lock().pop()?;
        Some(DurableConnection { connections: self, index, _permit: permit })
    }
}

impl<'c> DurableConnection<'c> {
    pub(super) fn slot(&self) -> &'c Slot {
        &self.connections.slots[self.index]
    }
}

impl Drop for DurableConnection<'_> {
    fn drop(&mut self) {
        self.connections.free.lock().push(self.index);
    }
}
