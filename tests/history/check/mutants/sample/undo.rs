//! Completions that are taken back.

use intray::job::EventKind;

use super::{JobTrace, id, job, reservation};
use crate::record::{Answer, Ask, Refusal, ReportedItem, Settle, Way};

/// The time in which they can be taken back.
const UNDO_MS: u64 = 1_000;

impl JobTrace {
    /// A worker completes a job for a time and takes the next one. The first completion is taken back, and arrives once more; the
    /// second is final when its time is over.
    pub fn takes_back(&mut self) {
        self.enqueue(job(10, "a"), None);
        self.enqueue(job(11, "a"), None);
        self.reserve(&id(10), "ann", 1, None);
        self.closes(&id(10), "ann", 401, 0);
        self.reserve(&id(11), "ann", 1, None);
        self.undoes(&id(10), "ann", 401);
        let undone = Refusal { status: 409, slug: "undone".to_owned(), unsure: false };
        self.call(ask(&id(10), Way::Complete, Some(401), Some(0)), Answer::Refused(undone));
        self.settle(Way::Complete, &id(11), 1, Some(410));
        self.closes(&id(10), "ann", 402, 1);
        self.is_final(&id(10), "ann", 402);
    }

    /// The job is given back after the undo, and its draft is what was handed in.
    pub fn gives_back_what_was_taken_back(&mut self) {
        self.enqueue(job(12, "a"), None);
        self.reserve(&id(12), "bob", 1, None);
        self.closes(&id(12), "bob", 403, 0);
        self.undoes(&id(12), "bob", 403);
        self.settle(Way::Abandon, &id(12), 1, None);
        self.reserve(&id(12), "bob", 2, Some(403));
        self.settle(Way::Complete, &id(12), 2, Some(404));
    }

    fn closes(&mut self, id: &str, worker: &str, value: u64, resumes: u64) {
        let item = ReportedItem { id: id.to_owned(), closing: true, ..ReportedItem::default() };
        self.call(ask(id, Way::Complete, Some(value), Some(resumes)), Answer::Done(vec![item]));
        self.happens(EventKind::Closing, id, Some(worker.to_owned()));
        let event = self.history.events.last_mut().expect("it happened");
        event.reason = Some(UNDO_MS.to_string());
    }

    fn undoes(&mut self, id: &str, worker: &str, draft: u64) {
        let (resumes, draft) = (Some(1), Some(draft));
        let item = ReportedItem { id: id.to_owned(), resumes, draft, ..ReportedItem::default() };
        self.call(ask(id, Way::Undo, None, None), Answer::Done(vec![item]));
        self.happens(EventKind::Undone, id, Some(worker.to_owned()));
    }

    fn is_final(&mut self, id: &str, worker: &str, value: u64) {
        self.moment += UNDO_MS;
        self.happens(EventKind::Completed, id, Some(worker.to_owned()));
        let job = self.jobs.entry(id.to_owned()).or_default();
        (job.state, job.result) = ("completed".to_owned(), Some(value));
    }
}

/// A call by the first reservation of a job.
fn ask(id: &str, way: Way, value: Option<u64>, resumes: Option<u64>) -> Ask {
    let undo_ms = value.map(|_| UNDO_MS);
    let item = Settle { reservation: reservation(id, 1), value, undo_ms, resumes, ..Settle::default() };
    Ask::Settle { way, items: vec![item] }
}
