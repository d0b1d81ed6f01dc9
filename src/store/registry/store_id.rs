//! The id of the data in Redis, as this instance knows it. It is made once, and changes only when Redis loses its data.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::job::Millis;

#[derive(Default)]
pub(crate) struct StoreId(Mutex<StoreIdState>);

#[derive(Default)]
struct StoreIdState {
    current: Option<Vec<u8>>,
    /// When this instance found that all data was gone.
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
