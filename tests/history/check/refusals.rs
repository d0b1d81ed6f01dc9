//! Refused calls.

use std::collections::{HashMap, HashSet};

use super::index::{Index, Outcome};
use crate::record::{Answer, Ask, Call, Refusal, Settle, Way, job_of};

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
        let strange = refusals(call).into_iter().filter(|(nth, it)| !is_documented(index, &call.ask, *nth, it));
        found.extend(strange.map(|(_, refusal)| format!("{refusal:?} to {:?}", call.ask)));
    }
    found
}

/// `nth`: whose item's refusal it is, if it is not the whole call's.
fn is_documented(index: &Index, ask: &Ask, nth: Option<usize>, refusal: &Refusal) -> bool {
    match (refusal.status, refusal.slug.as_str()) {
        // An instance that stood still finds its callers' earlier reads not answered yet.
        (429, "rate-limited") => matches!(ask, Ask::Look { .. }),
        // A delay must end before the job expires.
        (422, "invalid-request") => {
            let Ask::Settle { way: Way::Abandon, items } = ask else { return false };
            let refused = match nth {
                Some(nth) => items.get(nth..=nth).unwrap_or_default(),
                None => items,
            };
            let expires = |item: &Settle| index.expires_ms(job_of(&item.reservation)).is_some();
            refused.iter().any(|item| item.delay_ms.is_some() && expires(item))
        }
        reason => REASONS.contains(&reason),
    }
}

/// Each with the index of its item, if it has one.
fn refusals(call: &Call) -> Vec<(Option<usize>, &Refusal)> {
    match &call.answer {
        Answer::Done(items) => {
            items.iter().enumerate().filter_map(|(nth, item)| Some((Some(nth), item.error.as_ref()?))).collect()
        }
        Answer::Refused(refusal) => vec![(None, refusal)],
        Answer::Unknown => Vec::new(),
    }
}
