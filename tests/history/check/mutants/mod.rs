//! Tests of the checker: a valid history, and for each rule a change that violates it.

mod sample;

use std::collections::BTreeSet;

use self::sample::{good, id, member, reservation};
use super::{RULES, check};
use crate::record::{Answer, Ask, Call, Event, History, Job, Refusal, ReportedItem, Settle, Way};

type Mutation = fn(&mut History);

/// The rule, the violation, and the change that causes it.
const MUTATIONS: &[(&str, &str, Mutation)] = &[
    ("each job makes only legal moves, and each move is one event", "it ends twice", |h| again(h, "completed", &id(1))),
    ("each job makes only legal moves, and each move is one event", "an event comes twice", |h| {
        let event = h.events[0].clone();
        h.events.insert(1, event);
    }),
    ("each job makes only legal moves, and each move is one event", "another worker completes it", |h| {
        event_of(h, "completed", &id(2)).worker = Some("eve".to_owned());
    }),
    ("every acknowledged change is in the stream", "a completion has no event", |h| drop_event(h, "completed", &id(2))),
    ("every acknowledged change is in the stream", "a stored job has no event", |h| {
        h.events.retain(|e| e.job != Some(id(7)))
    }),
    ("every acknowledged change is in the stream", "a cancel has no event", |h| drop_event(h, "cancelled", &id(8))),
    ("the stream has no event without a call", "a fail without a call", |h| uncalled(h, Way::Fail)),
    ("the stream has no event without a call", "a reservation without a call", |h| {
        h.calls.retain(|call| !matches!(&call.ask, Ask::Reserve { worker: Some(worker), .. } if worker == "bob"));
    }),
    ("events of consecutive calls are in order", "the first comes second", |h| {
        let (one, two) = (h.events[0].job.clone(), h.events[1].job.clone());
        (h.events[0].job, h.events[1].job) = (two, one);
    }),
    ("a job that expires has ended by then, and not before", "it is handed out at its expiry", |h| {
        expire(h, Some(0));
    }),
    ("a job that expires has ended by then, and not before", "it is cancelled before", |h| {
        expire(h, Some(1_000_000));
        let completed = event_of(h, "completed", &id(1));
        (completed.kind, completed.reason) = ("cancelled".to_owned(), Some("expired".to_owned()));
    }),
    ("a job is given only to those who may have it", "another than its assignee is given one", |h| {
        each_job(h, |job| job.assignees = vec!["dan".to_owned()]);
    }),
    ("a job is given only to those who may have it", "an excluded worker is given one", |h| {
        each_job(h, |job| job.excluded = vec!["bob".to_owned()]);
    }),
    ("a job is given only to those who may have it", "a worker without the skill is given one", |h| {
        each_job(h, |job| job.skill = Some("skill 1".to_owned()));
    }),
    ("no worker is given two jobs of a question", "a worker is given both", |h| {
        set_overlap(h);
        event_of(h, "reserved", &member(2)).worker = Some("ann".to_owned());
    }),
    ("no worker is given two jobs of a question", "a worker without a name is given one", |h| {
        set_overlap(h);
        event_of(h, "reserved", &member(2)).worker = None;
    }),
    ("nothing lost", "a job is gone", |h| h.ends[0].jobs.retain(|job| job.id != id(1))),
    ("nothing lost", "a job is where it should not be", |h| end(h, &id(1)).state = "waiting".to_owned()),
    ("nothing invented", "another payload", |h| end(h, &id(1)).payload = Some(999)),
    ("nothing invented", "a job out of nowhere", |h| {
        for n in [998, 999] {
            let event = Event { job: Some(id(n)), ..h.events[0].clone() };
            h.events.push(Event { position: (9_999, n, 0), ..event });
        }
    }),
    ("no two certain reservations of a job overlap", "two have it at once", two_at_once),
    ("one completion of a job", "two calls completed it", |h| {
        let item = ReportedItem { id: id(1), ..ReportedItem::default() };
        settled(h, Way::Complete, &reservation(&id(1), 1), Some(555), Answer::Done(vec![item]));
    }),
    ("one completion of a job", "another result is kept", |h| end(h, &id(1)).result = Some(202)),
    ("one job an idempotency key", "another answer", |h| {
        let keyed = h.calls.iter_mut().filter(|call| matches!(call.ask, Ask::Enqueue { key: Some(_), .. }));
        keyed.last().expect("one").answer = Answer::Done(vec![ReportedItem { id: id(6), ..ReportedItem::default() }]);
    }),
    ("one job an idempotency key", "another job", |h| {
        let twice = ReportedItem { id: id(70), ..end(h, &id(7)).clone() };
        h.ends[0].jobs.push(twice);
    }),
    ("one live job of a kind", "two live", |h| drop_event(h, "completed", &id(5))),
    ("one live job of a kind", "no twin", |h| {
        let mut answers = h.calls.iter_mut().flat_map(shown);
        answers.find(|item| item.duplicate).expect("one").id = id(1);
    }),
    ("one live job of a kind", "the twin of one that has ended", |h| {
        let mut answers = h.calls.iter_mut().flat_map(shown);
        answers.find(|item| item.duplicate).expect("one").state = "completed".to_owned();
    }),
    ("no lock is held twice", "one is out still", |h| drop_event(h, "completed", &id(3))),
    ("no batch exceeds its concurrency", "one is out still", |h| drop_event(h, "completed", &member(1))),
    ("no worker exceeds its limit", "one is out still", |h| drop_event(h, "completed", &id(3))),
    ("within a client, first come, first served", "the second goes first", |h| swapped(h, &id(3), &id(4))),
    ("clients take turns", "who came later goes first", |h| swapped(h, &id(1), &id(2))),
    ("a job counts what happened to it", "a fail is not counted", |h| count(end(h, &id(2)), "failed", 0)),
    ("a job counts what happened to it", "an attempt is not counted", |h| end(h, &id(2)).attempt = Some(0)),
    ("each reservation has its attempt number", "the second is the first", |h| {
        handed(h, &reservation(&id(2), 2)).attempt = Some(1);
    }),
    ("a queue counts what happened in it", "one too many", |h| {
        h.ends[0].totals.insert("completed".to_owned(), 99);
    }),
    ("a queue counts what happened in it", "one state too few", |h| {
        h.ends[0].counts.insert("completed".to_owned(), 1);
    }),
    ("the feed lists each completion once, in order", "out of order", |h| h.ends[0].feed.swap(0, 1)),
    ("the feed lists each completion once, in order", "read twice", |h| {
        let page = h.feeds[0].clone();
        h.feeds.push(page);
    }),
    ("a webhook gets each completion, and no other", "one never came", |h| {
        drop(h.delivered.as_mut().expect("a list").pop())
    }),
    ("a webhook gets each completion, and no other", "one that was never completed", |h| {
        h.delivered.as_mut().expect("a list").push(id(8));
    }),
    ("the feed lists each completion once, in order", "one is missing", |h| drop(h.feeds[0].1.remove(0))),
    ("a batch counts its jobs, and ends once", "it ends twice", |h| {
        let end = h.events.iter().find(|event| event.kind == "batch-completed").expect("one").clone();
        h.events.push(Event { position: (9_999, 0, 0), ..end });
    }),
    ("a batch counts its jobs, and ends once", "its end has no event", |h| {
        h.events.retain(|event| event.kind != "batch-completed");
    }),
    ("a batch counts its jobs, and ends once", "one too few", |h| count(&mut h.ends[0].batches[0], "completed", 1)),
    ("a batch counts its jobs, and ends once", "it is gone", |h| h.ends[0].batches.clear()),
    ("drafts come back", "it is not shown", |h| handed(h, &reservation(&id(1), 2)).draft = None),
    ("drafts come back", "another's is shown", |h| {
        let job = handed(h, &reservation(&id(1), 2));
        job.worker = Some("eve".to_owned());
    }),
    ("drafts come back", "a draft that was never saved", |h| {
        handed(h, &reservation(&id(2), 2)).draft = Some(1);
    }),
    ("refused calls have no effect", "the job is there", |h| {
        let there = ReportedItem { id: id(50), payload: Some(50), ..end(h, &id(7)).clone() };
        h.ends[0].jobs.push(there);
    }),
    ("refused calls have no effect", "the result is there", |h| {
        let away = Refusal { status: 503, slug: "unavailable".to_owned(), unsure: false };
        settled(h, Way::Complete, &reservation(&id(1), 2), Some(777), Answer::Refused(away));
        end(h, &id(1)).result = Some(777);
    }),
    ("every refusal has a documented reason", "a fault of the service", |h| {
        let broken = Refusal { status: 500, slug: "internal".to_owned(), unsure: true };
        settled(h, Way::Fail, &reservation(&id(2), 1), None, Answer::Refused(broken));
    }),
];

