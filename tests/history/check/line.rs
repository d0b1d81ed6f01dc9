//! Turns, in queues without priorities, delays or picks.

use std::collections::{BTreeMap, HashMap, HashSet};

use intray::job::EventKind;

use super::index::Index;
use crate::record::Event;

/// The maximum number of jobs of one client that may be reserved between the arrival of another, idle client's job and its
/// reservation: one of the current turn, one of the next.
const AHEAD: usize = 2;

/// The events of queues in which no job overtakes another.
fn lines<'i, 'h>(index: &'i Index<'h>) -> impl Iterator<Item = &'i Vec<&'h Event>> {
    let is_line = |queue: &str| index.plans.get(queue).is_some_and(|plan| plan.is_line);
    index.events.iter().filter(move |(queue, _)| is_line(queue)).map(|(_, events)| events)
}

/// Jobs of one client are reserved in the order of arrival, returned or not.
pub fn order(index: &Index) -> Vec<String> {
    let mut found = Vec::new();
    for events in lines(index) {
        let mut arrivals: HashMap<&str, usize> = HashMap::new();
        let mut waiting: HashMap<Option<&str>, BTreeMap<usize, &str>> = HashMap::new();
        for event in events {
            let Some(id) = event.job.as_deref() else { continue };
            let next = arrivals.len();
            let arrival = *arrivals.entry(id).or_insert(next);
            let those = waiting.entry(event.client.as_deref()).or_default();
            match EventKind::parse(&event.kind) {
                Some(
                    EventKind::Enqueued
                    | EventKind::Abandoned
                    | EventKind::Expired
                    | EventKind::Failed
                    | EventKind::Released,
                ) => {
                    those.insert(arrival, id);
                }
                Some(EventKind::Reserved) => {
                    let first = those.first_key_value().map(|(_, first)| *first);
                    if first != Some(id) {
                        found.push(format!("{id} went at {:?} before {first:?}", event.position));
                    }
                    those.remove(&arrival);
                }
                Some(EventKind::Completed | EventKind::Cancelled) => drop(those.remove(&arrival)),
                Some(_) | None => {}
            }
        }
    }
    found
}

/// A job of a client that has no other.
struct Newcomer<'h> {
    client: Option<&'h str>,
    /// First reservations in the meantime, by client.
    passed: HashMap<Option<&'h str>, usize>,
}

/// A client's only job waits for no later job, and for few jobs of each other client.
pub fn fairness(index: &Index) -> Vec<String> {
    let mut found = Vec::new();
    for events in lines(index) {
        let mut live: HashMap<Option<&str>, usize> = HashMap::new();
        let mut newcomers: BTreeMap<(u64, u64, u64), (&str, Newcomer)> = BTreeMap::new();
        let (mut came, mut served) = (HashMap::new(), HashSet::new());
        for event in events {
            let (Some(id), client) = (event.job.as_deref(), event.client.as_deref()) else { continue };
            match EventKind::parse(&event.kind) {
                Some(EventKind::Enqueued) => {
                    came.insert(id, event.position);
                    let jobs = live.entry(client).or_default();
                    if *jobs == 0 {
                        newcomers.insert(event.position, (id, Newcomer { client, passed: HashMap::new() }));
                    }
                    *jobs += 1;
                }
                Some(EventKind::Reserved) if served.insert(id) => {
                    let since = came.get(id).copied().unwrap_or_default();
                    newcomers.remove(&since);
                    if let Some((_, (other, _))) = newcomers.first_key_value().filter(|(at, _)| **at < since) {
                        found.push(format!("{id} came after {other} and went before it"));
                    }
                    found.extend(newcomers.values_mut().filter_map(|(other, it)| it.passes(client, other)));
                }
                Some(EventKind::Completed | EventKind::Cancelled) => {
                    newcomers.retain(|_, (other, _)| *other != id);
                    let jobs = live.entry(client).or_default();
                    *jobs = jobs.saturating_sub(1);
                }
                Some(_) | None => {}
            }
        }
    }
    found
}

impl<'h> Newcomer<'h> {
    /// Reports a client over the limit.
    fn passes(&mut self, client: Option<&'h str>, this: &str) -> Option<String> {
        if client == self.client {
            return None;
        }
        let jobs = self.passed.entry(client).or_default();
        *jobs += 1;
        (*jobs > AHEAD).then(|| format!("{jobs} jobs of {client:?} went while {this} of {:?} waited", self.client))
    }
}
