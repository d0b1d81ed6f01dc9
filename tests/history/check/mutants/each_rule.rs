//! For each rule what violates it.

use super::{
    Mutation,
    edits::*,
    sample::{id, member, reservation},
};
use crate::record::{Answer, Ask, Event, Refusal, ReportedItem, Way};

pub const MUTATIONS: &[Mutation] = &[
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
    ("no two certain reservations of a job overlap", "two have it at once", |h| {
        two_at_once(h, Way::Extend);
    }),
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
