//! Connections that carry one group of calls at a time. WAIT and WAITAOF answer for the connection that they are sent on, so
//! the confirmation is about that group, and no other call waits for it.
//!
//! deadpool hands out the places of the connections. The pool of the connections themselves tests each one that it hands out,
//! which would be one more round trip for each change.

use std::{sync::Arc, time::Duration};

use deadpool::unmanaged::{Object, Pool};
use tokio::time::timeout;

use super::slot::Slot;

/// The number of groups that wait for a confirmation at the same time.
pub(super) const DURABLE_CONNECTIONS: usize = 16;

/// The use of one connection until it is dropped.
pub(super) type DurableConnection = Object<Arc<Slot>>;

pub(super) struct DurableConnections {
    pub(super) slots: [Arc<Slot>; DURABLE_CONNECTIONS],
    /// The one that was used last is taken first, so that a quiet service has few connections open.
    free: Pool<Arc<Slot>>,
}

impl DurableConnections {
    pub(super) fn new() -> Self {
        let slots: [Arc<Slot>; _] = Default::default();
        Self { free: slots.clone().into(), slots }
    }

    /// `None` if all stay in use for this time.
    pub(super) async fn acquire(&self, patience: Duration) -> Option<DurableConnection> {
        timeout(patience, self.free.get()).await.ok()?.ok()
    }

    /// The open connections that carry nothing now.
    pub(super) fn idle(&self) -> Vec<DurableConnection> {
        let free = std::iter::from_fn(|| self.free.try_get().ok());
        // All are taken before any is given back; otherwise the first would be returned again and again.
        let mut idle: Vec<_> = free.collect();
        idle.retain(|slot| slot.current().is_some());
        idle
    }
}
