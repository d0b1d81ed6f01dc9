//! A history by its jobs, so that each rule finds what it asks for.

use std::collections::{BTreeMap, HashMap};

use crate::record::{Answer, Ask, Call, Event, History, Job, Moment, Plan, Refusal, Said, Way, batch_of, job_of};

pub struct Index<'h> {
    pub history: &'h History,
    pub plans: HashMap<&'h str, &'h Plan>,
    /// By queue, as they were heard.
    pub events: BTreeMap<&'h str, Vec<&'h Event>>,
    pub jobs: HashMap<&'h str, Tale<'h>>,
    /// By what the payload says: each time that somebody tried to enqueue it.
    pub tries: HashMap<u64, Vec<Try<'h>>>,
    /// Jobs that were shown with one payload and then with another.
    pub changed: Vec<String>,
}

/// All that is known of a job.
#[derive(Default)]
pub struct Tale<'h> {
    pub n: Option<u64>,
    pub events: Vec<&'h Event>,
    pub handed: Vec<Handed<'h>>,
    pub settled: Vec<Settled<'h>>,
    pub end: Option<&'h Said>,
}

/// One job of a hand-out, and the call that it answered.
pub struct Handed<'h> {
    pub begin: Moment,
    pub end: Moment,
    pub said: &'h Said,
}

/// One item of a call that settles.
pub struct Settled<'h> {
    pub begin: Moment,
    pub end: Moment,
    pub way: Way,
    pub reservation: &'h str,
    pub value: Option<u64>,
    pub has_grace: bool,
    pub outcome: Outcome<'h>,
}

/// One job of an enqueue, of the making of a batch or of an append.
pub struct Try<'h> {
    pub begin: Moment,
    pub end: Moment,
    pub job: &'h Job,
    /// Of an idempotent enqueue: the key, and which of its jobs it is.
    pub key: Option<(u64, usize)>,
    pub is_alone: bool,
    pub outcome: Outcome<'h>,
}

#[derive(Debug, Clone, Copy)]
pub enum Outcome<'h> {
    Done(&'h Said),
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
                    if let Outcome::Done(said) = outcome
                        && !said.duplicate
                    {
                        self.name(&said.id, Some(job.n));
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
                    // None at all is an abandon like any other.
                    let has_grace = item.grace_ms.is_some_and(|ms| ms > 0);
                    let (begin, end, way) = (call.begin, call.end, *way);
                    let (reservation, value) = (item.reservation.as_str(), item.value);
                    let settled = Settled { begin, end, way, reservation, value, has_grace, outcome };
                    self.jobs.entry(job_of(reservation)).or_default().settled.push(settled);
                }
            }
            Ask::Reserve { .. } => {
                for said in call.shown() {
                    self.name(&said.id, said.payload);
                    let handed = Handed { begin: call.begin, end: call.end, said };
                    self.jobs.entry(&said.id).or_default().handed.push(handed);
                }
            }
            Ask::Look { .. } => call.shown().iter().for_each(|said| self.name(&said.id, said.payload)),
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

    /// Somebody saw a job with this payload.
    fn name(&mut self, id: &'h str, payload: Option<u64>) {
        let Some(n) = payload else { return };
        let tale = self.jobs.entry(id).or_default();
        if *tale.n.get_or_insert(n) != n {
            self.changed.push(format!("{id} was {:?} and then {n}", tale.n));
        }
    }

    /// What the enqueue of a job said, if that is known.
    pub fn sent(&self, id: &str) -> Option<&'h Job> {
        Some(self.tries.get(&self.jobs.get(id)?.n?)?.first()?.job)
    }

    /// How many of its jobs a batch may have out.
    pub fn concurrency(&self) -> HashMap<&'h str, usize> {
        let made = self.history.calls.iter().filter_map(|call| match (&call.ask, call.shown()) {
            (Ask::CreateBatch { concurrency: Some(limit), .. }, [said]) => Some((said.id.as_str(), *limit)),
            _ => None,
        });
        made.collect()
    }

    /// Whether a queue keeps what has ended, and is never purged.
    pub fn keeps(&self, queue: &str) -> bool {
        self.plans.get(queue).is_some_and(|plan| plan.keeps)
    }
}

impl Tale<'_> {
    pub fn is_member(&self) -> bool {
        self.events.first().is_some_and(|event| event.batch.is_some())
    }
}

impl Call {
    /// Of each item that was asked for.
    pub fn outcomes(&self, items: usize) -> Vec<Outcome<'_>> {
        match &self.answer {
            Answer::Unknown => vec![Outcome::Unknown; items],
            Answer::Refused(refusal) => vec![Outcome::of(refusal); items],
            Answer::Done(said) if said.len() == items => said.iter().map(Outcome::said).collect(),
            Answer::Done(said) => vec![said.first().map_or(Outcome::Unknown, Outcome::said); items],
        }
    }

    /// What an answer showed.
    pub fn shown(&self) -> &[Said] {
        match &self.answer {
            Answer::Done(said) => said,
            Answer::Refused(_) | Answer::Unknown => &[],
        }
    }
}

impl<'h> Outcome<'h> {
    fn of(refusal: &'h Refusal) -> Self {
        if refusal.unsure { Self::Unknown } else { Self::Refused(refusal) }
    }

    fn said(said: &'h Said) -> Self {
        said.error.as_ref().map_or(Self::Done(said), Self::of)
    }

    pub fn is_refused(self) -> bool {
        matches!(self, Self::Refused(_))
    }

    /// It was done, and by this very call or one like it before.
    pub fn done(self) -> Option<&'h Said> {
        match self {
            Self::Done(said) => Some(said),
            Self::Refused(_) | Self::Unknown => None,
        }
    }

    /// It was done by this call, and by none before.
    pub fn is_new(self) -> bool {
        self.done().is_some_and(|said| !said.duplicate)
    }
}

/// The batch of a job that is of one.
pub fn batch(event: &Event) -> Option<String> {
    event.batch.as_ref().and(event.job.as_deref()).map(batch_of)
}
