//! Whose a connection is, and how many a caller may have.

use std::sync::{Arc, atomic::Ordering};

use super::{GRACE, Place, Rank, Seat, State};
use intray_base::shares;

/// So many quiet ones are looked at for one of a certain caller.
const LOOKED_AT: usize = 256;

impl State {
    /// Counts one connection less for a caller.
    pub(super) fn forget(&mut self, payer: Option<Arc<str>>) {
        if let Some(payer) = payer
            && let Some(own) = self.by_payer.get_mut(&payer)
        {
            *own -= 1;
            self.paid -= 1;
            if *own == 0 {
                self.by_payer.remove(&payer);
            }
        }
    }

    /// Sends away one of a caller's own that is quiet, if there is one among those that are quiet the longest.
    fn make_room_of(&self, payer: &Arc<str>) -> bool {
        let idle = |(rank, seat): &(&Rank, &Arc<Seat>)| {
            rank.since.elapsed() >= GRACE && !seat.cut.is_cancelled() && seat.payer().as_ref() == Some(payer)
        };
        let seat = self.quiet.iter().take(LOOKED_AT).find(idle);
        seat.inspect(|(_, seat)| seat.cut.cancel()).is_some()
    }
}

impl Place {
    /// From now on it is this caller's. False: they hold many, the rest is kept for others, and none of theirs can go.
    pub(crate) fn charge(&self, payer: &Arc<str>, has_parts: &dyn Fn() -> bool) -> bool {
        if self.seat.payer().as_ref() == Some(payer) {
            return true;
        }
        let mut state = self.places.state();
        let own = state.by_payer.get(payer).copied().unwrap_or(0);
        // One that was another's before is none more.
        let paid = state.paid - usize::from(self.seat.payer().is_some());
        let is_open = shares::is_open(paid, own, 1, self.places.most, has_parts);
        self.seat.is_refused.store(false, Ordering::Relaxed);
        if !is_open && !state.make_room_of(payer) {
            self.seat.is_refused.store(true, Ordering::Relaxed);
            return false;
        }
        *state.by_payer.entry(payer.clone()).or_default() += 1;
        state.paid += 1;
        let before = self.seat.payer().replace(payer.clone());
        state.forget(before);
        true
    }

    /// Whether its last call was refused for that.
    pub(crate) fn is_refused(&self) -> bool {
        self.seat.is_refused.load(Ordering::Relaxed)
    }
}
