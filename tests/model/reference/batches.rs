//! Batches: a request split into many jobs, with a limit of its own and one end.

use std::iter::repeat_n;

use intray::job::{BatchId, BatchState, Code};

use super::{Gate, Queue, Said};

/// An open batch is sealed when nothing has been appended for so long.
const IDLE_MS: u64 = 86_400_000;

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
    /// When time moves it; `None`: never, as things are. Of one that is over, when it ended: the queue's retention counts
    /// from there.
    pub timer: Option<u64>,
    pub members: Vec<Code>,
    /// How much of its limit is open yet; all of it once it is made.
    pub opened: Option<u32>,
}

pub struct NewBatch {
    pub id: BatchId,
    pub concurrency: Option<u32>,
    pub priority: u8,
    pub client: &'static str,
    pub sealed: bool,
    pub fingerprint: Option<[u8; 8]>,
    pub members: Vec<NewMember>,
}

#[derive(Debug, Clone)]
pub struct NewMember {
    pub said: Said,
    pub priority: Option<u8>,
    /// Equal ones are the same call's.
    pub mark: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Creation {
    /// Or it was there.
    Made,
    KeyReused,
    QueueFull,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Appending {
    Done,
    Unknown,
    Misfit { total: u32 },
    NotOpen(BatchState),
    QueueFull,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallingOff {
    Done,
    Unknown,
    Over(BatchState),
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
    pub fn create(&mut self, new: &NewBatch) -> Creation {
        self.be_known();
        let code = new.id.code;
        if let Some(batch) = self.batches.get(&code) {
            return if batch.fingerprint == new.fingerprint { Creation::Made } else { Creation::KeyReused };
        }
        if !new.members.is_empty() && self.room() < new.members.len() as i64 {
            return Creation::QueueFull;
        }
        let batch = Batch {
            state: BatchState::Open,
            called_off: false,
            concurrency: new.concurrency,
            priority: new.priority,
            client: new.client,
            fingerprint: new.fingerprint,
            created_at: self.now,
            sealed_at: None,
            ended_at: None,
            timer: Some(self.now + IDLE_MS),
            members: Vec::new(),
            opened: Some(0),
        };
        self.batches.insert(code, batch);
        // Closed until all are there, then opened with a baton for each unit.
        for member in &new.members {
            self.add_member(&new.id, member);
        }
        let units = new.concurrency.unwrap_or(new.members.len() as u32);
        for (n, gate) in (1..).zip(repeat_n(Gate::Batch(code), units.min(new.members.len() as u32) as usize)) {
            self.batch(code).opened = Some(n);
            self.baton(gate);
        }
        self.batch(code).opened = None;
        if new.sealed {
            self.close(code);
        }
        self.end_batches();
        Creation::Made
    }

    fn add_member(&mut self, id: &BatchId, new: &NewMember) {
        let batch = &self.batches[&id.code];
        let (client, priority) = (batch.client, new.priority.unwrap_or(batch.priority));
        let code = id.member(batch.members.len() as u32).code;
        self.batch(id.code).members.push(code);
        self.store(code, &new.said, priority, client);
        let job = self.job(code);
        (job.batch, job.mark) = (Some(id.code), new.mark.clone());
        self.line_up(code);
    }

    pub fn append(&mut self, id: &BatchId, new: &[NewMember], offset: Option<u32>) -> Appending {
        let Some(batch) = self.batches.get(&id.code) else { return Appending::Unknown };
        let total = batch.members.len() as u32;
        let state = batch.state;
        if offset.is_none() && state != BatchState::Open {
            return Appending::NotOpen(state);
        }
        let from = offset.unwrap_or(total);
        let there = batch.members.iter().skip(from as usize);
        let is_same = |(code, new): (&Code, &NewMember)| new.mark.is_some() && self.jobs[code].mark == new.mark;
        if from > total || !there.zip(new).all(is_same) {
            return Appending::Misfit { total };
        }
        let new = new.get((total - from) as usize..).unwrap_or_default();
        if new.is_empty() {
            return Appending::Done;
        }
        if state != BatchState::Open {
            return Appending::NotOpen(state);
        }
        if self.room() < new.len() as i64 {
            return Appending::QueueFull;
        }
        for member in new {
            self.add_member(id, member);
        }
        self.batch(id.code).timer = Some(self.now + IDLE_MS);
        Appending::Done
    }

    /// Answers whether there is such a batch.
    pub fn seal(&mut self, code: Code) -> bool {
        let Some(batch) = self.batches.get(&code) else { return false };
        if batch.state == BatchState::Open {
            self.close(code);
            self.end_batches();
        }
        true
    }

    pub(super) fn close(&mut self, code: Code) {
        let now = self.now;
        let batch = self.batch(code);
        (batch.state, batch.sealed_at, batch.timer) = (BatchState::Sealed, Some(now), None);
    }

    pub(super) fn batch(&mut self, code: Code) -> &mut Batch {
        self.batches.get_mut(&code).expect("a batch that was just found")
    }
}
