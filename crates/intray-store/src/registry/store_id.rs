//! The id of the data in Redis, as this instance knows it. It is made once, and changes only when Redis loses its data.

use parking_lot::Mutex;

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
    pub(crate) fn current(&self) -> Option<Vec<u8>> {
        self.0.lock().current.clone()
    }

    pub(crate) fn learn(&self, current: Option<Vec<u8>>) {
        self.0.lock().current = current;
    }

    pub(crate) fn emptied_at(&self) -> Option<Millis> {
        self.0.lock().emptied
    }

    pub(crate) fn was_emptied(&self, at: Millis) {
        self.0.lock().emptied = Some(at);
    }
}