fn again(history: &mut History, kind: &str, job: &str) {
    let event = event_of(history, kind, job).clone();
    history.events.push(Event { position: (9_999, 0, 0), ..event });
}

fn event_of<'h>(history: &'h mut History, kind: &str, job: &str) -> &'h mut Event {
    history.events.iter_mut().find(|event| event.kind == kind && event.job.as_deref() == Some(job)).expect("an event")
}

fn drop_event(history: &mut History, kind: &str, job: &str) {
    history.events.retain(|event| event.kind != kind || event.job.as_deref() != Some(job));
}

fn uncalled(history: &mut History, way: Way) {
    history.calls.retain(|call| !matches!(call.ask, Ask::Settle { way: it, .. } if it == way));
}

fn end<'h>(history: &'h mut History, job: &str) -> &'h mut ReportedItem {
    history.ends[0].jobs.iter_mut().find(|item| item.id == job).expect("it is there")
}

fn count(item: &mut ReportedItem, what: &str, n: u64) {
    item.counts.get_or_insert_default().insert(what.to_owned(), n);
}

fn shown(call: &mut Call) -> &mut [ReportedItem] {
    match &mut call.answer {
        Answer::Done(item) => item,
        Answer::Refused(_) | Answer::Unknown => &mut [],
    }
}

