//! A history indexed by job.

use std::collections::{BTreeMap, HashMap};

use crate::record::{
    Answer, Ask, Call, Event, History, Job, Moment, Plan, Refusal, ReportedItem, Way, batch_of, job_of,
};

pub struct Index<'h> {
    pub history: &'h History,
    pub plans: HashMap<&'h str, &'h Plan>,
    /// Events by queue, in the order received.
    pub events: BTreeMap<&'h str, Vec<&'h Event>>,
    pub jobs: HashMap<&'h str, JobTrace<'h>>,
    /// By payload: every call that tried to enqueue it.
    pub tries: HashMap<u64, Vec<Try<'h>>>,
    /// Jobs that appeared with two different payloads.
    pub changed: Vec<String>,
}

/// All facts about a job.
#[derive(Default)]
pub struct JobTrace<'h> {
    pub n: Option<u64>,
    pub events: Vec<&'h Event>,
    pub handed: Vec<Handed<'h>>,
    pub settled: Vec<Settled<'h>>,
    pub end: Option<&'h ReportedItem>,
}

/// One reserved job, and its call.
pub struct Handed<'h> {
    pub begin: Moment,
    pub end: Moment,
    pub item: &'h ReportedItem,
}

/// One item of a call that ends a reservation.
pub struct Settled<'h> {
    pub begin: Moment,
    pub end: Moment,
    pub way: Way,
    pub reservation: &'h str,
    pub value: Option<u64>,
    pub has_grace: bool,
    /// For how long a completion can be taken back; 0 is not at all.
    pub undo_ms: u64,
    pub resumes: Option<u64>,
    pub outcome: Outcome<'h>,
}

/// One job of an enqueue, a created batch or an append.
pub struct Try<'h> {
    pub begin: Moment,
    pub end: Moment,
    pub job: &'h Job,
    /// For an idempotent enqueue, the key and the index of the job.
    pub key: Option<(u64, usize)>,
    pub is_alone: bool,
    pub outcome: Outcome<'h>,
}

#[derive(Debug, Clone, Copy)]
pub enum Outcome<'h> {
    Done(&'h ReportedItem),
    Refused(&'h Refusal),
    Unknown,
}

impl<'h> Index<'h> {
    pub fn new(history: &'h History) -> Self {
        let plans = history.plans.iter().map(|plan| (plan.queue.as_str(), plan)).collect();
        let (events, jobs, tries) = Default::default();
        let mut index = Self { history, plans, events, jobs, tries, changed: Vec::new() };
        for event in &history.events {
            index.events.entry(&event.queue).or_default().push(event);
            if let Some(job) = &event.job {
                index.jobs.entry(job).or_default().events.push(event);
            }
        }
        for call in &history.calls {
            index.read(call);
        }
        for job in history.ends.iter().flat_map(|end| &end.jobs) {
            index.name(&job.id, job.payload);
            index.jobs.entry(&job.id).or_default().end = Some(job);
        }
        index
    }

    fn read(&mut self, call: &'h Call) {
        match &call.ask {
            Ask::Enqueue { jobs, key } => {
                for (at, (job, outcome)) in jobs.iter().zip(call.outcomes(jobs.len())).enumerate() {
                    if let Outcome::Done(item) = outcome
                        && !item.duplicate
                    {
                        self.name(&item.id, Some(job.n));
                    }
                    self.tried(call, job, key.map(|key| (key, at)), outcome);
                }
            }
            Ask::CreateBatch { jobs, .. } | Ask::Append { jobs, .. } => {
                for (job, outcome) in jobs.iter().zip(call.outcomes(jobs.len())) {
                    self.tried(call, job, None, outcome);
                }
            }
            Ask::Settle { way, items } => {
                for (item, outcome) in items.iter().zip(call.outcomes(items.len())) {
                    // No outcome means a plain abandon.
                    let has_grace = item.grace_ms.is_some_and(|ms| ms > 0);
                    let (begin, end, way) = (call.begin, call.end, *way);
                    let (reservation, value) = (item.reservation.as_str(), item.value);
                    let (undo_ms, resumes) = (item.undo_ms.unwrap_or(0), item.resumes);
                    let settled = Settled { begin, end, way, reservation, value, has_grace, undo_ms, resumes, outcome };
                    self.jobs.entry(job_of(reservation)).or_default().settled.push(settled);
                }
            }
            Ask::Reserve { .. } => {
                for item in call.shown() {
                    self.name(&item.id, item.payload);
                    let handed = Handed { begin: call.begin, end: call.end, item };
                    self.jobs.entry(&item.id).or_default().handed.push(handed);
                }
            }
            Ask::Look { .. } => call.shown().iter().for_each(|item| self.name(&item.id, item.payload)),
            Ask::Seal { .. }
            | Ask::CancelBatch { .. }
            | Ask::Release { .. }
            | Ask::ReleaseFrom { .. }
            | Ask::Requeue { .. }
            | Ask::RequeueAll { .. }
            | Ask::Cancel { .. }
            | Ask::Reprioritize { .. }
            | Ask::Purge { .. }
            | Ask::Set { .. }
            | Ask::Sweep { .. } => {}
        }
    }

    fn tried(&mut self, call: &Call, job: &'h Job, key: Option<(u64, usize)>, outcome: Outcome<'h>) {
        let is_alone = matches!(call.ask, Ask::Enqueue { .. });
        let (begin, end) = (call.begin, call.end);
        self.tries.entry(job.n).or_default().push(Try { begin, end, job, key, is_alone, outcome });
    }

    /// A job appeared with this payload.
    fn name(&mut self, id: &'h str, payload: Option<u64>) {
        let Some(n) = payload else { return };
        let trace = self.jobs.entry(id).or_default();
        if *trace.n.get_or_insert(n) != n {
            self.changed.push(format!("{id} was {:?} and then {n}", trace.n));
        }
    }

    /// The job as enqueued, if known.
    pub fn sent(&self, id: &str) -> Option<&'h Job> {
        Some(self.tries.get(&self.jobs.get(id)?.n?)?.first()?.job)
    }

    /// After how long the job expires, if it does.
    pub fn expires_ms(&self, id: &str) -> Option<u64> {
        self.sent(id)?.expires_ms
    }

    /// The call of this event read Redis's clock at this ms at the earliest, and at the time of the event at the latest: calls do
    /// not overlap, so it was not before the event of another call, and a script has the time of its start or of its writing.
    pub fn earliest(&self, event: &Event) -> u64 {
        let queue = self.events.get(event.queue.as_str()).map_or(&[][..], Vec::as_slice);
        let (ms, number, _) = event.position;
        let before = queue.partition_point(|other| other.position < (ms, number, 0));
        before.checked_sub(1).map_or(0, |before| queue[before].position.0)
    }

    /// The concurrency of each batch.
    pub fn concurrency(&self) -> HashMap<&'h str, usize> {
        let made = self.history.calls.iter().filter_map(|call| match (&call.ask, call.shown()) {
            (Ask::CreateBatch { concurrency: Some(limit), .. }, [item]) => Some((item.id.as_str(), *limit)),
            _ => None,
        });
        made.collect()
    }

    /// Whether a queue keeps ended jobs and is never purged.
    pub fn keeps(&self, queue: &str) -> bool {
        self.plans.get(queue).is_some_and(|plan| plan.keeps)
    }
}

