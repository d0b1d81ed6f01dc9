//! What the model says of batches and gates: as Redis holds them, and as lookers see them.

use std::collections::BTreeMap;

use intray::{
    job::{BatchId, Code, Millis, State},
    queue::{self, StateCounts},
};

use super::{Batch, Gate, Queue};
use crate::{
    real::batch::BatchRow,
    words::{name, priority},
};

impl Queue {
    /// Recounted, not kept.
    fn counts_of(&self, batch: &Batch) -> StateCounts {
        let number = |state| batch.members.iter().filter(|id| self.jobs[id].state == state).count() as u64;
        StateCounts {
            waiting: number(State::Waiting),
            blocked: number(State::Blocked),
            delayed: number(State::Delayed),
            reserved: number(State::Reserved),
            completed: number(State::Completed),
            dead: number(State::Dead),
            cancelled: number(State::Cancelled),
        }
    }

    pub fn batch_rows(&self) -> BTreeMap<String, BatchRow> {
        let row = |(code, batch): (&Code, &Batch)| {
            let row = BatchRow {
                state: batch.state,
                called_off: batch.called_off,
                priority: batch.priority,
                client: batch.client.to_owned(),
                created_at: batch.created_at,
                sealed_at: batch.sealed_at.unwrap_or(0),
                ended_at: batch.ended_at.unwrap_or(0),
                total: batch.members.len() as u32,
                concurrency: batch.concurrency.unwrap_or(0),
                counts: self.counts_of(batch),
                fingerprint: batch.fingerprint.unwrap_or_default(),
                timer: Some(batch.timer.unwrap_or(u64::MAX)),
            };
            (code.as_str().to_owned(), row)
        };
        self.batches.iter().map(row).collect()
    }

    /// As it is shown.
    pub fn batch_shown(&self, id: &BatchId) -> Option<queue::Batch> {
        let batch = self.batches.get(&id.code)?;
        Some(queue::Batch {
            id: id.clone(),
            state: batch.state,
            concurrency: batch.concurrency,
            priority: priority(batch.priority),
            client: name(batch.client),
            counts: self.counts_of(batch),
            total: batch.members.len() as u64,
            created_at: Millis(batch.created_at),
            sealed_at: batch.sealed_at.map(Millis),
            ended_at: batch.ended_at.map(Millis),
        })
    }

    /// A lock's holder; use and capacity of a batch with a limit.
    pub fn gate_rows(&self) -> BTreeMap<String, Vec<u8>> {
        let holds = self.jobs.iter().filter(|(_, job)| job.hold.is_some());
        let locks = holds.flat_map(|(id, job)| job.said.locks.iter().map(move |lock| (Gate::Lock(lock), id)));
        let mut rows: BTreeMap<_, _> = locks.map(|(gate, id)| (gate.key(), id.as_str().as_bytes().to_vec())).collect();
        for code in self.batches.keys().copied() {
            if let Some(capacity) = self.capacity(Gate::Batch(code)) {
                let used = self.used(Gate::Batch(code)).to_be_bytes();
                rows.insert(Gate::Batch(code).key(), [used, capacity.to_be_bytes()].concat());
            }
        }
        rows
    }
}
