//! Limits: locks, concurrency of batches, worker limits.

use std::collections::{HashMap, HashSet};

use intray::job::EventKind;

use super::index::{self, Index};
use crate::record::Event;

/// Whether the job is reserved after an event; `None` if unchanged.
pub fn is_out(event: &Event) -> Option<bool> {
    match EventKind::parse(&event.kind)? {
        EventKind::Reserved => Some(true),
        EventKind::Abandoned
        | EventKind::Released
        | EventKind::Expired
        | EventKind::Failed
        | EventKind::Completed
        | EventKind::Cancelled
        | EventKind::HandedOver => Some(false),
        EventKind::Enqueued
        | EventKind::Due
        | EventKind::Blocked
        | EventKind::Resumed
        | EventKind::Extended
        | EventKind::Dead
        | EventKind::Requeued
        | EventKind::Changed
        | EventKind::Paused
        | EventKind::Unpaused
        | EventKind::BatchCompleted
        | EventKind::SlaBreached
        | EventKind::Fallback
        | EventKind::Closing
        | EventKind::Undone => None,
    }
}

/// What an event means for the gates of its job.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Passage {
    Takes,
    /// Takes its room back, whether there is any or not.
    TakesBack,
    Leaves,
}

/// A lock and the room of a batch are taken until the completion is final.
fn passage(event: &Event) -> Option<Passage> {
    is_out(event).map(|goes_out| if goes_out { Passage::Takes } else { Passage::Leaves })
}

/// A completion is over for its worker, who may exceed the limit by taking it back.
fn passage_of_worker(event: &Event) -> Option<Passage> {
    match EventKind::parse(&event.kind) {
        Some(EventKind::Closing) => Some(Passage::Leaves),
        Some(EventKind::Undone) => Some(Passage::TakesBack),
        Some(_) | None => passage(event),
    }
}

/// Walks through each queue; `gates` names the gates of a job, each with its limit.
fn crowded<'h>(
    index: &Index<'h>,
    passage: fn(&Event) -> Option<Passage>,
    gates: impl Fn(&'h Event) -> Vec<(String, usize)>,
) -> Vec<String> {
    let mut found = Vec::new();
    for (queue, events) in &index.events {
        let mut out: HashMap<String, HashSet<&str>> = HashMap::new();
        let mut taken: HashMap<&str, Vec<String>> = HashMap::new();
        for event in events {
            let (Some(id), Some(passage)) = (event.job.as_deref(), passage(event)) else { continue };
            for gate in taken.remove(id).into_iter().flatten() {
                out.entry(gate).or_default().remove(id);
            }
            if passage == Passage::Leaves {
                continue;
            }
            for (gate, room) in gates(event) {
                let those = out.entry(gate.clone()).or_default();
                those.insert(id);
                if those.len() > room && passage == Passage::Takes {
                    found.push(format!("{queue}: {gate} with {room}: {those:?} at {:?}", event.position));
                }
                taken.entry(id).or_default().push(gate);
            }
        }
    }
    found
}

pub fn locks(index: &Index) -> Vec<String> {
    let locks = |event: &Event| {
        let job = event.job.as_deref().and_then(|id| index.sent(id));
        job.into_iter().flat_map(|job| &job.locks).map(|lock| (format!("the lock {lock}"), 1)).collect()
    };
    crowded(index, passage, locks)
}

pub fn concurrency(index: &Index) -> Vec<String> {
    let limits = index.concurrency();
    let batch = |event: &Event| {
        let limit = index::batch(event).and_then(|batch| Some((limits.get(batch.as_str()).copied()?, batch)));
        limit.into_iter().map(|(limit, batch)| (format!("the batch {batch}"), limit)).collect()
    };
    crowded(index, passage, batch)
}

pub fn worker_limit(index: &Index) -> Vec<String> {
    let limit = |event: &Event| {
        let limit = index.plans.get(event.queue.as_str()).map_or(0, |plan| plan.worker_limit);
        let worker = event.worker.iter().filter(|_| limit > 0);
        worker.map(|worker| (format!("the worker {worker}"), limit)).collect()
    };
    crowded(index, passage_of_worker, limit)
}