impl<'h> Settled<'h> {
    /// A completion that was accepted and could be taken back then.
    pub fn is_closing(&self) -> bool {
        self.way == Way::Complete && self.outcome.done().is_some_and(|item| item.closing)
    }

    /// What an undo answered that took a completion back, and not one that found the job held.
    pub fn taken_back(&self) -> Option<&'h ReportedItem> {
        self.outcome.done().filter(|item| self.way == Way::Undo && !item.duplicate)
    }
}

impl JobTrace<'_> {
    pub fn is_member(&self) -> bool {
        self.events.first().is_some_and(|event| event.batch.is_some())
    }
}

impl Call {
    /// The outcome of each item of the call.
    pub fn outcomes(&self, items: usize) -> Vec<Outcome<'_>> {
        match &self.answer {
            Answer::Unknown => vec![Outcome::Unknown; items],
            Answer::Refused(refusal) => vec![Outcome::of(refusal); items],
            Answer::Done(item) if item.len() == items => item.iter().map(Outcome::item).collect(),
            Answer::Done(item) => vec![item.first().map_or(Outcome::Unknown, Outcome::item); items],
        }
    }

    /// The items of the answer.
    pub fn shown(&self) -> &[ReportedItem] {
        match &self.answer {
            Answer::Done(item) => item,
            Answer::Refused(_) | Answer::Unknown => &[],
        }
    }
}

impl<'h> Outcome<'h> {
    fn of(refusal: &'h Refusal) -> Self {
        if refusal.unsure { Self::Unknown } else { Self::Refused(refusal) }
    }

    fn item(item: &'h ReportedItem) -> Self {
        item.error.as_ref().map_or(Self::Done(item), Self::of)
    }

    pub fn is_refused(self) -> bool {
        matches!(self, Self::Refused(_))
    }

    /// Done by this call, or by an equal one before.
    pub fn done(self) -> Option<&'h ReportedItem> {
        match self {
            Self::Done(item) => Some(item),
            Self::Refused(_) | Self::Unknown => None,
        }
    }

    /// Done by this call, and not before.
    pub fn is_new(self) -> bool {
        self.done().is_some_and(|item| !item.duplicate)
    }
}

/// The batch of a batch's job.
pub fn batch(event: &Event) -> Option<String> {
    event.batch.as_ref().and(event.job.as_deref()).map(batch_of)
}
