//! Answers against the stream, in both directions.

use std::collections::{HashMap, HashSet};

use intray::job::EventKind;

use super::index::{Index, JobTrace, Outcome, Settled};
use crate::record::{Answer, Ask, Moment, Way};

/// How often something happened to a job, by the answers and by the stream.
struct Times {
    what: &'static str,
    certain: usize,
    possible: usize,
    streamed: usize,
}

pub fn acknowledged(index: &Index) -> Vec<String> {
    let mut found = Vec::new();
    for (id, trace) in &index.jobs {
        let short = times(trace).into_iter().filter(|times| times.streamed < times.certain);
        found
            .extend(short.map(|times| {
                format!("{id}: {} {} times, in the stream {}", times.what, times.certain, times.streamed)
            }));
    }
    let tries = index.tries.values().flatten().filter(|one| one.is_alone);
    let stored = tries.filter_map(|one| one.outcome.done());
    let unknown = stored.filter(|item| index.jobs.get(item.id.as_str()).is_none_or(|trace| trace.events.is_empty()));
    found.extend(unknown.map(|item| format!("{} was stored, and has no event", item.id)));
    found.extend(cancelled(index));
    found
}

fn cancelled(index: &Index) -> Vec<String> {
    let calls = index.history.calls.iter().filter_map(|call| match (&call.ask, &call.answer) {
        (Ask::Cancel { id, .. }, Answer::Done(_)) => Some(id),
        _ => None,
    });
    let is_in_stream = |id: &str| index.jobs.get(id).is_some_and(|trace| count(trace, EventKind::Cancelled) > 0);
    calls.filter(|id| !is_in_stream(id)).map(|id| format!("{id} was cancelled, and has no event")).collect()
}

pub fn asked_for(index: &Index) -> Vec<String> {
    let mut found = Vec::new();
    for (id, trace) in &index.jobs {
        let long = times(trace).into_iter().filter(|times| times.streamed > times.certain + times.possible);
        found.extend(long.map(|times| {
            format!(
                "{id}: {} {} times in the stream, {} + {} calls",
                times.what, times.streamed, times.certain, times.possible
            )
        }));
    }
    found.extend(unasked_hand_outs(index));
    found
}

fn times(trace: &JobTrace) -> Vec<Times> {
    let settle = |what, kind, way| {
        let those: Vec<_> =
            trace.settled.iter().filter(|one| one.way == way && !one.has_grace && !one.is_closing()).collect();
        let certain = those.iter().filter(|one| one.outcome.is_new()).count();
        Times { what, certain, possible: open(&those, way), streamed: count(trace, kind) }
    };
    let closings = trace.settled.iter().filter(|one| one.way == Way::Complete && one.undo_ms > 0);
    let closing = Times {
        what: "completed for a time",
        certain: trace.settled.iter().filter(|one| one.is_closing() && one.outcome.is_new()).count(),
        possible: closings.filter(|one| matches!(one.outcome, Outcome::Unknown)).count(),
        streamed: count(trace, EventKind::Closing),
    };
    let handed: HashSet<_> = trace.handed.iter().map(|one| one.item.reservation.as_str()).collect();
    let reserved = count(trace, EventKind::Reserved);
    let plain = trace.events.iter().filter(|event| event.kind == EventKind::Abandoned.word());
    let streamed = plain.filter(|event| !event.is_undelivered() && event.reason.as_deref() != Some("grace")).count();
    vec![
        Times { streamed: completed_at_once(trace), ..settle("completed", EventKind::Completed, Way::Complete) },
        closing,
        settle("taken back", EventKind::Undone, Way::Undo),
        settle("failed", EventKind::Failed, Way::Fail),
        settle("handed over", EventKind::HandedOver, Way::HandOver),
        settle("extended", EventKind::Extended, Way::Extend),
        Times { streamed, ..settle("abandoned", EventKind::Abandoned, Way::Abandon) },
        Times { what: "handed out", certain: handed.len(), possible: usize::MAX / 2, streamed: reserved },
    ]
}

/// Completions that could not be taken back, which are an event of the call.
fn completed_at_once(trace: &JobTrace) -> usize {
    let mut is_closing = false;
    let at_once = trace.events.iter().filter(|event| match EventKind::parse(&event.kind) {
        Some(EventKind::Completed) => !is_closing,
        Some(kind @ (EventKind::Closing | EventKind::Undone)) => {
            is_closing = kind == EventKind::Closing;
            false
        }
        Some(_) | None => false,
    });
    at_once.count()
}