fn handed<'h>(history: &'h mut History, reservation: &str) -> &'h mut ReportedItem {
    let mut answers = history.calls.iter_mut().flat_map(shown);
    answers.find(|item| item.reservation == reservation).expect("it was handed out")
}

/// Swaps the first reservations of two jobs.
fn swapped(history: &mut History, one: &str, other: &str) {
    event_of(history, "reserved", one).job = None;
    event_of(history, "reserved", other).job = Some(one.to_owned());
    let nobodys = history.events.iter_mut().find(|event| event.kind == "reserved" && event.job.is_none());
    nobodys.expect("it was the first").job = Some(other.to_owned());
    let clients: Vec<_> =
        [one, other].map(|job| (job.to_owned(), event_of(history, "enqueued", job).client.clone())).into();
    for (job, client) in clients {
        event_of(history, "reserved", &job).client = client;
    }
}

fn settled(history: &mut History, way: Way, reservation: &str, value: Option<u64>, answer: Answer) {
    let reservation = reservation.to_owned();
    let item = Settle { reservation, value, delay_ms: None, grace_ms: None, skip: false, to: None };
    let (begin, end) = (9_000, 9_001);
    history.calls.push(Call { begin, end, ask: Ask::Settle { way, items: vec![item] }, answer });
}

/// The jobs of the batch are equal ones for two workers.
fn set_overlap(h: &mut History) {
    let asks = h.calls.iter_mut().filter_map(|call| match &mut call.ask {
        Ask::CreateBatch { jobs, .. } => Some(jobs),
        _ => None,
    });
    asks.flatten().for_each(|job| job.overlap = Some(2));
}

