//! Changes of a history.

use super::sample::{id, reservation};
use crate::record::{Answer, Ask, Call, Event, History, Job, ReportedItem, Settle, Way};

pub fn again(history: &mut History, kind: &str, job: &str) {
    let event = event_of(history, kind, job).clone();
    history.events.push(Event { position: (9_999, 0, 0), ..event });
}

pub fn event_of<'h>(history: &'h mut History, kind: &str, job: &str) -> &'h mut Event {
    history.events.iter_mut().find(|event| event.kind == kind && event.job.as_deref() == Some(job)).expect("an event")
}

pub fn drop_event(history: &mut History, kind: &str, job: &str) {
    history.events.retain(|event| event.kind != kind || event.job.as_deref() != Some(job));
}

pub fn uncalled(history: &mut History, way: Way) {
    history.calls.retain(|call| !matches!(call.ask, Ask::Settle { way: it, .. } if it == way));
}

pub fn end<'h>(history: &'h mut History, job: &str) -> &'h mut ReportedItem {
    history.ends[0].jobs.iter_mut().find(|item| item.id == job).expect("it is there")
}

pub fn count(item: &mut ReportedItem, what: &str, n: u64) {
    item.counts.get_or_insert_default().insert(what.to_owned(), n);
}

pub fn shown(call: &mut Call) -> &mut [ReportedItem] {
    match &mut call.answer {
        Answer::Done(item) => item,
        Answer::Refused(_) | Answer::Unknown => &mut [],
    }
}

pub fn handed<'h>(history: &'h mut History, reservation: &str) -> &'h mut ReportedItem {
    let mut answers = history.calls.iter_mut().flat_map(shown);
    answers.find(|item| item.reservation == reservation).expect("it was handed out")
}

/// Swaps the first reservations of two jobs.
pub fn swapped(history: &mut History, one: &str, other: &str) {
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

pub fn settled(history: &mut History, way: Way, reservation: &str, value: Option<u64>, answer: Answer) {
    let reservation = reservation.to_owned();
    let item = Settle { reservation, value, ..Settle::default() };
    let (begin, end) = (9_000, 9_001);
    history.calls.push(Call { begin, end, ask: Ask::Settle { way, items: vec![item] }, answer });
}

/// The jobs of the batch are equal ones for two workers.
pub fn set_overlap(h: &mut History) {
    let asks = h.calls.iter_mut().filter_map(|call| match &mut call.ask {
        Ask::CreateBatch { jobs, .. } => Some(jobs),
        _ => None,
    });
    asks.flatten().for_each(|job| job.overlap = Some(2));
}

/// Changes all jobs that were enqueued alone or in a list.
pub fn each_job(h: &mut History, change: impl Fn(&mut Job)) {
    let asks = h.calls.iter_mut().filter_map(|call| match &mut call.ask {
        Ask::Enqueue { jobs, .. } => Some(jobs),
        _ => None,
    });
    asks.flatten().for_each(change);
}

/// All jobs are enqueued with this expiry.
pub fn expire(h: &mut History, expires_ms: Option<u64>) {
    each_job(h, |job| job.expires_ms = expires_ms);
}

/// A second worker reserves a job that its holder completes afterwards, and a call of that worker finds it held.
pub fn two_at_once(history: &mut History, way: Way) {
    let id = id(1);
    let mine = handed(history, &reservation(&id, 2)).clone();
    let at = history.calls.iter().find(|call| call.shown().iter().any(|item| item.reservation == mine.reservation));
    let from = at.expect("it was handed out").end;
    let other = ReportedItem { reservation: reservation(&id, 9), ..mine };
    let ask = at.expect("it was handed out").ask.clone();
    history.calls.push(Call { begin: from, end: from + 1, ask, answer: Answer::Done(vec![other]) });
    let item = ReportedItem { id: id.clone(), ..ReportedItem::default() };
    settled(history, way, &reservation(&id, 9), None, Answer::Done(vec![item]));
}
