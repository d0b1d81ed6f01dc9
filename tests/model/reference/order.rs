//! Places: strict by priority, and within one the clients share the line.

use intray::job::{Code, State};

use super::Queue;
use crate::words::SPAN;

impl Queue {
    /// The place of a new arrival.
    pub(super) fn new_place(&mut self, priority: u8, client: &'static str) -> u64 {
        let top = self.tops.get(&priority).copied().unwrap_or(0);
        let last = self.turns.entry((priority, client)).or_default();
        *last = top.max(*last) + 1;
        u64::from(priority) * SPAN + *last
    }

    /// V never falls, whoever is handed out again.
    pub(super) fn handed_out(&mut self, place: u64) {
        let top = self.tops.entry(u8::try_from(place / SPAN).expect("a priority")).or_default();
        *top = (*top).max(place % SPAN);
    }

    /// A place for a job that never had one.
    pub(super) fn ensure_place(&mut self, id: Code) {
        let (priority, client) = (self.jobs[&id].priority, self.jobs[&id].client);
        if self.jobs[&id].place.is_none() {
            let place = self.new_place(priority, client);
            self.job(id).put(place);
        }
    }

    /// Order is forgotten only when nothing that has a place is left.
    pub(super) fn forget_order(&mut self) {
        if self.number(&[State::Waiting, State::Blocked, State::Delayed, State::Reserved]) == 0 {
            self.tops.clear();
            self.turns.clear();
        }
    }
}
