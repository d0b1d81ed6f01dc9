//! The queue as it should be: plain structs in memory, moved as the contract says, in no hurry.

mod arrival;
mod batches;
mod desk;
mod ends;
mod gates;
mod job;
mod limits;
mod lines;
mod opinions;
mod order;
mod parts;
mod reserve;
mod routing;
mod shown;
mod time;
mod twins;
mod view;

use std::collections::{BTreeMap, BTreeSet};

use intray::{
    job::{Backoff, Code, State, ZoneName},
    store::Settings,
};

pub use self::{
    batches::{Batch, IDLE_MS},
    ends::{NotHeld, UNKNOWN, note_of},
    job::{Closing, Draft, Ended, Gate, Grace, Hold, How, Job, JobOptions, Late, Note, Stub},
    limits::{instant, untimely, untimely_changes},
    order::Share,
    parts::{Had, Part},
    reserve::{Asked, Given},
    routing::{Caller, HandedTo, NEVER, Passed, Routing},
    time::YOUNG_MS,
    twins::{by_names_of, differs},
    view::LATE_RESULTS,
};

/// The settings of a queue that nobody has set, as the contract prints them.
pub const DEFAULT: Settings = Settings {
    paused: false,
    lease_ms: 300_000,
    max_hold_ms: 86_400_000,
    warn_ms: 60_000,
    max_attempts: 0,
    backoff: Backoff::None,
    dedupe: true,
    worker_limit: 1,
    share_drafts: false,
    browse: false,
    retention_ms: 604_800_000,
    retention_max: 100_000,
    max_jobs: 0,
    sheets: false,
    sheets_days: 35,
    time_zone: ZoneName::UTC,
    result_schema_sha256: None,
};

/// Max jobs that follow the one with a dedupe key.
const MAX_FOLLOWERS: usize = 64;

/// One queue.
pub struct Queue {
    pub now: u64,
    pub began: u64,
    pub settings: Settings,
    /// Settings that are not left to their defaults.
    pub chosen: BTreeSet<&'static str>,
    pub jobs: BTreeMap<Code, Job>,
    /// What remembers an enqueue with an idempotency key that met a twin.
    pub stubs: BTreeMap<Code, Stub>,
    pub batches: BTreeMap<Code, Batch>,
    /// Dedupe digest to the job that has it, and those that follow it.
    pub keys: BTreeMap<[u8; 16], Vec<Code>>,
    /// V of each priority.
    pub tops: BTreeMap<u8, u64>,
    /// What a client has in line, by priority.
    pub turns: BTreeMap<(u8, &'static str), Share>,
    pub totals: BTreeMap<&'static str, i64>,
    /// The same since the walk began: the totals of a queue that is retired go, and what was done is done.
    pub ever: BTreeMap<&'static str, i64>,
    /// What happened since it was last asked.
    pub events: Vec<Event>,
    /// Since when the registry knows the queue.
    pub registered: Option<u64>,
    /// All was removed since: another queue may have its place.
    pub is_vacated: bool,
    /// A promise that the model itself broke: then it is the contract that is wrong.
    pub broken: Option<String>,
}

/// A transition, as the stream reports it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event {
    pub job: String,
    pub kind: String,
    pub worker: String,
    pub client: String,
    pub note: String,
}

impl Queue {
    pub fn new(now: u64) -> Self {
        Self {
            now,
            began: now,
            settings: DEFAULT,
            chosen: BTreeSet::new(),
            jobs: BTreeMap::new(),
            stubs: BTreeMap::new(),
            batches: BTreeMap::new(),
            keys: BTreeMap::new(),
            tops: BTreeMap::new(),
            turns: BTreeMap::new(),
            totals: BTreeMap::new(),
            ever: BTreeMap::new(),
            events: Vec::new(),
            registered: None,
            is_vacated: false,
            broken: None,
        }
    }

    pub fn be_known(&mut self) {
        if std::mem::take(&mut self.is_vacated) {
            self.registered = None;
        }
        self.registered.get_or_insert(self.now);
    }