/// Changes all jobs that were enqueued alone or in a list.
fn each_job(h: &mut History, change: impl Fn(&mut Job)) {
    let asks = h.calls.iter_mut().filter_map(|call| match &mut call.ask {
        Ask::Enqueue { jobs, .. } => Some(jobs),
        _ => None,
    });
    asks.flatten().for_each(change);
}

/// All jobs are enqueued with this expiry.
fn expire(h: &mut History, expires_ms: Option<u64>) {
    each_job(h, |job| job.expires_ms = expires_ms);
}

/// A second worker reserves and extends a job that its holder completes afterwards.
fn two_at_once(history: &mut History) {
    let id = id(1);
    let mine = handed(history, &reservation(&id, 2)).clone();
    let at = history.calls.iter().find(|call| call.shown().iter().any(|item| item.reservation == mine.reservation));
    let from = at.expect("it was handed out").end;
    let other = ReportedItem { reservation: reservation(&id, 9), ..mine };
    let ask = at.expect("it was handed out").ask.clone();
    history.calls.push(Call { begin: from, end: from + 1, ask, answer: Answer::Done(vec![other]) });
    let item = ReportedItem { id: id.clone(), ..ReportedItem::default() };
    settled(history, Way::Extend, &reservation(&id, 9), None, Answer::Done(vec![item]));
}

#[test]
fn checker_accepts_a_valid_history() {
    let breaches = check(&good());
    assert!(breaches.is_empty(), "{}", super::report(&breaches));
}

#[test]
fn checker_accepts_a_question_that_two_workers_answer() {
    let mut history = good();
    set_overlap(&mut history);
    let breaches = check(&history);
    assert!(breaches.is_empty(), "{}", super::report(&breaches));
}

#[test]
fn checker_finds_a_violation_of_each_rule() {
    for (rule, what, spoil) in MUTATIONS {
        let mut history = good();
        spoil(&mut history);
        let breaches = check(&history);
        assert!(breaches.iter().any(|breach| breach.rule == *rule), "{rule}: {what}\n{}", super::report(&breaches));
    }
    let tried: BTreeSet<_> = MUTATIONS.iter().map(|(rule, ..)| *rule).collect();
    let untried: Vec<_> = RULES.iter().map(|(rule, _)| *rule).filter(|rule| !tried.contains(rule)).collect();
    assert!(untried.is_empty(), "nothing shows that these find anything: {untried:?}");
}

/// An unknown answer allows both outcomes.
#[test]
fn unknown_answers_allow_both_outcomes() {
    for happened in [true, false] {
        let mut history = good();
        let call = history.calls.iter_mut().find(|call| matches!(call.ask, Ask::Settle { way: Way::Extend, .. }));
        call.expect("one").answer = Answer::Unknown;
        if !happened {
            drop_event(&mut history, "extended", &id(1));
            handed(&mut history, &reservation(&id(1), 2)).draft = None;
        }
        let breaches = check(&history);
        assert!(breaches.is_empty(), "{happened}: {}", super::report(&breaches));
    }
}

#[test]
fn history_file_holds_the_whole_history() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("history.ndjson");
    let (record, written) = crate::record::Recorder::start(&path).expect("a file");
    let good = good();
    record.add(crate::record::Entry::Plan(good.plans.clone()));
    good.calls.iter().for_each(|call| record.add(crate::record::Entry::Call(call.clone())));
    good.events.iter().for_each(|event| record.add(crate::record::Entry::Event(event.clone())));
    let feeds = good.feeds.iter().map(|(queue, ids)| (queue.clone(), ids.clone()));
    feeds.for_each(|(queue, ids)| record.add(crate::record::Entry::Feed { queue, ids }));
    record.add(crate::record::Entry::Delivered(good.delivered.clone().expect("a list")));
    good.ends.iter().for_each(|end| record.add(crate::record::Entry::End(end.clone())));
    drop(record);
    assert_eq!(written.join().expect("a thread").expect("written"), good);
    assert_eq!(crate::record::read(&path).expect("read"), good);
}
