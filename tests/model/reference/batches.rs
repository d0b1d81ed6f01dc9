//! Batches: a request split into many jobs, with a limit of its own and one end.

use intray::{
    job::{BatchId, BatchState, Code, Priority, State},
    store::NewMember,
};

use super::{Event, Part, Queue};

/// An open batch is sealed when nothing has been appended for so long.
pub const IDLE_MS: u64 = 86_400_000;

#[derive(Debug, Clone)]
pub struct Batch {
    pub state: BatchState,
    /// What is not reserved is cancelled.
    pub called_off: bool,
    pub concurrency: Option<u32>,
    pub priority: u8,
    pub client: &'static str,
    pub fingerprint: Option<[u8; 8]>,
    pub created_at: u64,
    pub sealed_at: Option<u64>,
    pub ended_at: Option<u64>,
    /// When time moves it; `None`: never, as things are. For one that is over, when it ended: the queue's retention counts
    /// from there.
    pub timer: Option<u64>,
    pub members: Vec<Code>,
    /// How much of its limit is open yet; all of it once it is made.
    pub opened: Option<u32>,
    /// In a batch with an overlap: who has had a job of it, the newest last.
    pub parts: Vec<Part>,
}

impl Batch {
    pub fn is_over(&self) -> bool {
        self.ended_at.is_some()
    }

    /// In the list of batches: those that are over come first.
    pub fn rank(&self) -> (bool, u64) {
        (!self.is_over(), self.timer.unwrap_or(u64::MAX))
    }

    pub fn capacity(&self) -> Option<u32> {
        self.opened.or(self.concurrency).filter(|_| !self.is_over())
    }
}

impl Queue {
    pub fn add_member(&mut self, id: &BatchId, new: &NewMember, mark: Option<String>) {
        let batch = &self.batches[&id.code];
        let (client, priority) = (batch.client, new.priority.map_or(batch.priority, Priority::get));
        let code = id.member(batch.members.len() as u32).code;
        self.batch(id.code).members.push(code);
        self.store(code, &new.task, priority, client);
        let job = self.job(code);
        (job.batch, job.mark) = (Some(id.code), mark);
        self.line_up(code);
    }

    pub fn close(&mut self, code: Code) {
        let now = self.now;
        let batch = self.batch(code);
        (batch.state, batch.sealed_at, batch.timer) = (BatchState::Sealed, Some(now), None);
    }

    pub fn batch(&mut self, code: Code) -> &mut Batch {
        self.batches.get_mut(&code).expect("a batch that was just found")
    }

    /// The end of each step. A batch ends once, when it is sealed and none of its jobs can still be handed out.
    pub fn end_batches(&mut self) {
        for code in self.batches.keys().copied().collect::<Vec<_>>() {
            let batch = &self.batches[&code];
            let states: Vec<_> = batch.members.iter().map(|id| self.jobs[id].state).collect();
            let is_out = |state: &State| !matches!(state, State::Completed | State::Dead | State::Cancelled);
            if batch.state != BatchState::Sealed || states.iter().any(is_out) {
                continue;
            }
            let end = match (batch.called_off, states.contains(&State::Dead)) {
                (true, _) => BatchState::Cancelled,
                (false, true) => BatchState::Failed,
                (false, false) => BatchState::Completed,
            };
            let now = self.now;
            let batch = self.batch(code);
            (batch.state, batch.ended_at, batch.timer) = (end, Some(now), Some(now));
            let (job, client) = (code.as_str().to_owned(), batch.client.to_owned());
            let (kind, note) = ("batch-completed".to_owned(), end.word().to_owned());
            self.events.push(Event { job, kind, worker: String::new(), client, note });
        }
    }

    /// The first batch that time moves now.
    pub fn first_to_wake(&self) -> Option<Code> {
        let due = self.batches.iter().filter(|(_, batch)| self.moment_of(batch).is_some_and(|at| at <= self.now));
        due.min_by_key(|(code, batch)| (batch.rank(), **code)).map(|(code, _)| *code)
    }

    pub fn moment_of(&self, batch: &Batch) -> Option<u64> {
        Some(batch.timer? + if batch.is_over() { u64::from(self.settings.retention_ms) } else { 0 })
    }

    /// What a batch that is over came to no longer changes.
    pub fn is_kept(&self, id: Code) -> bool {
        let job = &self.jobs[&id];
        job.state == State::Dead && job.batch.is_some_and(|batch| self.batches[&batch].is_over())
    }

    pub fn is_called_off(&self, id: Code) -> bool {
        self.jobs[&id].batch.is_some_and(|batch| self.batches[&batch].called_off)
    }
}
