//! A small valid history.

mod undo;

use std::collections::BTreeMap;

use intray::job::EventKind;

use crate::record::{
    Answer, Ask, Call, End, Event, History, Job, Plan, Refusal, ReportedItem, Settle, Twin, Way, batch_of,
};

pub const QUEUE: &str = "q";

pub fn id(n: u64) -> String {
    format!("{QUEUE}-{n:026}")
}

/// The batch of the sample, and its jobs from 1 on.
pub fn member(at: u64) -> String {
    format!("{QUEUE}-{:022}{at:04}", 77)
}

/// The first reservation of a job, the second …
pub fn reservation(id: &str, nth: u64) -> String {
    format!("{id}.{nth:026}")
}

#[derive(Default)]
pub struct JobTrace {
    pub history: History,
    moment: u64,
    jobs: BTreeMap<String, ReportedItem>,
}

/// Something for every rule, all of it valid.
pub fn good() -> History {
    let mut trace = JobTrace::default();
    let plan = Plan { queue: QUEUE.to_owned(), worker_limit: 1, keeps: true, is_line: true };
    trace.history.plans.push(plan);
    trace.comes_back();
    trace.stands_at_a_lock();
    trace.has_twins();
    trace.is_repeated_and_refused();
    trace.comes_in_a_batch();
    trace.takes_back();
    trace.gives_back_what_was_taken_back();
    trace.end()
}

impl JobTrace {
    /// The draft comes back with the job, and the failure counts.
    fn comes_back(&mut self) {
        self.enqueue(job(1, "a"), None);
        self.enqueue(job(2, "b"), None);
        self.reserve(&id(1), "ann", 1, None);
        self.settle(Way::Extend, &id(1), 1, Some(101));
        self.settle(Way::Abandon, &id(1), 1, None);
        self.reserve(&id(1), "ann", 2, Some(101));
        self.settle(Way::Complete, &id(1), 2, Some(201));
        self.reserve(&id(2), "bob", 1, None);
        self.settle(Way::Fail, &id(2), 1, None);
        self.reserve(&id(2), "bob", 2, None);
        self.settle(Way::Complete, &id(2), 2, Some(202));
    }

    fn stands_at_a_lock(&mut self) {
        for n in [3, 4] {
            self.enqueue(Job { locks: vec!["l".to_owned()], ..job(n, "c") }, None);
        }
        self.does(&id(3), "ann");
        self.does(&id(4), "ann");
    }

    fn has_twins(&mut self) {
        for n in [5, 6] {
            self.enqueue(Job { twin: Twin::Key(7), ..job(n, "a") }, None);
            let again = ReportedItem { id: id(n), duplicate: true, ..ReportedItem::default() };
            let twin = Job { twin: Twin::Key(7), ..job(n + 60, "a") };
            self.call(Ask::Enqueue { jobs: vec![twin], key: None }, Answer::Done(vec![again]));
            self.does(&id(n), "ann");
        }
    }

    fn is_repeated_and_refused(&mut self) {
        self.enqueue(job(7, "a"), Some(9));
        let again = ReportedItem { id: id(7), ..ReportedItem::default() };
        self.call(Ask::Enqueue { jobs: vec![job(7, "a")], key: Some(9) }, Answer::Done(vec![again]));
        self.does(&id(7), "ann");
        self.enqueue(job(8, "a"), None);
        self.call(Ask::Cancel { id: id(8), force: false }, Answer::Done(Vec::new()));
        self.happens(EventKind::Cancelled, &id(8), None);
        self.jobs.entry(id(8)).and_modify(|item| (item.state, item.payload) = ("cancelled".to_owned(), None));
        let away = Refusal { status: 503, slug: "unavailable".to_owned(), unsure: false };
        self.call(Ask::Enqueue { jobs: vec![job(50, "a")], key: None }, Answer::Refused(away));
        self.call(Ask::Enqueue { jobs: vec![job(51, "a")], key: None }, Answer::Unknown);
    }

    fn comes_in_a_batch(&mut self) {
        let jobs = vec![job(91, "d"), job(92, "d")];
        let batch = ReportedItem { id: member(0), state: "sealed".to_owned(), ..ReportedItem::default() };
        let ask = Ask::CreateBatch { queue: QUEUE.to_owned(), concurrency: Some(1), sealed: true, jobs, key: None };
        self.call(ask, Answer::Done(vec![batch]));
        for at in [1, 2] {
            let item = ReportedItem {
                id: member(at),
                payload: Some(90 + at),
                batch: Some(member(0)),
                ..ReportedItem::default()
            };
            self.jobs.insert(member(at), item);
            self.happens(EventKind::Enqueued, &member(at), None);
        }
        self.does(&member(1), "ann");
        self.does(&member(2), "bob");
        let reason = Some("completed".to_owned());
        let end =
            Event { job: None, batch: Some(member(0)), reason, ..self.event(EventKind::BatchCompleted, "", None) };
        self.history.events.push(end);
    }

    fn enqueue(&mut self, job: Job, key: Option<u64>) {
        let item = ReportedItem { id: id(job.n), payload: Some(job.n), ..ReportedItem::default() };
        self.jobs.insert(id(job.n), item.clone());
        let n = job.n;
        self.call(Ask::Enqueue { jobs: vec![job], key }, Answer::Done(vec![ReportedItem { payload: None, ..item }]));
        self.happens(EventKind::Enqueued, &id(n), None);
    }

