//! The life cycle of each job, by its events.

use intray::job::Kind;

use super::index::Index;
use crate::record::Event;

/// The state of a job by its events. Waiting, blocked and delayed are not always distinguished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Not created yet, or removed.
    Nowhere,
    InLine,
    Out,
    Dead,
    Completed,
    Cancelled,
}

pub fn moves(index: &Index) -> Vec<String> {
    let mut found = out_of_order(index);
    for (id, trace) in &index.jobs {
        let (mut place, mut holder, mut before) = (Place::Nowhere, None, None);
        for event in &trace.events {
            let Some(kind) = Kind::parse(&event.kind) else {
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
            if kind == Kind::Reserved {
                holder = event.worker.as_deref();
            }
            (place, before) = (next, Some(kind));
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
fn step(place: Place, kind: Kind, event: &Event, before: Option<Kind>) -> Option<Place> {
    use Place::{Cancelled, Completed, Dead, InLine, Nowhere, Out};
    let from = |allowed: &[Place], to| allowed.contains(&place).then_some(to);
    match kind {
        // Jobs of an unfinished batch are removed after a minute, and the same call creates them again.
        Kind::Enqueued if event.batch.is_some() && before == Some(Kind::Cancelled) => from(&[Cancelled], InLine),
        Kind::Enqueued => from(&[Nowhere], InLine),
        Kind::Due | Kind::Blocked => from(&[InLine], InLine),
        Kind::Reserved => from(&[InLine], Out),
        Kind::Resumed | Kind::Extended => from(&[Out], Out),
        Kind::Abandoned | Kind::Released | Kind::Expired | Kind::Failed => from(&[Out], InLine),
        Kind::Completed if event.is_late() => from(&[InLine, Out, Dead], Completed),
        Kind::Completed => from(&[Out], Completed),
        Kind::Dead if matches!(before, Some(Kind::Failed | Kind::Expired)) => from(&[InLine], Dead),
        Kind::Dead => None,
        Kind::Cancelled => from(&[InLine, Out, Dead], Cancelled),
        Kind::Requeued => from(&[Dead], InLine),
        Kind::Changed => from(&[InLine, Out], place),
        Kind::Paused | Kind::Unpaused | Kind::BatchCompleted => None,
    }
}

/// Only the holder acts on a reserved job.
fn is_holders(kind: Kind, event: &Event, holder: Option<&str>) -> bool {
    let by_holder = match kind {
        Kind::Resumed | Kind::Extended | Kind::Abandoned | Kind::Failed => true,
        Kind::Completed => !event.is_late(),
        Kind::Enqueued
        | Kind::Due
        | Kind::Blocked
        | Kind::Reserved
        | Kind::Released
        | Kind::Expired
        | Kind::Dead
        | Kind::Cancelled
        | Kind::Requeued
        | Kind::Changed
        | Kind::Paused
        | Kind::Unpaused
        | Kind::BatchCompleted => false,
    };
    !by_holder || event.worker.as_deref() == holder
}

/// The final state of a job, if all its moves are legal.
pub fn last(events: &[&Event]) -> Place {
    let (mut place, mut before) = (Place::Nowhere, None);
    for event in events {
        let kind = Kind::parse(&event.kind);
        place = kind.and_then(|kind| step(place, kind, event, before)).unwrap_or(place);
        before = kind;
    }
    place
}
