//! A private server's disk: whether it has room, and whether an append has reached the file.

use tokio::sync::watch;

use super::{CallError, Durability, Link, route::Route};
use crate::fault::Fault;

/// Why a private server's disk has no room for anything new; `None` while it has.
pub type DiskShortage = watch::Receiver<Option<String>>;

impl Link {
    /// Waits until a private server has appended the change to its file and, if required, synced the file.
    ///
    /// After a short append Redis answers all the same, keeps the rest in memory and refuses the next write and PING. It
    /// answers PING in a later event loop only if all appends before are in the file.
    pub(super) async fn confirm_append(&self) -> Result<(), Fault> {
        match self.send(Route::ANY, &redis::cmd("PING")).await.map_err(CallError::into_fault) {
            Ok(_) => match &self.durability {
                Durability::SyncedHere(requests) => Box::pin(self.sync(requests)).await,
                Durability::Async | Durability::Replicated(_) | Durability::Synced => Ok(()),
            },
            Err(Fault::Unavailable { why, .. }) => Err(Fault::unknown(&why)),
            Err(fault @ (Fault::Full(_) | Fault::Broken(_))) => Err(fault),
        }
    }

    pub(crate) fn has_private_disk(&self) -> bool {
        self.disk.is_some()
    }

    /// Why nothing new can be stored.
    pub(crate) fn disk_shortage(&self) -> Option<String> {
        self.disk.as_ref().and_then(|shortage| shortage.borrow().clone())
    }
}
