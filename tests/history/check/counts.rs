//! Counts against a recount of the events.

use std::collections::{HashMap, HashSet};

use intray::job::{EventKind, Total};

use super::{
    gates,
    index::{Index, JobTrace},
};
use crate::record::{Counts, Event};

/// The counts that a job's events add up to.
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
            | EventKind::BatchCompleted
            | EventKind::SlaBreached
            | EventKind::HandedOver
            | EventKind::Fallback
            | EventKind::Closing
            | EventKind::Undone => {}
        }
    }
}

/// A completion after the deadline and before the sweep ends the reservation, and counts it as expired, or abandoned
/// after a grace time. The event does not show which.
fn is_swept_by_completion(trace: &JobTrace) -> bool {
    let mut recount = Recount::default();
    for event in &trace.events {
        if event.kind == EventKind::Completed.word() && event.is_late() && recount.is_out {
            return true;
        }
        recount.add(event);
    }
    false
}

pub fn of_jobs(index: &Index) -> Vec<String> {
    let mut found = Vec::new();
    for (id, trace) in &index.jobs {
        let Some((end, counts)) = trace.end.and_then(|end| Some((end, end.counts.as_ref()?))) else { continue };
        let mut recount = Recount::default();
        trace.events.iter().for_each(|event| recount.add(event));
        let ended = recount.expired + recount.abandoned + u64::from(is_swept_by_completion(trace));
        let streamed = [recount.handed_out, ended, recount.failed, recount.released];
        let get = |key: &str| counts.get(key).copied().unwrap_or(0);
        let kept = [get("handed_out"), get("expired") + get("abandoned"), get("failed"), get("released")];
        if streamed != kept || get("expired") < recount.expired || get("abandoned") < recount.abandoned {
            found.push(format!("{id} counts {counts:?}, by its events {recount:?}"));
        }
        if end.attempt != Some(recount.attempts) {
            found.push(format!("{id} counts {:?} attempts, by its events {}", end.attempt, recount.attempts));
        }
    }
    found
}

/// Each reservation is an event, of this worker and attempt, and differs from every other.
pub fn attempts(index: &Index) -> Vec<String> {
    let mut found = Vec::new();
    for (id, trace) in &index.jobs {
        let (mut recount, mut streamed) = (Recount::default(), HashMap::new());
        for event in &trace.events {
            if event.kind == EventKind::Reserved.word() {
                *streamed.entry((event.worker.as_deref(), recount.attempts + 1)).or_insert(0) += 1;
            }
            recount.add(event);
        }
        let mut handed: HashMap<_, HashSet<&str>> = HashMap::new();
        for item in trace.handed.iter().map(|one| one.item) {
            let whose = (item.worker.as_deref(), item.attempt.unwrap_or(0));
            handed.entry(whose).or_default().insert(&item.reservation);
        }
        let too_many = handed.iter().filter(|(whose, those)| those.len() > streamed.get(*whose).copied().unwrap_or(0));
        found.extend(
            too_many.map(|(whose, those)| format!("{id} went to {whose:?} as {those:?}, by its events {streamed:?}")),
        );
    }
    found
}

pub fn of_queues(index: &Index) -> Vec<String> {
    let mut found = Vec::new();
    for end in &index.history.ends {
        let streamed = totals(index, &end.queue);
        for total in Total::ALL {
            let (kept, streamed) = (end.totals.get(total.word()).copied().unwrap_or(0), streamed[total.word()]);
            // A reservation ended by a late completion counts as expired or abandoned.
            let swept = swept(index, &end.queue);
            let open = if matches!(total, Total::Expired | Total::Abandoned) { swept } else { 0 };
            if kept < streamed || kept > streamed + open {
                found.push(format!("{}: {} {kept}, by its events {streamed} (+ {open})", end.queue, total.word()));
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
    let mut streamed: HashMap<&str, u64> = Total::ALL.iter().map(|total| (total.word(), 0)).collect();
    for event in index.events.get(queue).into_iter().flatten().filter(|event| !event.is_undelivered()) {
        let total = match EventKind::parse(&event.kind) {
            Some(EventKind::Reserved) => Total::HandedOut.word(),
            Some(EventKind::SlaBreached) => Total::Breached.word(),
            Some(EventKind::HandedOver) => Total::HandedOver.word(),
            Some(_) | None => &event.kind,
        };
        if let Some(n) = streamed.get_mut(total) {
            *n += 1;
        }
    }
    streamed
}

fn swept(index: &Index, queue: &str) -> u64 {
    let those = index.jobs.iter().filter(|(id, _)| crate::record::queue_of(id) == queue);
    those.filter(|(_, trace)| is_swept_by_completion(trace)).map(|_| 1).sum()
}
