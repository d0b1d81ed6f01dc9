//! In what an enqueue is another than the job that it duplicates.

use std::collections::BTreeSet;

use intray::{
    job::State,
    store::{Dedupe, Delay, Moment, NewJob},
};

use super::{Job, JobOptions, Routing, limits::instant};
use crate::fixtures::STAMPS;

/// Times that are counted from two calls are the same if they are as long, to a second.
const NEAR_MS: u64 = 1_000;

/// The fields, in the order in which they are reported; times in both of their forms.
pub fn differs(new: &NewJob, job: &Job, now: u64) -> Vec<&'static str> {
    let (asked, own) = (JobOptions::of(&new.task, now), &job.options);
    let routing = new.task.routing.as_deref().map(Routing::of).unwrap_or_default();
    let limits = new.task.limits;
    let moment = |moment: Option<Moment>| moment.map(|moment| instant(moment, now));
    let is_longer = |asked, kept| is_other_length(asked, kept, job.stamp / STAMPS, now);
    let (expires, sla) = (moment(limits.expires), moment(limits.sla));
    let due = Some(asked.due).filter(|due| *due > now);
    // The delay of its enqueue; that of a job which has got another place since is no longer known.
    let kept_due = Some(job.at).filter(|_| job.state == State::Delayed && job.place.is_none());
    let is_known = job.place.is_none() || job.arrival == job.stamp;
    let all = [
        ("payload", matches!(new.dedupe, Dedupe::Key(_)) && asked.payload != own.payload),
        ("priority", new.priority.get() != job.priority),
        ("locks", set(&asked.locks) != set(&own.locks)),
        ("lease_ms", asked.lease_ms != own.lease_ms),
        ("max_attempts", asked.max_attempts != own.max_attempts),
        ("backoff", asked.backoff != own.backoff),
        ("delay_ms", is_known && is_longer(due, kept_due)),
        ("run_at", is_known && due != kept_due),
        ("expires_ms", is_longer(expires, job.expires)),
        ("expires_at", expires != job.expires),
        ("sla_ms", is_longer(sla, job.sla)),
        ("sla_at", sla != job.sla),
        ("assignees", set(&routing.assignees) != set(&job.routing.assignees)),
        ("excluded", set(&routing.excluded) != set(&job.routing.excluded)),
        ("skill", routing.skill != job.routing.skill),
        ("fallback_ms", routing.fallback_ms != job.routing.fallback_ms),
    ];
    all.into_iter().filter(|(_, is_other)| *is_other).map(|(name, _)| name).collect()
}

/// Those of them by the names that a call has used.
pub fn by_names_of(new: &NewJob, fields: &[&'static str]) -> Vec<&'static str> {
    let is_at = |moment: Option<Moment>| matches!(moment, Some(Moment::At(_)));
    let forms = [
        ("delay_ms", "run_at", matches!(new.task.delay, Some(Delay::Until(_)))),
        ("expires_ms", "expires_at", is_at(new.task.limits.expires)),
        ("sla_ms", "sla_at", is_at(new.task.limits.sla)),
    ];
    let is_used = |name: &&str| !forms.iter().any(|(ms, at, is_at)| *name == if *is_at { *ms } else { *at });
    fields.iter().copied().filter(is_used).collect()
}

fn set<'a>(names: &[&'a str]) -> BTreeSet<&'a str> {
    names.iter().copied().collect()
}

/// `since`: when the job came.
fn is_other_length(asked: Option<u64>, kept: Option<u64>, since: u64, now: u64) -> bool {
    match (asked, kept) {
        (Some(asked), Some(kept)) => (asked as i64 - now as i64).abs_diff(kept as i64 - since as i64) > NEAR_MS,
        (asked, kept) => asked != kept,
    }
}
