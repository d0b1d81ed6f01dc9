//! create of a batch: a request split into many jobs, with a limit of its own and one end.

use std::iter::repeat_n;

use intray::store::{BatchCreation, derived_batch};

use super::prelude::*;
use crate::{
    fixtures::{self, CLIENTS, name},
    operations::append::untimely_members,
    reference::{Batch, Gate, IDLE_MS},
    work::{Idempotency, Member, equal_members, idempotency, members, priority},
};

#[derive(Debug, Clone)]
pub struct CreateBatch {
    concurrency: Option<u32>,
    priority: u8,
    client: usize,
    sealed: bool,
    members: Vec<Member>,
    idempotency: Option<Idempotency>,
}

impl Operation for CreateBatch {
    const OFTEN: Often = Often { everything: 12, few_jobs: 3, desk: 4, routing: 5, many: 1 };
    const MUST_BE_MET: &'static [&'static str] = &["batch KeyReused", "batch Untimely"];

    fn draw(theme: Theme) -> BoxedStrategy<Self> {
        match theme {
            Theme::Everything | Theme::Lists | Theme::FewJobs | Theme::Desk | Theme::Routing => {
                Self::small(theme).boxed()
            }
            Theme::Many => Self::large(theme).boxed(),
        }
    }

    async fn run(&self, walk: &mut Walk<'_>) -> Verdict {
        let fresh = walk.fresh().to_be_bytes();
        let key = self.idempotency.map(|with| [b'b', with.key]);
        let id = derived_batch(walk.real.queue.clone(), &[key.as_ref().map_or(&fresh[..], |key| key)]);
        let new = store::NewBatch {
            id: id.clone(),
            concurrency: self.concurrency,
            priority: fixtures::priority(self.priority),
            client: name(CLIENTS[self.client]),
            sealed: self.sealed,
            jobs: walk.members(&self.members),
            fingerprint: self.idempotency.map(|with| [with.body; 8]),
        };
        let answer = walk.real.handle.create_batch(new.clone()).await;
        walk.answered("batch", answer.map(ByDebug), |model| ByDebug(model.create(&new)))?;
        if walk.model.batches.contains_key(&id.code) && !walk.batches.contains(&id) {
            walk.batches.push(id.clone());
        }
        walk.know_members(&id);
        Ok(())
    }
}

impl CreateBatch {
    pub fn small(theme: Theme) -> impl Strategy<Value = Self> {
        prop_oneof![2 => Self::several_jobs(theme), 1 => Self::equal_jobs(theme)]
    }

    /// With an overlap.
    fn equal_jobs(theme: Theme) -> impl Strategy<Value = Self> {
        (equal_members(theme, 2..=4), priority(), 0..3_usize, idempotency()).prop_map(
            |(members, priority, client, idempotency)| Self {
                concurrency: None,
                priority,
                client,
                sealed: true,
                members,
                idempotency,
            },
        )
    }

    fn several_jobs(theme: Theme) -> impl Strategy<Value = Self> {
        let concurrency = weighted(0.6, 1..=2_u32);
        (concurrency, priority(), 0..3_usize, any::<bool>(), members(theme, 0..=4), idempotency()).prop_map(
            |(concurrency, priority, client, sealed, members, idempotency)| Self {
                concurrency,
                priority,
                client,
                sealed,
                members,
                idempotency,
            },
        )
    }

    fn large(theme: Theme) -> impl Strategy<Value = Self> {
        let concurrency = prop_oneof![Just(None), select(&[Some(2), Some(130), Some(230)])];
        (concurrency, any::<bool>(), members(theme, 150..=450)).prop_map(|(concurrency, sealed, members)| Self {
            concurrency,
            priority: 50,
            client: 0,
            sealed,
            members,
            idempotency: None,
        })
    }
}

impl Queue {
    fn create(&mut self, new: &store::NewBatch) -> BatchCreation {
        self.be_known();
        let is_known = self.batches.contains_key(&new.id.code);
        if let Some(batch) = self.batches.get(&new.id.code) {
            if batch.fingerprint != new.fingerprint {
                return BatchCreation::KeyReused;
            }
        } else if let errors @ [_, ..] = &untimely_members(&new.jobs, self.now)[..] {
            return BatchCreation::Untimely(errors.to_vec());
        } else if !self.has_room_for(new.jobs.len()) {
            return BatchCreation::QueueFull;
        } else {
            self.make(new);
        }
        let batch = self.batch_shown(&new.id).expect("it is there");
        BatchCreation::Created { batch, is_known }
    }

    fn make(&mut self, new: &store::NewBatch) {
        let (code, total) = (new.id.code, new.jobs.len() as u32);
        let batch = Batch {
            state: BatchState::Open,
            called_off: false,
            concurrency: new.concurrency,
            priority: new.priority.get(),
            client: fixtures::client(new.client.as_ref()),
            fingerprint: new.fingerprint,
            created_at: self.now,
            sealed_at: None,
            ended_at: None,
            timer: Some(self.now + IDLE_MS),
            members: Vec::new(),
            opened: Some(0),
            parts: Vec::new(),
        };
        self.batches.insert(code, batch);
        // Closed until all are there, then opened with a baton for each unit.
        for member in &new.jobs {
            self.add_member(&new.id, member, None);
        }
        let units = new.concurrency.unwrap_or(total).min(total);
        for (n, gate) in (1..).zip(repeat_n(Gate::Batch(code), units as usize)) {
            self.batch(code).opened = Some(n);
            self.baton(gate);
        }
        self.batch(code).opened = None;
        if new.sealed {
            self.close(code);
        }
        self.end_batches();
    }
}
