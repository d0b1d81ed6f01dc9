//! The callers of connections, and how many connections a caller may have.

use std::sync::{Arc, atomic::Ordering};

use super::{ConnectionHandle, LimitState, Permit};
use intray_base::shares;

/// Idle connections that are searched for one of a caller.
const MAX_SEARCHED: usize = 256;

impl LimitState {
    /// Counts one connection less of a caller.
    pub(super) fn forget(&mut self, caller: Option<Arc<str>>) {
        if let Some(caller) = caller
            && let Some(own) = self.by_caller.get_mut(&caller)
        {
            *own -= 1;
            self.charged -= 1;
            if *own == 0 {
                self.by_caller.remove(&caller);
            }
        }
    }
}

impl Permit {
    /// Counts the connection as this caller's. False: the caller holds many, the rest is reserved for others, and none of theirs is idle.
    pub(crate) fn charge(&self, caller: &Arc<str>, has_parts: &dyn Fn() -> bool) -> bool {
        if self.handle.caller.lock().as_ref() == Some(caller) {
            return true;
        }
        let mut state = self.limit.state.lock();
        let own = state.by_caller.get(caller).copied().unwrap_or(0);
        // A connection that changes its caller is not counted twice.
        let charged = state.charged - usize::from(self.handle.caller.lock().is_some());
        let is_open = shares::is_open(charged, own, 1, self.limit.max, has_parts);
        self.handle.is_refused.store(false, Ordering::Relaxed);
        let is_theirs = |handle: &ConnectionHandle| handle.caller.lock().as_ref() == Some(caller);
        if !is_open && !state.cut_longest_idle(MAX_SEARCHED, is_theirs) {
            self.handle.is_refused.store(true, Ordering::Relaxed);
            return false;
        }
        *state.by_caller.entry(caller.clone()).or_default() += 1;
        state.charged += 1;
        let before = self.handle.caller.lock().replace(caller.clone());
        state.forget(before);
        true
    }

    /// Whether its last call was refused for having too many connections.
    pub(crate) fn is_refused(&self) -> bool {
        self.handle.is_refused.load(Ordering::Relaxed)
    }
}