    /// All jobs were removed: a queue in which nothing is left to do, and that has no settings, gives its place back.
    pub fn vacate(&mut self) {
        let is_ended = |job: &Job| matches!(job.state, State::Completed | State::Cancelled);
        if self.registered.is_some() && self.chosen.is_empty() && self.jobs.values().all(is_ended) {
            (self.registered, self.is_vacated) = (Some(self.now), true);
        }
    }

    pub fn job(&mut self, id: Code) -> &mut Job {
        self.jobs.get_mut(&id).expect("a job that was just found")
    }

    pub fn tell(&mut self, kind: &str, id: Code, worker: &str, note: &str) {
        let client = self.jobs[&id].client.to_owned();
        let (job, kind, worker, note) = (id.as_str().to_owned(), kind.to_owned(), worker.to_owned(), note.to_owned());
        self.events.push(Event { job, kind, worker, client, note });
    }

    pub fn count(&mut self, total: &'static str) {
        *self.totals.entry(total).or_default() += 1;
        *self.ever.entry(total).or_default() += 1;
    }

    /// An ended job leaves its dedupe key to those that follow it.
    pub fn free_key(&mut self, id: Code) {
        let Some(key) = self.jobs[&id].key else { return };
        let Some(twins) = self.keys.get_mut(&key) else { return };
        let was_shared = twins.len() > 1;
        twins.retain(|twin| *twin != id);
        let left = twins.len();
        if left == 0 {
            self.keys.remove(&key);
        }
        if was_shared && left == 1 {
            *self.totals.entry("shared").or_default() -= 1;
        }
    }

    /// The keys as they are kept: the owner in one field, those that follow in another.
    pub fn key_rows(&self) -> BTreeMap<Vec<u8>, String> {
        let mut rows = BTreeMap::new();
        for (key, twins) in &self.keys {
            let (owner, followers) = twins.split_first().expect("the key has an owner");
            rows.insert(key.to_vec(), owner.as_str().to_owned());
            if !followers.is_empty() {
                rows.insert([&key[..], b"+"].concat(), followers.iter().map(Code::as_str).collect());
            }
        }
        rows
    }

    /// A job that lives again has its dedupe key, or follows those that have it.
    pub fn take_key(&mut self, id: Code) {
        let Some(key) = self.jobs[&id].key else { return };
        let twins = self.keys.entry(key).or_default();
        if twins.len() > MAX_FOLLOWERS {
            return;
        }
        twins.push(id);
        if twins.len() == 2 {
            self.count("shared");
        }
    }

    /// The jobs of one state, in the order of their sets: of those that wait, everybody's come first.
    pub fn in_sets(&self, state: State) -> Vec<Code> {
        let mut found = self.in_state(state);
        found.sort_by_key(|id| self.jobs[id].is_restricted());
        found
    }

    /// The jobs of one state, in their order.
    pub fn in_state(&self, state: State) -> Vec<Code> {
        let mut found: Vec<_> = self.jobs.iter().filter(|(_, job)| job.state == state).collect();
        found.sort_by_key(|(id, job)| (job.parked_at.map(Gate::key), job.score(), job.tie(), **id));
        found.into_iter().map(|(id, _)| *id).collect()
    }

    /// How many more jobs the queue takes; below zero if its limit was lowered.
    pub fn room(&self) -> i64 {
        let ended = self.number(&[State::Completed, State::Cancelled]);
        match u64::from(self.settings.max_jobs) {
            0 => i64::MAX,
            max => max.cast_signed() - (self.jobs.len() as u64 - ended).cast_signed(),
        }
    }

    /// What is over by time makes room first.
    pub fn has_room_for(&mut self, jobs: usize) -> bool {
        let has_room = |queue: &Self| jobs == 0 || queue.room() >= jobs as i64;
        if !has_room(self) && self.may_make_room() {
            self.sweep_urgent();
        }
        has_room(self)
    }

    pub fn number(&self, states: &[State]) -> u64 {
        self.jobs.values().filter(|job| states.contains(&job.state)).count() as u64
    }
}
