//! What this instance knows of the epoch, which says which Redis this is from its first day until it is emptied.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::job::Millis;

#[derive(Default)]
pub(crate) struct StoreId(Mutex<StoreIdState>);

#[derive(Default)]
struct StoreIdState {
    current: Option<Vec<u8>>,
    /// When it was found that everything is gone.
    emptied: Option<Millis>,
}

impl StoreId {
    fn known(&self) -> MutexGuard<'_, StoreIdState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn current(&self) -> Option<Vec<u8>> {
        self.known().current.clone()
    }

    pub(crate) fn learn(&self, current: Option<Vec<u8>>) {
        self.known().current = current;
    }

    pub(crate) fn emptied_at(&self) -> Option<Millis> {
        self.known().emptied
    }

    pub(crate) fn was_emptied(&self, at: Millis) {
        self.known().emptied = Some(at);
    }
}
