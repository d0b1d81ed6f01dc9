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

/// The fields, in the order in which they are told.
pub fn differs(new: &NewJob, job: &Job, now: u64) -> Vec<&'static str> {
    let (asked, own) = (JobOptions::of(&new.task, now), &job.options);
    let routing = new.task.routing.as_deref().map(Routing::of).unwrap_or_default();
    let limits = new.task.limits;
    let moment = |moment: Option<Moment>| moment.map(|moment| instant(moment, now));
    let time = |ms, at, named: Option<Moment>, kept| {
        let is_at = matches!(named, Some(Moment::At(_)));
        let is_other = is_other_time(moment(named), kept, is_at, job.stamp / STAMPS, now);
        (if is_at { at } else { ms }, is_other)
    };
    let is_until = matches!(new.task.delay, Some(Delay::Until(_)));
    let due = Some(asked.due).filter(|due| *due > now);
    // The delay of its enqueue; that of a job which has got another place since is not known any more.
    let kept_due = Some(job.at).filter(|_| job.state == State::Delayed && job.place.is_none());
    let had_delay = job.place.is_some() && job.arrival != job.stamp;
    let is_other_delay = !had_delay && is_other_time(due, kept_due, is_until, job.stamp / STAMPS, now);
    let all = [
        ("payload", matches!(new.dedupe, Dedupe::Key(_)) && asked.payload != own.payload),
        ("priority", new.priority.get() != job.priority),
        ("locks", set(&asked.locks) != set(&own.locks)),
        ("lease_ms", asked.lease_ms != own.lease_ms),
        ("max_attempts", asked.max_attempts != own.max_attempts),
        ("backoff", asked.backoff != own.backoff),
        (if is_until { "run_at" } else { "delay_ms" }, is_other_delay),
        time("expires_ms", "expires_at", limits.expires, job.expires),
        time("sla_ms", "sla_at", limits.sla, job.sla),
        ("assignees", set(&routing.assignees) != set(&job.routing.assignees)),
        ("excluded", set(&routing.excluded) != set(&job.routing.excluded)),
        ("skill", routing.skill != job.routing.skill),
        ("fallback_ms", routing.fallback_ms != job.routing.fallback_ms),
    ];
    all.into_iter().filter(|(_, is_other)| *is_other).map(|(name, _)| name).collect()
}

fn set<'a>(names: &[&'a str]) -> BTreeSet<&'a str> {
    names.iter().copied().collect()
}

/// `since`: when the job came.
fn is_other_time(asked: Option<u64>, kept: Option<u64>, is_at: bool, since: u64, now: u64) -> bool {
    match (asked, kept) {
        (Some(asked), Some(kept)) if !is_at => (asked - now).abs_diff(kept - since) > NEAR_MS,
        (asked, kept) => asked != kept,
    }
}
