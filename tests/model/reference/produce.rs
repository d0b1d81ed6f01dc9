//! Enqueue: new jobs, their twins, and the same call again.

use intray::{
    job::{Code, JobId, QueueName, State},
    queue::{Counts, Enqueued},
};

use super::{Job, Queue, Said, Stub};

/// A job as its producer describes it.
pub struct New {
    pub id: Code,
    pub said: Said,
    pub priority: u8,
    pub client: &'static str,
    /// The digest by which it would be the same as another.
    pub key: Option<[u8; 16]>,
    /// The queue's setting says whether it counts.
    pub key_by_default: bool,
    pub fingerprint: Option<[u8; 8]>,
}

impl Queue {
    pub fn enqueue(&mut self, queue: &QueueName, new: &New) -> Enqueued {
        let named = |code| JobId { queue: queue.clone(), code };
        if let Some(job) = self.jobs.get(&new.id) {
            return match job.fingerprint == new.fingerprint {
                true => Enqueued::Stored { id: named(new.id), state: job.state },
                false => Enqueued::KeyReused,
            };
        }
        if let Some(stub) = self.stubs.get(&new.id) {
            return match Some(stub.fingerprint) == new.fingerprint {
                true => Enqueued::Twin { id: named(stub.twin), state: stub.state },
                false => Enqueued::KeyReused,
            };
        }
        let key = new.key.filter(|_| !new.key_by_default || self.settings.dedupe);
        if let Some(&twin) = key.and_then(|key| self.keys.get(&key)) {
            let state = self.jobs[&twin].state;
            if let Some(fingerprint) = new.fingerprint {
                let at = self.stamp();
                self.stubs.insert(new.id, Stub { at, fingerprint, twin, state });
                self.count("stubs");
            }
            return Enqueued::Twin { id: named(twin), state };
        }
        if self.room() <= 0 {
            return Enqueued::QueueFull;
        }
        self.store(new.id, &new.said, new.priority, new.client);
        let job = self.job(new.id);
        (job.key, job.fingerprint) = (key, new.fingerprint);
        if let Some(key) = key {
            self.keys.insert(key, new.id);
        }
        self.line_up(new.id);
        Enqueued::Stored { id: named(new.id), state: self.jobs[&new.id].state }
    }

    pub(super) fn store(&mut self, id: Code, said: &Said, priority: u8, client: &'static str) {
        let stamp = self.stamp();
        let job = Job {
            stamp,
            wanted_priority: priority,
            client,
            key: None,
            fingerprint: None,
            said: said.clone(),
            batch: None,
            mark: None,
            state: State::Delayed,
            has_payload: true,
            priority,
            place: None,
            arrival: stamp,
            is_unserved: false,
            parked_at: None,
            at: said.due,
            jitter: 0,
            counts: Counts::default(),
            attempts: 0,
            hold: None,
            ring: Vec::new(),
            errors: Vec::new(),
            result: None,
            late: Vec::new(),
            draft: None,
            skips: Vec::new(),
        };
        self.jobs.insert(id, job);
    }

    /// A new job goes where it belongs.
    pub(super) fn line_up(&mut self, id: Code) {
        if self.jobs[&id].at <= self.now {
            self.ensure_place(id, Some(self.jobs[&id].stamp));
            self.ready(id);
        }
        self.tell("enqueued", id, "", "");
        self.count("enqueued");
    }
}
