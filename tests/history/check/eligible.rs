//! Jobs that are for some workers: no other worker is given one.

use intray::job::EventKind;

use super::index::{Index, JobTrace};
use crate::record::{Event, Job, skill_of};

pub fn given(index: &Index) -> Vec<String> {
    let mut found = Vec::new();
    for (id, trace) in &index.jobs {
        let Some(n) = trace.n else { continue };
        let Some(tried) = index.tries.get(&n).and_then(|tries| tries.first()) else { continue };
        found.extend(wrong(trace, tried.job).into_iter().map(|event| format!("{id}: {event:?} of {:?}", tried.job)));
    }
    found
}

/// To whom a job was handed over, and whether the receiver has it.
type HandOver<'h> = Option<(&'h str, bool)>;

fn wrong<'h>(trace: &JobTrace<'h>, job: &Job) -> Vec<&'h Event> {
    let (mut handed, mut fell_back, mut found) = (None, false, Vec::new());
    for event in &trace.events {
        let Some(kind) = EventKind::parse(&event.kind) else { continue };
        match kind {
            EventKind::Reserved => {
                if !may_have(job, event, handed, fell_back) {
                    found.push(*event);
                }
                handed = handed.map(|(to, _)| (to, true));
            }
            EventKind::HandedOver => {
                handed = event.reason.as_deref().and_then(|line| line.strip_prefix('@')).map(|to| (to, false));
            }
            // The event does not say whether the hand-over is over, or the rule of the job, or both.
            EventKind::Fallback => (handed, fell_back) = (None, true),
            EventKind::Requeued => (handed, fell_back) = (None, false),
            EventKind::Abandoned if event.is_undelivered() => handed = handed.map(|(to, _)| (to, false)),
            EventKind::Abandoned | EventKind::Released | EventKind::Expired | EventKind::Failed => {
                handed = handed.filter(|(_, has_it)| !has_it);
            }
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
            | EventKind::Closing
            | EventKind::Undone => {}
        }
    }
    found
}

fn may_have(job: &Job, event: &Event, handed: HandOver, fell_back: bool) -> bool {
    let worker = event.worker.as_deref();
    let is_in = |names: &[String]| worker.is_some_and(|worker| names.iter().any(|name| name == worker));
    if !job.excluded.is_empty() && (worker.is_none() || is_in(&job.excluded)) {
        return false;
    }
    if fell_back {
        return true;
    }
    if job.skill.is_some() && job.skill != worker.and_then(skill_of) {
        return false;
    }
    match handed {
        Some((to, _)) => worker == Some(to),
        None => job.assignees.is_empty() || is_in(&job.assignees),
    }
}
