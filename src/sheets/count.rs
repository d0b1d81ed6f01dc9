//! What an event adds to the line of its worker.

use crate::{
    job::{EventKind, SheetCounter, SheetCounts},
    store::{Event, GivenBack},
};

/// The counts that an event adds; `None` for events that are not counted.
pub(super) fn counts_of(event: &Event) -> Option<SheetCounts> {
    let counter = match event.kind {
        EventKind::Reserved => SheetCounter::HandedOut,
        EventKind::Expired => SheetCounter::Expired,
        EventKind::Failed => SheetCounter::Failed,
        EventKind::HandedOver => SheetCounter::HandedOver,
        EventKind::Undone => SheetCounter::Undone,
        EventKind::Abandoned => match event.given_back? {
            GivenBack::Undelivered => return None,
            GivenBack::Skipped => SheetCounter::Skipped,
            GivenBack::Abandoned => SheetCounter::Abandoned,
        },
        EventKind::Completed => {
            let mut counts = SheetCounts::default();
            let (held_ms, is_late) = event.completed.as_ref().map_or((0, false), |done| (done.held_ms, done.late));
            counts.complete(held_ms, is_late);
            let ends = [(EventKind::Expired, SheetCounter::Expired), (EventKind::Abandoned, SheetCounter::Abandoned)];
            ends.iter()
                .filter(|(kind, _)| event.ended_as == Some(*kind))
                .for_each(|(_, counter)| counts.count(*counter));
            return Some(counts);
        }
        EventKind::Enqueued
        | EventKind::Due
        | EventKind::Blocked
        | EventKind::Resumed
        | EventKind::Extended
        | EventKind::Released
        | EventKind::Dead
        | EventKind::Cancelled
        | EventKind::Requeued
        | EventKind::Changed
        | EventKind::Paused
        | EventKind::Unpaused
        | EventKind::BatchCompleted
        | EventKind::SlaBreached
        | EventKind::Fallback
        | EventKind::Closing => return None,
    };
    let mut counts = SheetCounts::default();
    counts.count(counter);
    Some(counts)
}
