//! Places: strict by priority, and within one the clients share the line. Stamps: the queue's own clock, which only grows.

use intray::job::{Code, State};

use super::Queue;
use crate::{fixtures::STAMPS, world::records::SPAN};

/// What a client has in line at a priority, for as long as it has anything there that nobody has had.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    pub last_turn: u64,
    pub jobs: u32,
}

impl Queue {
    /// For an arrival or an ending.
    pub fn stamp(&mut self) -> u64 {
        let given = self.totals.entry("stamp").or_default();
        *given = (*given + 1).max((self.now * STAMPS).cast_signed());
        given.cast_unsigned()
    }

    /// The place of a new arrival.
    fn new_place(&mut self, priority: u8, client: &'static str) -> u64 {
        let top = self.tops.get(&priority).copied().unwrap_or(0);
        let share = self.turns.entry((priority, client)).or_default();
        *share = Share { last_turn: top.max(share.last_turn) + 1, jobs: share.jobs + 1 };
        u64::from(priority) * SPAN + share.last_turn
    }

    /// A turn that was served, or will not be: who has nothing else in line leaves nothing. The last turn is free again.
    pub fn give_back(&mut self, id: Code) {
        let job = self.job(id);
        let (true, Some(place)) = (std::mem::take(&mut job.is_unserved), job.place) else { return };
        let client = (u8::try_from(place / SPAN).expect("a priority"), job.client);
        let share = self.turns.get_mut(&client).expect("it has a job in line");
        share.jobs -= 1;
        share.last_turn -= u64::from(share.last_turn == place % SPAN);
        if share.jobs == 0 {
            self.turns.remove(&client);
        }
    }

    /// V never falls, and stays below the first job of everybody's line: the first that was passed over, and for a job of another line
    /// the first at all.
    pub fn handed_out(&mut self, id: Code) {
        let (place, arrival) = (self.jobs[&id].place.expect("it is in line"), self.jobs[&id].arrival);
        let is_restricted = self.jobs[&id].is_restricted();
        let is_passed = |other: &Code| {
            let other = &self.jobs[other];
            other.place.is_some_and(|o| o / SPAN == place / SPAN)
                && !other.is_restricted()
                && (is_restricted || (other.place, other.arrival) < (Some(place), arrival))
        };
        let passed = self.in_state(State::Waiting).into_iter().find(is_passed);
        let first = passed.and_then(|id| self.jobs[&id].place).map_or(place, |first| place.min(first - 1));
        let (priority, turn) = (u8::try_from(place / SPAN).expect("a priority"), first % SPAN);
        if turn > self.tops.get(&priority).copied().unwrap_or(0) {
            self.tops.insert(priority, turn);
        }
    }

    /// A place for a job that never had one, or comes again; `stamp` is its enqueue's, if it comes with that.
    pub fn ensure_place(&mut self, id: Code, stamp: Option<u64>) {
        let (priority, client) = (self.jobs[&id].priority, self.jobs[&id].client);
        if self.jobs[&id].place.is_none() {
            let place = self.new_place(priority, client);
            let arrival = stamp.unwrap_or_else(|| self.stamp());
            self.job(id).put(place, arrival);
        }
    }

    /// Order is forgotten only when nothing that has a place is left.
    pub fn forget_order(&mut self) {
        if self.number(&[State::Waiting, State::Blocked, State::Delayed, State::Reserved]) == 0 {
            self.tops.clear();
            self.turns.clear();
        }
    }
}
