//! Violations of the rules by completions that can be taken back.

use super::{
    Mutation, check,
    edits::*,
    sample::{good, id, member, reservation},
};
use crate::record::{Answer, Ask, Call, Event, History, Job, ReportedItem, Settle, Way};

pub const MUTATIONS: &[Mutation] = &[
    ("each job makes only legal moves, and each move is one event", "a closing job expires", |h| {
        event_of(h, "undone", &id(10)).kind = "expired".to_owned();
    }),
    ("each job makes only legal moves, and each move is one event", "a closing job is released", |h| {
        event_of(h, "undone", &id(12)).kind = "released".to_owned();
    }),
    ("each job makes only legal moves, and each move is one event", "a closing job is cancelled", |h| {
        event_of(h, "completed", &id(10)).kind = "cancelled".to_owned();
    }),
    ("each job makes only legal moves, and each move is one event", "a closing job is completed late", |h| {
        event_of(h, "completed", &id(10)).reason = Some("late".to_owned());
    }),
    ("each job makes only legal moves, and each move is one event", "it is held and taken back", |h| {
        drop_event(h, "closing", &id(12));
    }),
    ("each job makes only legal moves, and each move is one event", "another worker takes it back", |h| {
        event_of(h, "undone", &id(10)).worker = Some("eve".to_owned());
    }),
    ("every acknowledged change is in the stream", "a closing has no event", |h| drop_event(h, "closing", &id(12))),
    ("every acknowledged change is in the stream", "an undo has no event", |h| drop_event(h, "undone", &id(12))),
    ("the stream has no event without a call", "a closing without a call", |h| uncalled(h, Way::Complete)),
    ("the stream has no event without a call", "an undo without a call", |h| uncalled(h, Way::Undo)),
    ("nothing lost", "a closing job is never final", |h| drop_event(h, "completed", &id(10))),
    ("no two certain reservations of a job overlap", "one takes back, and another has it", |h| {
        two_at_once(h, Way::Undo);
    }),
    ("one completion of a job", "two calls completed it, one for a time", |h| {
        let item = ReportedItem { id: id(10), ..ReportedItem::default() };
        settled(h, Way::Complete, &reservation(&id(10), 1), Some(555), Answer::Done(vec![item]));
    }),
    ("one completion of a job", "another result is kept than was not taken back", |h| {
        end(h, &id(10)).result = Some(401);
    }),
    ("no lock is held twice", "a closing job does not count", |h| {
        each_job(h, |job| job.locks = vec!["every".to_owned()]);
    }),
    ("no batch exceeds its concurrency", "a closing job does not count", |h| {
        event_of(h, "completed", &member(1)).kind = "closing".to_owned();
    }),
    ("no worker exceeds its limit", "a new one is given after an undo", |h| {
        let at = h.events.iter().position(|event| is(event, "undone", &id(10))).expect("an undo");
        let undone = h.events.remove(at);
        let next = h.events.iter().position(|event| is(event, "reserved", &id(11))).expect("the next job");
        h.events.insert(next, undone);
    }),
    ("a job that expires has ended by then, and not before", "it is taken back at its expiry", |h| {
        expires(h, 10, 45);
    }),
    ("a job that expires has ended by then, and not before", "it is completed for a time at its expiry", |h| {
        expires(h, 12, 15);
    }),
    ("a completion is final when its time is over, and not before", "it is taken back when its time is over", |h| {
        event_of(h, "closing", &id(10)).reason = Some("1".to_owned());
    }),
    ("a completion is final when its time is over, and not before", "it is final before", |h| {
        last_closing(h).reason = Some("100000".to_owned());
    }),
    ("what was taken back is not the result", "it is the result", |h| end(h, &id(10)).result = Some(401)),
    ("an undo shows what was handed in", "another result", |h| undo_of(h, &id(10)).draft = Some(555)),
    ("an undo shows what was handed in", "nothing", |h| undo_of(h, &id(10)).draft = None),
    ("an undo shows what was handed in", "an older result", older_shown),
    ("a webhook is sent no event of what may be taken back", "a closing is sent", |h| {
        h.posted.push("job.closing".to_owned());
    }),
    ("drafts come back", "what was taken back is not shown", |h| {
        handed(h, &reservation(&id(12), 2)).draft = None;
    }),
];

fn is(event: &Event, kind: &str, job: &str) -> bool {
    event.kind == kind && event.job.as_deref() == Some(job)
}

fn last_closing(history: &mut History) -> &mut Event {
    history.events.iter_mut().rfind(|event| is(event, "closing", &id(10))).expect("a closing")
}

/// One job is enqueued with an expiry.
fn expires(history: &mut History, n: u64, ms: u64) {
    each_job(history, |job: &mut Job| job.expires_ms = (job.n == n).then_some(ms));
}

fn undo_of<'h>(history: &'h mut History, job: &str) -> &'h mut ReportedItem {
    let undos = history.calls.iter_mut().filter(|call| matches!(call.ask, Ask::Settle { way: Way::Undo, .. }));
    undos.flat_map(shown).find(|item| item.id == job).expect("an undo")
}

/// Another completion was accepted before the undo.
fn older_shown(history: &mut History) {
    let is_first = |item: &ReportedItem| item.closing && item.id == id(10);
    let first = history.calls.iter().find(|call| call.shown().iter().any(is_first)).expect("a closing").clone();
    let Ask::Settle { way, mut items } = first.ask else { return };
    items.iter_mut().for_each(|item| item.value = Some(499));
    let (begin, end) = (first.end + 1, first.end + 2);
    history.calls.push(Call { begin, end, ask: Ask::Settle { way, items }, answer: first.answer });
}

#[test]
fn checker_accepts_a_completion_that_is_final_at_the_expiry() {
    let mut history = good();
    expires(&mut history, 10, 500);
    let breaches = check(&history);
    assert!(breaches.is_empty(), "{}", super::super::report(&breaches));
}

#[test]
fn checker_accepts_a_completion_that_an_operator_makes_final() {
    let asks = [
        Ask::Release { id: id(10) },
        Ask::Cancel { id: id(10), force: true },
        Ask::Purge { queue: super::sample::QUEUE.to_owned(), state: "all".to_owned(), force: true },
    ];
    for ask in asks {
        let mut history = good();
        last_closing(&mut history).reason = Some("100000".to_owned());
        history.calls.push(Call { begin: 9_000, end: 9_001, ask, answer: Answer::Unknown });
        let breaches = check(&history);
        assert!(breaches.is_empty(), "{}", super::super::report(&breaches));
    }
}

/// A completion without an answer may have been applied before the undo, and after it when it knows of no resumes.
#[test]
fn checker_accepts_a_result_that_may_have_been_handed_in_again() {
    for resumes in [None, Some(1)] {
        let mut history = good();
        end(&mut history, &id(12)).result = Some(403);
        let spoiled = |call: &&mut Call| call.shown().iter().any(|item| item.id == id(12)) && is_final(call);
        history.calls.iter_mut().find(spoiled).expect("the last completion").answer = Answer::Unknown;
        let item = Settle { reservation: reservation(&id(12), 1), value: Some(403), resumes, ..Settle::default() };
        let ask = Ask::Settle { way: Way::Complete, items: vec![item] };
        history.calls.push(Call { begin: 9_000, end: 9_001, ask, answer: Answer::Unknown });
        let breaches = check(&history);
        assert!(breaches.is_empty(), "{}", super::super::report(&breaches));
    }
}

fn is_final(call: &Call) -> bool {
    matches!(call.ask, Ask::Settle { way: Way::Complete, .. }) && call.shown().iter().all(|item| !item.closing)
}
