//! enqueue: new jobs, their twins, and the same call again.

use intray::{
    job::JobId,
    queue::{Dedupe, Enqueued, NewJob, derived_id},
};
use proptest::collection::{SizeRange, vec};

use super::prelude::*;
use crate::{
    reference::{Said, Stub},
    words::{self, CLIENTS, KEYS, PAYLOADS, dedupe_digest, name},
    work::{Idempotency, Work, idempotency, priority, work},
};

#[derive(Debug, Clone)]
pub struct Enqueue(Vec<Item>);

#[derive(Debug, Clone)]
struct Item {
    work: Work,
    priority: u8,
    client: usize,
    dedupe: Same,
    idempotency: Option<Idempotency>,
}

#[derive(Debug, Clone, Copy)]
enum Same {
    Setting,
    Payload,
    Key(usize),
    Off,
}

/// A job as its producer describes it, and as the model reads it.
#[derive(Clone)]
struct New {
    job: NewJob,
    said: Said,
    client: &'static str,
    /// The digest by which it would be the same as another.
    key: Option<[u8; 16]>,
}

impl Operation for Enqueue {
    const OFTEN: Often = Often { everything: 40, few_jobs: 6, desk: 8, many: 0 };
    const MUST_BE_MET: &'static [&'static str] = &["enqueue KeyReused", "enqueue QueueFull", "enqueue Twin"];

    fn draw(theme: Theme) -> BoxedStrategy<Self> {
        match theme {
            Theme::Everything | Theme::Many => few(item()).prop_map(Self).boxed(),
            Theme::FewJobs | Theme::Desk => Self::of(1).boxed(),
        }
    }

    async fn run(&self, walk: &mut Walk<'_>) -> Verdict {
        let calls: Vec<_> = self.0.iter().enumerate().map(|(place, item)| item.told(walk, place)).collect();
        let ids: Vec<_> = calls.iter().map(|new| new.job.id.code).collect();
        let send = async |real: &Queues, new: New| real.enqueue(new.job).await;
        walk.together("enqueue", calls, send, Queue::enqueue).await?;
        for id in ids {
            let is_kept = walk.model.jobs.contains_key(&id) || walk.model.stubs.contains_key(&id);
            if is_kept && !walk.ids.contains(&id) {
                walk.ids.push(id);
            }
        }
        Ok(())
    }
}

impl Enqueue {
    pub fn of(number: impl Into<SizeRange>) -> impl Strategy<Value = Self> {
        vec(item(), number).prop_map(Self)
    }
}

fn item() -> impl Strategy<Value = Item> {
    let dedupe = prop_oneof![
        3 => Just(Same::Off),
        3 => Just(Same::Setting),
        1 => Just(Same::Payload),
        1 => (0..KEYS.len()).prop_map(Same::Key),
    ];
    (work(), priority(), 0..CLIENTS.len(), dedupe, idempotency())
        .prop_map(|(work, priority, client, dedupe, idempotency)| Item { work, priority, client, dedupe, idempotency })
}

impl Item {
    /// `place` is the item's in its array.
    fn told(&self, walk: &mut Walk<'_>, place: usize) -> New {
        let fresh = walk.fresh().to_be_bytes();
        let key = self.idempotency.map(|with| [b'i', with.key, place as u8]);
        let id = derived_id(walk.real.queue.clone(), &[key.as_ref().map_or(&fresh[..], |key| key)]);
        let fingerprint = self.idempotency.map(|with| [with.body; 8]);
        let client = CLIENTS[self.client];
        let (task, said) = self.work.told(walk.model.now);
        let canonical = PAYLOADS.iter().find(|(payload, _)| *payload == said.payload).map_or("", |(_, same)| same);
        let by_payload = Some(dedupe_digest(client, 'p', canonical));
        let (dedupe, key) = match self.dedupe {
            Same::Setting => (Dedupe::QueueSetting, by_payload),
            Same::Payload => (Dedupe::Payload, by_payload),
            Same::Key(key) => (Dedupe::Key(KEYS[key].to_owned()), Some(dedupe_digest(client, 'k', KEYS[key]))),
            Same::Off => (Dedupe::Off, None),
        };
        let priority = words::priority(self.priority);
        New { job: NewJob { id, task, priority, client: name(client), dedupe, fingerprint }, said, client, key }
    }
}

impl Queue {
    fn enqueue(&mut self, new: &New) -> Enqueued {
        self.be_known();
        let (id, fingerprint) = (new.job.id.code, new.job.fingerprint);
        let named = |code| JobId { code, ..new.job.id.clone() };
        if let Some(job) = self.jobs.get(&id) {
            return match job.fingerprint == fingerprint {
                true => Enqueued::Stored { id: named(id), state: job.state },
                false => Enqueued::KeyReused,
            };
        }
        if let Some(stub) = self.stubs.get(&id) {
            return match Some(stub.fingerprint) == fingerprint {
                true => Enqueued::Twin { id: named(stub.twin), state: stub.state },
                false => Enqueued::KeyReused,
            };
        }
        let key = new.key.filter(|_| !matches!(new.job.dedupe, Dedupe::QueueSetting) || self.settings.dedupe);
        if let Some(&twin) = key.and_then(|key| self.keys.get(&key)) {
            let state = self.jobs[&twin].state;
            if let Some(fingerprint) = fingerprint {
                let at = self.stamp();
                self.stubs.insert(id, Stub { at, fingerprint, twin, state });
                self.count("stubs");
            }
            return Enqueued::Twin { id: named(twin), state };
        }
        if self.room() <= 0 {
            return Enqueued::QueueFull;
        }
        self.store(id, &new.said, new.job.priority.get(), new.client);
        let job = self.job(id);
        (job.key, job.fingerprint) = (key, fingerprint);
        if let Some(key) = key {
            self.keys.insert(key, id);
        }
        self.line_up(id);
        Enqueued::Stored { id: named(id), state: self.jobs[&id].state }
    }
}