/// Calls that may have been applied: an end once, however often it is tried, and each extend and undo.
fn open(those: &[&Settled], way: Way) -> usize {
    let unknown = those.iter().filter(|one| matches!(one.outcome, Outcome::Unknown));
    if matches!(way, Way::Extend | Way::Undo) {
        return unknown.count();
    }
    let certain: HashSet<_> = those.iter().filter(|one| one.outcome.is_new()).map(|one| one.reservation).collect();
    unknown.map(|one| one.reservation).filter(|it| !certain.contains(it)).collect::<HashSet<_>>().len()
}

fn count(trace: &JobTrace, kind: EventKind) -> usize {
    trace.events.iter().filter(|event| event.kind == kind.word()).count()
}

/// Reservations of a named worker: the ones in answers, plus at most as many as calls without an answer could have
/// made.
fn unasked_hand_outs(index: &Index) -> Vec<String> {
    let (mut seen, mut open, mut streamed) = (HashMap::new(), HashMap::new(), HashMap::new());
    for call in &index.history.calls {
        let Ask::Reserve { worker: Some(worker), limit, wait_ms, .. } = &call.ask else { continue };
        // A waiting call retries, and the reservation of a lost try may have expired meanwhile.
        *open.entry(worker.as_str()).or_insert(0) += if *wait_ms > 0 { *limit } else { 0 };
        match &call.answer {
            Answer::Done(item) => {
                let them: &mut HashSet<&str> = seen.entry(worker.as_str()).or_default();
                them.extend(item.iter().map(|item| item.reservation.as_str()));
            }
            Answer::Refused(refusal) if !refusal.unsure => {}
            Answer::Refused(_) | Answer::Unknown => *open.entry(worker.as_str()).or_insert(0) += limit,
        }
    }
    for event in &index.history.events {
        let Some(worker) = event.worker.as_deref() else { continue };
        // An undelivered reservation that was undone does not count, and the same call may make another.
        match EventKind::parse(&event.kind) {
            Some(EventKind::Reserved) => *streamed.entry(worker).or_insert(0_usize) += 1,
            Some(EventKind::Abandoned) if event.is_undelivered() => {
                let jobs = streamed.entry(worker).or_default();
                *jobs = jobs.saturating_sub(1);
            }
            Some(_) | None => {}
        }
    }
    let max = |worker: &str| seen.get(worker).map_or(0, HashSet::len) + open.get(worker).copied().unwrap_or(0);
    let too_many = streamed.iter().filter(|(worker, streamed)| **streamed > max(worker));
    too_many
        .map(|(worker, streamed)| format!("{worker} was given {streamed} jobs, at most {} were requested", max(worker)))
        .collect()
}

/// A call that ended before another began has the earlier event.
pub fn in_time(index: &Index) -> Vec<String> {
    let enqueued: HashMap<&str, (Moment, Moment)> = once(index.tries.values().flatten().filter_map(|one| {
        let item = one.outcome.done().filter(|item| one.key.is_none() && one.is_alone && !item.duplicate)?;
        Some((item.id.as_str(), (one.begin, one.end)))
    }));
    let completed: HashMap<&str, (Moment, Moment)> = once(index.jobs.iter().flat_map(|(id, trace)| {
        let those =
            trace.settled.iter().filter(|one| one.way == Way::Complete && one.outcome.is_new() && !one.is_closing());
        those.map(|one| (*id, (one.begin, one.end)))
    }));
    let mut found = late(index, EventKind::Enqueued, &enqueued);
    found.extend(late(index, EventKind::Completed, &completed));
    found
}

fn once<'h>(pairs: impl Iterator<Item = (&'h str, (Moment, Moment))>) -> HashMap<&'h str, (Moment, Moment)> {
    pairs.collect()
}

/// Events whose calls ended before the call of an earlier event began.
fn late(index: &Index, kind: EventKind, calls: &HashMap<&str, (Moment, Moment)>) -> Vec<String> {
    let mut found = Vec::new();
    for events in index.events.values() {
        let mut latest = (0, "");
        for event in events.iter().filter(|event| event.kind == kind.word()) {
            let Some((job, (begin, end))) = event.job.as_deref().and_then(|job| Some((job, *calls.get(job)?))) else {
                continue;
            };
            if end < latest.0 {
                found.push(format!("{job} was {} before {}, and comes after it", kind.word(), latest.1));
            }
            latest = latest.max((begin, job));
        }
    }
    found
}
