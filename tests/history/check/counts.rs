//! What is counted, against a recount.

use std::collections::{HashMap, HashSet};

use intray::job::{EventKind, Total};

use super::{
    gates,
    index::{Index, Tale},
};
use crate::record::{Counts, Event};

/// What a job's events come to.
#[derive(Debug, Default, PartialEq, Eq)]
struct Recount {
    handed_out: u64,
    expired: u64,
    failed: u64,
    abandoned: u64,
    released: u64,
    attempts: u64,
    is_out: bool,
}

impl Recount {
    fn add(&mut self, event: &Event) {
        let Some(kind) = EventKind::parse(&event.kind) else { return };
        self.is_out = gates::is_out(event).unwrap_or(self.is_out);
        match kind {
            EventKind::Reserved => self.handed_out += 1,
            EventKind::Abandoned if event.is_undelivered() => self.handed_out = self.handed_out.saturating_sub(1),
            EventKind::Abandoned => self.abandoned += 1,
            EventKind::Expired => (self.expired, self.attempts) = (self.expired + 1, self.attempts + 1),
            EventKind::Failed => (self.failed, self.attempts) = (self.failed + 1, self.attempts + 1),
            EventKind::Released => self.released += 1,
            EventKind::Requeued => self.attempts = 0,
            EventKind::Enqueued
            | EventKind::Due
            | EventKind::Blocked
            | EventKind::Resumed
            | EventKind::Extended
            | EventKind::Completed
            | EventKind::Dead
            | EventKind::Cancelled
            | EventKind::Changed
            | EventKind::Paused
            | EventKind::Unpaused
            | EventKind::BatchCompleted => {}
        }
    }
}

/// Who completes what is overdue and not swept yet ends their reservation by it, and that counts: as expired, or as abandoned
/// after a grace. The event does not say which.
fn is_swept_by_completion(tale: &Tale) -> bool {
    let mut recount = Recount::default();
    for event in &tale.events {
        if event.kind == EventKind::Completed.word() && event.is_late() && recount.is_out {
            return true;
        }
        recount.add(event);
    }
    false
}

pub fn of_jobs(index: &Index) -> Vec<String> {
    let mut found = Vec::new();
    for (id, tale) in &index.jobs {
        let Some((end, counts)) = tale.end.and_then(|end| Some((end, end.counts.as_ref()?))) else { continue };
        let mut recount = Recount::default();
        tale.events.iter().for_each(|event| recount.add(event));
        let ended = recount.expired + recount.abandoned + u64::from(is_swept_by_completion(tale));
        let told = [recount.handed_out, ended, recount.failed, recount.released];
        let get = |key: &str| counts.get(key).copied().unwrap_or(0);
        let kept = [get("handed_out"), get("expired") + get("abandoned"), get("failed"), get("released")];
        if told != kept || get("expired") < recount.expired || get("abandoned") < recount.abandoned {
            found.push(format!("{id} counts {counts:?}, told {recount:?}"));
        }
        if end.attempt != Some(recount.attempts) {
            found.push(format!("{id} counts {:?} attempts, told {}", end.attempt, recount.attempts));
        }
    }
    found
}

/// Each hand-out is one that was told, of this worker and of this attempt, and another one than each other.
pub fn attempts(index: &Index) -> Vec<String> {
    let mut found = Vec::new();
    for (id, tale) in &index.jobs {
        let (mut recount, mut told) = (Recount::default(), HashMap::new());
        for event in &tale.events {
            if event.kind == EventKind::Reserved.word() {
                *told.entry((event.worker.as_deref(), recount.attempts + 1)).or_insert(0) += 1;
            }
            recount.add(event);
        }
        let mut handed: HashMap<_, HashSet<&str>> = HashMap::new();
        for said in tale.handed.iter().map(|one| one.said) {
            let whose = (said.worker.as_deref(), said.attempt.unwrap_or(0));
            handed.entry(whose).or_default().insert(&said.reservation);
        }
        let too_many = handed.iter().filter(|(whose, those)| those.len() > told.get(*whose).copied().unwrap_or(0));
        found.extend(too_many.map(|(whose, those)| format!("{id} went to {whose:?} as {those:?}, of {told:?}")));
    }
    found
}

pub fn of_queues(index: &Index) -> Vec<String> {
    let mut found = Vec::new();
    for end in &index.history.ends {
        let told = totals(index, &end.queue);
        for total in Total::ALL {
            let (kept, told) = (end.totals.get(total.word()).copied().unwrap_or(0), told[total.word()]);
            // What is swept by a late completion is counted as expired or as abandoned.
            let swept = swept(index, &end.queue);
            let open = if matches!(total, Total::Expired | Total::Abandoned) { swept } else { 0 };
            if kept < told || kept > told + open {
                found.push(format!("{}: {} {kept}, told {told} (+ {open})", end.queue, total.word()));
            }
        }
        let mut states = Counts::new();
        for job in &end.jobs {
            *states.entry(job.state.clone()).or_default() += 1;
        }
        let differ = end.counts.iter().filter(|(state, n)| states.get(*state).copied().unwrap_or(0) != **n);
        found.extend(differ.map(|(state, n)| format!("{}: {n} {state}, of {states:?}", end.queue)));
    }
    found
}

fn totals(index: &Index, queue: &str) -> HashMap<&'static str, u64> {
    let mut told: HashMap<&str, u64> = Total::ALL.iter().map(|total| (total.word(), 0)).collect();
    for event in index.events.get(queue).into_iter().flatten().filter(|event| !event.is_undelivered()) {
        let total = if event.kind == EventKind::Reserved.word() { "handed_out" } else { &event.kind };
        if let Some(n) = told.get_mut(total) {
            *n += 1;
        }
    }
    told
}

fn swept(index: &Index, queue: &str) -> u64 {
    let those = index.jobs.iter().filter(|(id, _)| crate::record::queue_of(id) == queue);
    those.filter(|(_, tale)| is_swept_by_completion(tale)).map(|_| 1).sum()
}
