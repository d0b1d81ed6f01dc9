//! Completions that their worker can take back: `closing`, and then `undone` or `completed`.

use std::collections::HashSet;

use intray::job::EventKind;

use super::index::{Index, JobTrace, Outcome, Settled};
use crate::record::{Ask, Way, queue_of};

/// It is taken back before its time is over, and completed afterwards, unless an operator takes the job from the worker.
pub fn in_time(index: &Index) -> Vec<String> {
    let taken = Taken::new(index);
    let mut found = Vec::new();
    for (id, trace) in &index.jobs {
        let mut end = None;
        for event in &trace.events {
            let (earliest, latest) = (index.earliest(event), event.position.0);
            let is_wrong = match EventKind::parse(&event.kind) {
                Some(EventKind::Closing) => {
                    let ms = event.reason.as_deref().and_then(|ms| ms.parse::<u64>().ok());
                    end = ms.map(|ms| (earliest + ms, latest + ms));
                    end.is_none()
                }
                Some(EventKind::Undone) => end.take().is_some_and(|(_, last)| earliest >= last),
                Some(EventKind::Completed) => end.take().is_some_and(|(first, _)| latest < first) && !taken.may_be(id),
                Some(_) | None => false,
            };
            if is_wrong {
                found.push(format!("{id} is {} at {earliest} to {latest}", event.kind));
            }
        }
    }
    found
}

/// Jobs that an operator may have taken from their workers: of one id, or of a queue.
struct Taken<'h>(HashSet<&'h str>);

impl<'h> Taken<'h> {
    /// A job that is completed because of it is a refusal of a cancel.
    fn new(index: &Index<'h>) -> Self {
        let taken = index.history.calls.iter().filter_map(|call| match &call.ask {
            Ask::Release { id } | Ask::Cancel { id, force: true } => Some(id.as_str()),
            Ask::Purge { queue, force: true, .. } => Some(queue.as_str()),
            _ => None,
        });
        Self(taken.collect())
    }

    fn may_be(&self, id: &str) -> bool {
        self.0.contains(id) || self.0.contains(queue_of(id))
    }
}

/// Whether an accepted completion was not taken back.
pub fn stays(trace: &JobTrace, completion: &Settled) -> bool {
    let Some(item) = completion.outcome.done() else { return false };
    let mut undos = undos(trace, completion.reservation).filter(|undo| !undo.outcome.is_refused());
    !item.closing || undos.all(|undo| !matches!(undo.outcome, Outcome::Unknown) && undo.end < completion.begin)
}

fn undos<'t, 'h>(trace: &'t JobTrace<'h>, reservation: &'t str) -> impl Iterator<Item = &'t Settled<'h>> {
    trace.settled.iter().filter(move |one| one.way == Way::Undo && one.reservation == reservation)
}

/// A result that was taken back is the job's only if it was handed in again.
pub fn taken_back(index: &Index) -> Vec<String> {
    let mut found = Vec::new();
    for (id, trace) in &index.jobs {
        let Some(result) = trace.end.and_then(|end| end.result) else { continue };
        let completions = trace.settled.iter().filter(|one| one.way == Way::Complete && one.value == Some(result));
        let mut possible = completions.filter(|one| !one.outcome.is_refused()).peekable();
        if possible.peek().is_some() && possible.all(|one| is_taken_back(trace, one)) {
            found.push(format!("{id} holds {result}, which was taken back"));
        }
    }
    found
}

/// Whether it cannot have been applied after the last undo: it was answered before, or it knows of fewer resumes.
fn is_taken_back(trace: &JobTrace, completion: &Settled) -> bool {
    undos(trace, completion.reservation).any(|undo| {
        let Some(held) = undo.taken_back() else { return false };
        let is_older = completion.resumes.zip(held.resumes).is_some_and(|(known, resumes)| known < resumes);
        is_older || completion.outcome.done().is_some() && completion.end < undo.begin
    })
}

/// The draft in the answer of an undo is the result of the last completion before.
pub fn shown(index: &Index) -> Vec<String> {
    let mut found = Vec::new();
    for (id, trace) in &index.jobs {
        for undo in trace.settled.iter().filter(|one| one.taken_back().is_some()) {
            found.extend(wrong(trace, undo).map(|what| format!("{id}: {what}")));
        }
    }
    found
}

fn wrong(trace: &JobTrace, undo: &Settled) -> Option<String> {
    let draft = undo.taken_back()?.draft;
    let mine = trace.settled.iter().filter(|one| {
        one.way == Way::Complete && one.undo_ms > 0 && one.reservation == undo.reservation && one.begin < undo.end
    });
    let (same, others): (Vec<_>, Vec<_>) =
        mine.filter(|one| !one.outcome.is_refused()).partition(|one| one.value == draft);
    let Some(last) = same.iter().map(|one| one.end).max() else {
        return Some(format!("{draft:?} was taken back, and never handed in"));
    };
    // The call of a lost answer may have run much later.
    let is_open = same.iter().any(|one| matches!(one.outcome, Outcome::Unknown));
    let newer = others.iter().find(|one| one.is_closing() && one.begin > last && one.end < undo.begin);
    newer.filter(|_| !is_open).map(|one| format!("{draft:?} was taken back after {:?}", one.value))
}
