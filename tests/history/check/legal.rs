//! The life cycle of each job, by its events.

use intray::job::EventKind;

use super::index::Index;
use crate::record::Event;

/// The state of a job by its events. Waiting, blocked and delayed are not always distinguished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Not created yet, or removed.
    Nowhere,
    InLine,
    Out,
    /// Its worker has completed it, and may take that back.
    Closing,
    Dead,
    Completed,
    Cancelled,
}

pub fn moves(index: &Index) -> Vec<String> {
    let mut found = out_of_order(index);
    for (id, trace) in &index.jobs {
        let (mut place, mut holder, mut before) = (Place::Nowhere, None, None);
        for event in &trace.events {
            let Some(kind) = EventKind::parse(&event.kind) else {
                found.push(format!("{id}: {} is no transition", event.kind));
                continue;
            };
            let next = step(place, kind, event, before).filter(|_| is_holders(kind, event, holder));
            let Some(next) = next else {
                found.push(format!(
                    "{id}: {} by {:?} at {:?} while {place:?}",
                    event.kind, event.worker, event.position
                ));
                break;
            };
            if kind == EventKind::Reserved {
                holder = event.worker.as_deref();
            }
            (place, before) = (next, follows(kind, before));
        }
    }
    found
}

/// Each event has its own id, in order.
fn out_of_order(index: &Index) -> Vec<String> {
    let pairs = index.events.values().flat_map(|events| events.windows(2));
    let wrong = pairs.filter(|pair| pair[0].position >= pair[1].position);
    wrong.map(|pair| format!("{:?} after {:?}", pair[1], pair[0].position)).collect()
}

/// The state after an event; `None` if the event is illegal there.
fn step(place: Place, kind: EventKind, event: &Event, before: Option<EventKind>) -> Option<Place> {
    use Place::{Cancelled, Closing, Completed, Dead, InLine, Nowhere, Out};
    let from = |allowed: &[Place], to| allowed.contains(&place).then_some(to);
    match kind {
        // Jobs of an unfinished batch are removed after a minute, and the same call creates them again.
        EventKind::Enqueued if event.batch.is_some() && before == Some(EventKind::Cancelled) => {
            from(&[Cancelled], InLine)
        }
        EventKind::Enqueued => from(&[Nowhere], InLine),
        EventKind::Due | EventKind::Blocked => from(&[InLine], InLine),
        EventKind::Reserved => from(&[InLine], Out),
        EventKind::Resumed | EventKind::Extended => from(&[Out], Out),
        EventKind::Abandoned | EventKind::Released | EventKind::Expired | EventKind::Failed | EventKind::HandedOver => {
            from(&[Out], InLine)
        }
        EventKind::Completed if event.is_late() => from(&[InLine, Out, Dead], Completed),
        EventKind::Closing => from(&[Out], Closing),
        EventKind::Undone => from(&[Closing], Out),
        EventKind::Completed => from(&[Out, Closing], Completed),
        EventKind::Dead if matches!(before, Some(EventKind::Failed | EventKind::Expired)) => from(&[InLine], Dead),
        EventKind::Dead => None,
        EventKind::Cancelled => from(&[InLine, Out, Dead], Cancelled),
        EventKind::Requeued => from(&[Dead], InLine),
        EventKind::Changed | EventKind::SlaBreached | EventKind::Fallback => from(&[InLine, Out, Closing], place),
        EventKind::Paused | EventKind::Unpaused | EventKind::BatchCompleted => None,
    }
}

/// What the next event follows. A breached SLA and a fallback move nothing, and their events may stand between an expiry and the death that it causes.
fn follows(kind: EventKind, before: Option<EventKind>) -> Option<EventKind> {
    if matches!(kind, EventKind::SlaBreached | EventKind::Fallback) { before } else { Some(kind) }
}

/// Only the holder acts on a reserved job.
fn is_holders(kind: EventKind, event: &Event, holder: Option<&str>) -> bool {
    let by_holder = match kind {
        EventKind::Resumed
        | EventKind::Extended
        | EventKind::Abandoned
        | EventKind::Failed
        | EventKind::HandedOver
        | EventKind::Closing
        | EventKind::Undone => true,
        EventKind::Completed => !event.is_late(),
        EventKind::Enqueued
        | EventKind::Due
        | EventKind::Blocked
        | EventKind::Reserved
        | EventKind::Released
        | EventKind::Expired
        | EventKind::Dead
        | EventKind::Cancelled
        | EventKind::Requeued
        | EventKind::Changed
        | EventKind::Paused
        | EventKind::Unpaused
        | EventKind::BatchCompleted
        | EventKind::SlaBreached
        | EventKind::Fallback => false,
    };
    !by_holder || event.worker.as_deref() == holder
}

/// The final state of a job, if all its moves are legal.
pub fn last(events: &[&Event]) -> Place {
    let (mut place, mut before) = (Place::Nowhere, None);
    for event in events {
        let kind = EventKind::parse(&event.kind);
        place = kind.and_then(|kind| step(place, kind, event, before)).unwrap_or(place);
        before = kind.map_or(before, |kind| follows(kind, before));
    }
    place
}
