//! Things that must be unique.

use std::collections::{BTreeMap, HashMap, HashSet};

use intray::job::{EventKind, State};

use super::{closing, index::Index};
use crate::record::{Twin, Way, queue_of};

/// One accepted completion that was not taken back, by its holder, and its result is the stored one.
pub fn completion(index: &Index) -> Vec<String> {
    let mut found = Vec::new();
    for (id, trace) in &index.jobs {
        let completions = trace.settled.iter().filter(|one| one.way == Way::Complete);
        let done: HashSet<_> =
            completions.filter(|one| closing::stays(trace, one)).map(|one| (one.reservation, one.value)).collect();
        if done.len() > 1 {
            found.push(format!("{id} was completed by {done:?}"));
        }
        if trace.events.iter().filter(|event| event.kind == EventKind::Completed.word()).count() > 1 {
            found.push(format!("{id} has two completion events"));
        }
        if let (Some(end), [(_, value)]) = (trace.end, done.iter().collect::<Vec<_>>().as_slice())
            && end.result != *value
        {
            found.push(format!("{id} was completed with {value:?}, and holds {:?}", end.result));
        }
    }
    found
}

/// Equal calls with one key make one job, and only one where nothing is removed.
pub fn key(index: &Index) -> Vec<String> {
    let mut made: BTreeMap<(u64, usize), HashSet<&str>> = BTreeMap::new();
    let mut keyed = HashSet::new();
    for one in index.tries.values().flatten() {
        if let Some(key) = one.key {
            keyed.insert(one.job.n);
            made.entry(key).or_default().extend(one.outcome.done().map(|item| item.id.as_str()));
        }
    }
    let several = made.iter().filter(|(_, ids)| ids.len() > 1);
    let mut found: Vec<_> = several.map(|(key, ids)| format!("the key {key:?} made {ids:?}")).collect();
    let mut jobs: HashMap<u64, Vec<&str>> = HashMap::new();
    for (id, trace) in &index.jobs {
        if let Some(n) = trace.n.filter(|n| keyed.contains(n) && index.keeps(queue_of(id))) {
            jobs.entry(n).or_default().push(id);
        }
    }
    let several = jobs.into_iter().filter(|(_, ids)| ids.len() > 1);
    found.extend(several.map(|(n, ids)| format!("{n} was enqueued under a key, and is {ids:?}")));
    found
}

/// Only one of the jobs with the same queue, client and key or payload is live at a time, and a duplicate answer names a
/// live job.
pub fn twins(index: &Index) -> Vec<String> {
    let mut found = Vec::new();
    for (queue, events) in &index.events {
        let mut live: HashMap<(Option<&str>, Twin, u64), &str> = HashMap::new();
        for event in events {
            let Some(id) = event.job.as_deref() else { continue };
            let Some(kind) = index.sent(id).filter(|job| job.twin != Twin::None).map(kind) else { continue };
            let holder = live.get(&kind).copied();
            if event.kind == EventKind::Enqueued.word() {
                if let Some(other) = live.insert(kind, id) {
                    found.push(format!("{queue}: {id} came while its twin {other} lived"));
                }
            } else if ends(event) && holder == Some(id) {
                live.remove(&kind);
            }
        }
    }
    let dones = index.tries.values().flatten().filter_map(|one| Some((one, one.outcome.done()?)));
    for (one, item) in dones.filter(|(_, item)| item.duplicate) {
        if index.sent(&item.id).is_some_and(|other| kind(other) != kind(one.job)) {
            found.push(format!("{} is no twin of {}", item.id, one.job.n));
        }
        // A repeated call reports the current state of the job.
        if one.key.is_none() && State::parse(&item.state).is_some_and(State::is_ended) {
            found.push(format!("{} was {} and still the twin of {}", item.id, item.state, one.job.n));
        }
    }
    found
}

/// The identity of a job: its key, or else its payload.
fn kind(job: &crate::record::Job) -> (Option<&str>, Twin, u64) {
    let n = if job.twin == Twin::Payload { job.n } else { 0 };
    (job.client.as_deref(), job.twin, n)
}

fn ends(event: &crate::record::Event) -> bool {
    [EventKind::Completed, EventKind::Dead, EventKind::Cancelled].iter().any(|kind| event.kind == kind.word())
}
