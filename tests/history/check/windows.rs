//! Reservations of one job, as far as their holders know for certain.

use std::collections::HashMap;

use super::index::{Index, JobTrace};
use crate::record::{Moment, Way};

/// When a reservation was certainly live: from its answer to the last call that confirmed it.
struct Window<'h> {
    reservation: &'h str,
    from: Moment,
    to: Moment,
}

pub fn apart(index: &Index) -> Vec<String> {
    let mut found = Vec::new();
    for (id, trace) in &index.jobs {
        let mut windows = windows(trace);
        windows.sort_by_key(|window| window.from);
        let pairs = windows.windows(2).filter(|pair| pair[1].from < pair[0].to);
        found.extend(pairs.map(|pair| format!("{id}: {} and {} at once", pair[0].reservation, pair[1].reservation)));
    }
    found
}

fn windows<'h>(trace: &JobTrace<'h>) -> Vec<Window<'h>> {
    let mut windows: HashMap<&str, Window> = HashMap::new();
    for handed in &trace.handed {
        let reservation = handed.item.reservation.as_str();
        let (from, to) = (handed.end, handed.begin);
        let window = windows.entry(reservation).or_insert(Window { reservation, from, to });
        (window.from, window.to) = (window.from.min(from), window.to.max(to));
    }
    for settled in &trace.settled {
        let found_live = match settled.way {
            Way::Extend | Way::Undo => settled.outcome.done().is_some(),
            Way::Complete => settled.outcome.done().is_some_and(|item| item.closing || !item.late && !item.duplicate),
            Way::Abandon | Way::Fail | Way::HandOver => settled.outcome.is_new(),
        };
        if let Some(window) = windows.get_mut(settled.reservation).filter(|_| found_live) {
            window.to = window.to.max(settled.begin);
        }
    }
    windows.into_values().filter(|window| window.from < window.to).collect()
}
