//! The id of the data in Redis, as this instance knows it. It is made once, and changes only when Redis loses its data.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::job::Millis;

#[derive(Default)]
pub(crate) struct StoreId(Mutex<StoreIdState>);

#[derive(Default)]
struct StoreIdState {
    current: Option<Vec<u8>>,
    /// When this instance found that data was gone.
    lost: Option<(Millis, Loss)>,
    /// The last loss that each restart marker reports, by its key; `None`: none so far.
    restarts: HashMap<String, Option<u64>>,
}

/// What Redis has lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loss {
    Everything,
    /// What scripts have changed since the append-only file was last rewritten.
    ScriptChanges,
}

impl StoreId {
    pub(crate) fn current(&self) -> Option<Vec<u8>> {
        self.0.lock().current.clone()
    }

    pub(crate) fn learn(&self, current: Option<Vec<u8>>) {
        self.0.lock().current = current;
    }

    pub(crate) fn last_loss(&self) -> Option<(Millis, Loss)> {
        self.0.lock().lost
    }

    pub(crate) fn record_loss(&self, at: Millis, loss: Loss) {
        self.0.lock().lost = Some((at, loss));
    }

    /// The loss that a marker reported when it was last read; `None` if it was not read yet.
    pub(crate) fn known_restart(&self, marker: &str) -> Option<Option<u64>> {
        self.0.lock().restarts.get(marker).copied()
    }

    pub(crate) fn learn_restart(&self, marker: &str, loss: Option<u64>) {
        self.0.lock().restarts.insert(marker.to_owned(), loss);
    }
}
