//! Refused calls.

use std::collections::{HashMap, HashSet};

use super::index::{Index, Outcome};
use crate::record::{Answer, Ask, Call, Refusal, Way};

/// A job or result that was refused each time is not stored.
pub fn no_effect(index: &Index) -> Vec<String> {
    let refused = index.tries.iter().filter(|(_, tries)| tries.iter().all(|one| one.outcome.is_refused()));
    let refused: HashSet<u64> = refused.map(|(n, _)| *n).collect();
    let seen = index.jobs.iter().filter(|(_, trace)| trace.n.is_some_and(|n| refused.contains(&n)));
    let mut found: Vec<_> = seen.map(|(id, trace)| format!("{id} holds {:?}, which was refused", trace.n)).collect();
    for (id, trace) in &index.jobs {
        let mut results: HashMap<u64, Vec<Outcome>> = HashMap::new();
        for one in trace.settled.iter().filter(|one| one.way == Way::Complete) {
            results.entry(one.value.unwrap_or(0)).or_default().push(one.outcome);
        }
        let Some(end) = trace.end else { continue };
        let tried = |value: u64| results.get(&value).map_or(&[][..], Vec::as_slice);
        if end.result.is_some_and(|value| tried(value).iter().all(|one| one.is_refused())) {
            found.push(format!("{id} holds the result {:?}, which was refused", end.result));
        }
        let late = end.late_results.iter().filter(|value| tried(**value).iter().all(|one| !may_be_kept(*one)));
        found.extend(late.map(|value| format!("{id} keeps the late result {value}, which is in no answer")));
    }
    found
}

/// A late completion is refused, and its result is kept.
fn may_be_kept(outcome: Outcome) -> bool {
    match outcome {
        Outcome::Refused(refusal) => refusal.slug == "reservation-lost",
        Outcome::Unknown => true,
        Outcome::Done(_) => false,
    }
}

/// The refusals that a valid request may get.
const REASONS: [(u16, &str); 15] = [
    (0, "no-connection"),
    (404, "unknown-job"),
    (404, "unknown-batch"),
    (404, "unknown-queue"),
    (403, "not-eligible"),
    (409, "not-eligible"),
    (409, "reservation-lost"),
    (409, "closing"),
    (409, "undone"),
    (409, "wrong-state"),
    (409, "worker-limit"),
    (409, "offset-mismatch"),
    (429, "queue-full"),
    (503, "unavailable"),
    (507, "storage-full"),
];

pub fn have_reasons(index: &Index) -> Vec<String> {
    let mut found = Vec::new();
    for call in &index.history.calls {
        let is_documented = |it: &Refusal| {
            REASONS.contains(&(it.status, it.slug.as_str())) || is_beyond_expiry(it) && may_end_before(index, &call.ask)
        };
        let strange = refusals(call).into_iter().filter(|it| !is_documented(it));
        found.extend(strange.map(|refusal| format!("{refusal:?} to {:?}", call.ask)));
    }
    found
}

/// A delay must end before the job expires.
fn is_beyond_expiry(refusal: &Refusal) -> bool {
    (refusal.status, refusal.slug.as_str()) == (422, "invalid-request")
}

/// Whether a job that expires is abandoned with a delay.
fn may_end_before(index: &Index, ask: &Ask) -> bool {
    let Ask::Settle { way: Way::Abandon, items } = ask else { return false };
    let expires = |reservation: &str| {
        let id = reservation.split('.').next().unwrap_or_default();
        let n = index.jobs.get(id).and_then(|trace| trace.n);
        let tried = n.and_then(|n| index.tries.get(&n)?.first());
        tried.is_some_and(|tried| tried.job.expires_ms.is_some())
    };
    items.iter().any(|item| item.delay_ms.is_some() && expires(&item.reservation))
}

fn refusals(call: &Call) -> Vec<&Refusal> {
    match &call.answer {
        Answer::Done(item) => item.iter().filter_map(|item| item.error.as_ref()).collect(),
        Answer::Refused(refusal) => vec![refusal],
        Answer::Unknown => Vec::new(),
    }
}
