//! Equal jobs of a batch: no worker is given two of them.

use std::collections::HashMap;

use intray::job::EventKind;

use super::index::Index;
use crate::record::batch_of;

/// A worker has a part in a batch from the hand-out on, and keeps it when the lease expires, because what they hand in then may
/// count. An event of an abandon does not say whether the job was skipped, so it is taken as if the part were forgotten.
pub fn one_each(index: &Index) -> Vec<String> {
    let mut parts: HashMap<(String, &str), &str> = HashMap::new();
    let mut found = Vec::new();
    for event in index.events.values().flatten() {
        let (Some(id), Some(kind)) = (event.job.as_deref(), EventKind::parse(&event.kind)) else { continue };
        if index.sent(id).is_none_or(|job| job.overlap.is_none()) {
            continue;
        }
        let batch = batch_of(id);
        match (kind, event.worker.as_deref()) {
            (EventKind::Reserved, None) => found.push(format!("{id} was given to a worker without a name")),
            (EventKind::Reserved, Some(worker)) => {
                let other = parts.insert((batch, worker), id).filter(|other| *other != id);
                found.extend(other.map(|other| format!("{worker} was given {id}, and {other} before")));
            }
            (
                EventKind::Abandoned
                | EventKind::Failed
                | EventKind::Released
                | EventKind::HandedOver
                | EventKind::Cancelled,
                Some(worker),
            ) => {
                parts.remove(&(batch, worker));
            }
            _ => {}
        }
    }
    found
}