    fn does(&mut self, id: &str, worker: &str) {
        self.reserve(id, worker, 1, None);
        self.settle(Way::Complete, id, 1, Some(300 + self.moment));
    }

    fn reserve(&mut self, id: &str, worker: &str, nth: u64, draft: Option<u64>) {
        let job = &self.jobs[id];
        let failed = job.counts.iter().flat_map(|counts| counts.get("failed")).sum::<u64>();
        let worker = Some(worker.to_owned());
        let (attempt, payload, reservation) = (Some(1 + failed), job.payload, reservation(id, nth));
        let item = ReportedItem {
            id: id.to_owned(),
            reservation,
            worker: worker.clone(),
            attempt,
            payload,
            draft,
            ..ReportedItem::default()
        };
        let queues = vec![QUEUE.to_owned()];
        let ask = Ask::Reserve { queues, worker: worker.clone(), limit: 1, wait_ms: 0, id: None, key: None };
        self.call(ask, Answer::Done(vec![item]));
        self.happens(EventKind::Reserved, id, worker);
    }

    fn settle(&mut self, way: Way, id: &str, nth: u64, value: Option<u64>) {
        // The same as no key.
        let grace_ms = (way == Way::Abandon).then_some(0);
        let call = Settle { reservation: reservation(id, nth), value, grace_ms, ..Settle::default() };
        let item = ReportedItem { id: id.to_owned(), ..ReportedItem::default() };
        self.call(Ask::Settle { way, items: vec![call] }, Answer::Done(vec![item]));
        let before = self.history.events.iter().rev().find(|event| event.kind == "reserved");
        let worker = before.and_then(|event| event.worker.clone());
        let kind = match way {
            Way::Extend => EventKind::Extended,
            Way::Complete => EventKind::Completed,
            Way::Undo => EventKind::Undone,
            Way::Abandon => EventKind::Abandoned,
            Way::Fail => EventKind::Failed,
            Way::HandOver => EventKind::HandedOver,
        };
        self.happens(kind, id, worker);
        if way == Way::Complete {
            self.jobs.entry(id.to_owned()).and_modify(|job| (job.state, job.result) = ("completed".to_owned(), value));
        }
    }

    fn happens(&mut self, kind: EventKind, id: &str, worker: Option<String>) {
        let event = self.event(kind, id, worker);
        self.history.events.push(event);
        let job = self.jobs.entry(id.to_owned()).or_default();
        let counts = job.counts.get_or_insert_default();
        let cause = if kind == EventKind::Reserved { "handed_out" } else { kind.word() };
        *counts.entry(cause.to_owned()).or_default() += 1;
        job.attempt = Some(counts.get("failed").copied().unwrap_or(0));
    }

    fn event(&self, kind: EventKind, id: &str, worker: Option<String>) -> Event {
        let batch = id.contains("77000").then(|| batch_of(id));
        let n = self.jobs.get(id).and_then(|job| job.payload).unwrap_or(0);
        Event {
            position: (self.moment, 0, u64::try_from(self.history.events.len()).unwrap_or(0)),
            kind: kind.word().to_owned(),
            queue: QUEUE.to_owned(),
            job: Some(id.to_owned()),
            batch,
            worker,
            client: Some(client(n).to_owned()),
            reason: None,
        }
    }

    fn call(&mut self, ask: Ask, answer: Answer) {
        let (begin, end) = (self.moment + 1, self.moment + 2);
        self.moment += 10;
        self.history.calls.push(Call { begin, end, ask, answer });
    }

    fn end(self) -> History {
        let mut history = self.history;
        let mut end = End { queue: QUEUE.to_owned(), ..End::default() };
        for event in &history.events {
            let total = if event.kind == "reserved" { "handed_out" } else { &event.kind };
            *end.totals.entry(total.to_owned()).or_default() += 1;
        }
        let completed = history.events.iter().filter(|event| event.kind == "completed" && event.batch.is_none());
        end.feed = completed.filter_map(|event| event.job.clone()).collect();
        history.feeds.push((QUEUE.to_owned(), end.feed.clone()));
        let all = history.events.iter().filter(|event| event.kind == "completed");
        history.delivered = Some(all.filter_map(|event| event.job.clone()).collect());
        history.posted = vec!["job.completed".to_owned(), "batch.completed".to_owned()];
        end.jobs = self.jobs.into_values().collect();
        for job in &end.jobs {
            *end.counts.entry(job.state.clone()).or_default() += 1;
        }
        let counts = [("completed".to_owned(), 2), ("total".to_owned(), 2)].into();
        end.batches = vec![ReportedItem {
            id: member(0),
            state: "completed".to_owned(),
            counts: Some(counts),
            ..ReportedItem::default()
        }];
        history.ends.push(end);
        history
    }
}

fn client(n: u64) -> &'static str {
    match n {
        2 => "b",
        3 | 4 => "c",
        90..=99 => "d",
        _ => "a",
    }
}

pub fn job(n: u64, client: &str) -> Job {
    Job {
        queue: QUEUE.to_owned(),
        n,
        client: Some(client.to_owned()),
        priority: None,
        twin: Twin::None,
        delay_ms: None,
        locks: Vec::new(),
        max_attempts: None,
        expires_ms: None,
        sla_ms: None,
        assignees: Vec::new(),
        excluded: Vec::new(),
        skill: None,
        fallback_ms: None,
        overlap: None,
    }
}
