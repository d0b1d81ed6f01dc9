//! A private server's disk: whether there is room on it, and whether what was written is there.

use tokio::sync::watch;

use super::{Durability, Link, Sent, node::Way};
use crate::store::fault::Fault;

/// Why a private server's disk has no room for anything new; `None` while it has.
pub type Room = watch::Receiver<Option<String>>;

impl Link {
    /// A server whose append came out short answers all the same, keeps the rest in its memory and refuses the next
    /// write. It refuses a PING then, too, and says PONG in a later turn only when all of its turns before are in the file;
    /// which is then synced, where that is wanted.
    pub(super) async fn confirm(&self) -> Result<(), Fault> {
        match self.send(Way::ANY, &redis::cmd("PING")).await.map_err(Sent::fault) {
            Ok(_) => match &self.durability {
                Durability::SyncedHere(disk) => Box::pin(self.sync(disk)).await,
                Durability::Async | Durability::Replicated(_) | Durability::Synced => Ok(()),
            },
            Err(Fault::Unavailable { why, .. }) => Err(Fault::unknown(&why)),
            Err(fault @ (Fault::Full | Fault::Broken(_))) => Err(fault),
        }
    }

    pub(crate) fn knows_its_room(&self) -> bool {
        self.room.is_some()
    }

    /// Why nothing new can be stored.
    pub(crate) fn shortage(&self) -> Option<String> {
        self.room.as_ref().and_then(|room| room.borrow().clone())
    }
}
