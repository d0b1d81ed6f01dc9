//! A worker gets back the draft that it saved last.

use std::collections::{HashMap, HashSet};

use intray::job::EventKind;

use super::index::{Handed, Index, JobTrace, Outcome, Settled};
use crate::record::{Moment, Way};

/// A draft that was saved, or may have been.
struct Save<'h> {
    worker: Option<&'h str>,
    value: u64,
    settled: &'h Settled<'h>,
}

impl Save<'_> {
    fn is_certain(&self) -> bool {
        self.settled.outcome.is_new()
    }
}

pub fn come_back(index: &Index) -> Vec<String> {
    let mut found = Vec::new();
    for (id, trace) in &index.jobs {
        let saves = saves(trace);
        let named = trace.handed.iter().filter(|handed| handed.item.worker.is_some());
        let hand_overs = HandOvers::of(trace);
        found.extend(named.filter_map(|handed| wrong(handed, &saves, &hand_overs)).map(|what| format!("{id}: {what}")));
        let nameless = trace.handed.iter().filter(|handed| handed.item.worker.is_none() && handed.item.draft.is_some());
        found.extend(nameless.map(|_| format!("{id}: a draft went to a caller without a name")));
    }
    found
}

fn saves<'h>(trace: &'h JobTrace<'h>) -> Vec<Save<'h>> {
    let workers = workers(trace);
    let kept = trace.settled.iter().filter(|one| !one.outcome.is_refused());
    let worker = |settled: &Settled| workers.get(settled.reservation).copied().flatten();
    kept.flat_map(|settled| {
        let worker = worker(settled);
        drafts(trace, settled).into_iter().map(move |value| Save { worker, value, settled })
    })
    .collect()
}

/// What a call saves as the draft. For an undo without an answer that may be any result that was handed in.
fn drafts(trace: &JobTrace, settled: &Settled) -> Vec<u64> {
    match settled.way {
        Way::Extend | Way::Abandon => settled.value.into_iter().collect(),
        Way::Undo => match settled.outcome {
            Outcome::Done(_) => settled.taken_back().and_then(|held| held.draft).into_iter().collect(),
            Outcome::Refused(_) => Vec::new(),
            Outcome::Unknown => {
                let completions = trace.settled.iter().filter(|one| one.way == Way::Complete && one.undo_ms > 0);
                completions.filter(|one| one.reservation == settled.reservation).filter_map(|one| one.value).collect()
            }
        },
        Way::Complete | Way::Fail | Way::HandOver => Vec::new(),
    }
}

/// The hand-overs of a job: who gave it away, from when on, and to whom. The receiver has the draft then.
struct HandOvers<'h> {
    givers: Vec<(&'h str, Moment)>,
    receivers: HashSet<&'h str>,
}

impl<'h> HandOvers<'h> {
    fn of(trace: &'h JobTrace) -> Self {
        let events = trace.events.iter().filter(|event| event.kind == EventKind::HandedOver.word());
        let receivers = events.filter_map(|event| event.reason.as_deref()?.strip_prefix('@')).collect();
        let workers = workers(trace);
        let made = trace.settled.iter().filter(|one| one.way == Way::HandOver && !one.outcome.is_refused());
        let givers = made.filter_map(|one| Some((workers.get(one.reservation).copied()??, one.begin))).collect();
        Self { givers, receivers }
    }
}

/// The worker of each reservation.
fn workers<'h>(trace: &JobTrace<'h>) -> HashMap<&'h str, Option<&'h str>> {
    trace.handed.iter().map(|one| (one.item.reservation.as_str(), one.item.worker.as_deref())).collect()
}

fn wrong(handed: &Handed, saves: &[Save], hand_overs: &HandOvers) -> Option<String> {
    let worker = handed.item.worker.as_deref();
    let is_receiver = worker.is_some_and(|name| hand_overs.receivers.contains(name));
    let past = saves.iter().filter(|save| save.settled.begin < handed.end);
    match handed.item.draft {
        Some(value) => {
            let mine: Vec<_> =
                past.filter(|save| (is_receiver || save.worker == worker) && save.value == value).collect();
            let Some(last) = mine.iter().map(|save| save.settled.end).max() else {
                return Some(format!("{worker:?} was shown {value}, and never saved it"));
            };
            // The call of a lost answer may have run much later.
            let is_open = mine.iter().any(|save| matches!(save.settled.outcome, Outcome::Unknown));
            let newer = saves
                .iter()
                .find(|save| save.is_certain() && save.settled.begin > last && save.settled.end < handed.begin);
            newer.filter(|_| !is_open).map(|save| format!("{worker:?} was shown {value} after {}", save.value))
        }
        None => {
            let mine = past.filter(|save| save.worker == worker && save.is_certain());
            let sure = mine.filter(|save| save.settled.end < handed.begin);
            let last = sure.max_by_key(|save| save.settled.begin)?;
            let may_be_over = saves.iter().any(|other| {
                other.settled.end > last.settled.begin && other.settled.begin < handed.end && other.value != last.value
            });
            let is_open = saves.iter().any(|other| matches!(other.settled.outcome, Outcome::Unknown));
            let is_given_away =
                hand_overs.givers.iter().any(|(giver, from)| Some(*giver) == worker && *from < handed.end);
            (!is_given_away && !may_be_over && !is_open).then(|| format!("{worker:?} was not shown {}", last.value))
        }
    }
}
