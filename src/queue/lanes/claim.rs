//! An item that a lane has and a caller waits for is sent, or given up: one of the two.

use std::sync::atomic::{AtomicU8, Ordering};

/// Who was first: the lane that sends an item, or the caller that gives up on it.
#[derive(Default)]
pub(crate) struct Claim(AtomicU8);

impl Claim {
    const SENT: u8 = 1;
    const WITHDRAWN: u8 = 2;

    pub(crate) fn send(&self) -> bool {
        self.0.compare_exchange(0, Self::SENT, Ordering::AcqRel, Ordering::Acquire) != Err(Self::WITHDRAWN)
    }

    /// It was sent and nothing was done about it: it waits again, and its caller may give up on it.
    pub(crate) fn take_back(&self) {
        self.0.store(0, Ordering::Release);
    }

    /// True when the item will never be sent.
    pub(crate) fn withdraw(&self) -> bool {
        self.0.compare_exchange(0, Self::WITHDRAWN, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}
