//! Answers and the stream: what one says the other says too.

use std::collections::{HashMap, HashSet};

use intray::job::EventKind;

use super::index::{Index, Outcome, Settled, Tale};
use crate::record::{Answer, Ask, Moment, Way};

/// How often something happened to a job, by what was answered and by what was told.
struct Times {
    what: &'static str,
    certain: usize,
    possible: usize,
    told: usize,
}

pub fn acknowledged(index: &Index) -> Vec<String> {
    let mut found = Vec::new();
    for (id, tale) in &index.jobs {
        let short = times(tale).into_iter().filter(|times| times.told < times.certain);
        found.extend(short.map(|times| format!("{id}: {} {} times, told {}", times.what, times.certain, times.told)));
    }
    let tries = index.tries.values().flatten().filter(|one| one.is_alone);
    let stored = tries.filter_map(|one| one.outcome.done());
    let unknown = stored.filter(|said| index.jobs.get(said.id.as_str()).is_none_or(|tale| tale.events.is_empty()));
    found.extend(unknown.map(|said| format!("{} was stored, and nothing tells of it", said.id)));
    found.extend(cancelled(index));
    found
}

fn cancelled(index: &Index) -> Vec<String> {
    let calls = index.history.calls.iter().filter_map(|call| match (&call.ask, &call.answer) {
        (Ask::Cancel { id, .. }, Answer::Done(_)) => Some(id),
        _ => None,
    });
    let is_told = |id: &str| index.jobs.get(id).is_some_and(|tale| count(tale, EventKind::Cancelled) > 0);
    calls.filter(|id| !is_told(id)).map(|id| format!("{id} was cancelled, and nothing tells of it")).collect()
}

pub fn asked_for(index: &Index) -> Vec<String> {
    let mut found = Vec::new();
    for (id, tale) in &index.jobs {
        let long = times(tale).into_iter().filter(|times| times.told > times.certain + times.possible);
        found.extend(long.map(|times| {
            format!("{id}: {} told {} times, {} + {} asked", times.what, times.told, times.certain, times.possible)
        }));
    }
    found.extend(unasked_hand_outs(index));
    found
}

fn times(tale: &Tale) -> Vec<Times> {
    let settle = |what, kind, way| {
        let those: Vec<_> = tale.settled.iter().filter(|one| one.way == way && !one.has_grace).collect();
        let certain = those.iter().filter(|one| one.outcome.is_new()).count();
        Times { what, certain, possible: open(&those, way), told: count(tale, kind) }
    };
    let handed: HashSet<_> = tale.handed.iter().map(|one| one.said.reservation.as_str()).collect();
    let reserved = count(tale, EventKind::Reserved);
    let plain = tale.events.iter().filter(|event| event.kind == EventKind::Abandoned.word());
    let told = plain.filter(|event| !event.is_undelivered() && event.reason.as_deref() != Some("grace")).count();
    vec![
        settle("completed", EventKind::Completed, Way::Complete),
        settle("failed", EventKind::Failed, Way::Fail),
        settle("extended", EventKind::Extended, Way::Extend),
        Times { told, ..settle("abandoned", EventKind::Abandoned, Way::Abandon) },
        Times { what: "handed out", certain: handed.len(), possible: usize::MAX / 2, told: reserved },
    ]
}

/// Calls that may have done it: an ending happens once, however often it is tried; each extend may count.
fn open(those: &[&Settled], way: Way) -> usize {
    let unknown = those.iter().filter(|one| matches!(one.outcome, Outcome::Unknown));
    if way == Way::Extend {
        return unknown.count();
    }
    let certain: HashSet<_> = those.iter().filter(|one| one.outcome.is_new()).map(|one| one.reservation).collect();
    unknown.map(|one| one.reservation).filter(|it| !certain.contains(it)).collect::<HashSet<_>>().len()
}

fn count(tale: &Tale, kind: EventKind) -> usize {
    tale.events.iter().filter(|event| event.kind == kind.word()).count()
}

/// A named worker's hand-outs: those that they saw, and of those that they did not see no more than calls were left open
/// could have brought.
fn unasked_hand_outs(index: &Index) -> Vec<String> {
    let (mut seen, mut open, mut told) = (HashMap::new(), HashMap::new(), HashMap::new());
    for call in &index.history.calls {
        let Ask::Reserve { worker: Some(worker), limit, wait_ms, .. } = &call.ask else { continue };
        // Who waits tries again, and what was given to a try that nobody heard of may have run out by then.
        *open.entry(worker.as_str()).or_insert(0) += if *wait_ms > 0 { *limit } else { 0 };
        match &call.answer {
            Answer::Done(said) => {
                let them: &mut HashSet<&str> = seen.entry(worker.as_str()).or_default();
                them.extend(said.iter().map(|said| said.reservation.as_str()));
            }
            Answer::Refused(refusal) if !refusal.unsure => {}
            Answer::Refused(_) | Answer::Unknown => *open.entry(worker.as_str()).or_insert(0) += limit,
        }
    }
    for event in &index.history.events {
        let Some(worker) = event.worker.as_deref() else { continue };
        // What nobody took and was put back at once is no hand-out, and the same call may bring another.
        match EventKind::parse(&event.kind) {
            Some(EventKind::Reserved) => *told.entry(worker).or_insert(0_usize) += 1,
            Some(EventKind::Abandoned) if event.is_undelivered() => {
                let jobs = told.entry(worker).or_default();
                *jobs = jobs.saturating_sub(1);
            }
            Some(_) | None => {}
        }
    }
    let most = |worker: &str| seen.get(worker).map_or(0, HashSet::len) + open.get(worker).copied().unwrap_or(0);
    let too_many = told.iter().filter(|(worker, told)| **told > most(worker));
    too_many
        .map(|(worker, told)| format!("{worker} was given {told} jobs, {} at most were asked", most(worker)))
        .collect()
}

/// What ends before something else begins comes before it.
pub fn in_time(index: &Index) -> Vec<String> {
    let enqueued: HashMap<&str, (Moment, Moment)> = once(index.tries.values().flatten().filter_map(|one| {
        let said = one.outcome.done().filter(|said| one.key.is_none() && one.is_alone && !said.duplicate)?;
        Some((said.id.as_str(), (one.begin, one.end)))
    }));
    let completed: HashMap<&str, (Moment, Moment)> = once(index.jobs.iter().flat_map(|(id, tale)| {
        let those = tale.settled.iter().filter(|one| one.way == Way::Complete && one.outcome.is_new());
        those.map(|one| (*id, (one.begin, one.end)))
    }));
    let mut found = late(index, EventKind::Enqueued, &enqueued);
    found.extend(late(index, EventKind::Completed, &completed));
    found
}

fn once<'h>(pairs: impl Iterator<Item = (&'h str, (Moment, Moment))>) -> HashMap<&'h str, (Moment, Moment)> {
    pairs.collect()
}

/// Events of a kind whose calls had ended when a call began whose event came before.
fn late(index: &Index, kind: EventKind, calls: &HashMap<&str, (Moment, Moment)>) -> Vec<String> {
    let mut found = Vec::new();
    for events in index.events.values() {
        let mut latest = (0, "");
        for event in events.iter().filter(|event| event.kind == kind.word()) {
            let Some((job, (begin, end))) = event.job.as_deref().and_then(|job| Some((job, *calls.get(job)?))) else {
                continue;
            };
            if end < latest.0 {
                found.push(format!("{job} was {} before {}, and is told behind it", kind.word(), latest.1));
            }
            latest = latest.max((begin, job));
        }
    }
    found
}
