//! enqueue: new jobs, their twins, and the same call again.

use std::{cell::RefCell, collections::VecDeque};

use intray::{
    job::{JobId, Name},
    store::{Dedupe, Enqueued, NewJob, derived_id},
};
use proptest::collection::{SizeRange, vec};

use super::prelude::*;
use crate::{
    fixtures::{self, CLIENTS, KEYS, canonical, dedupe_digest, name},
    reference::{Stub, by_names_of, differs, untimely},
    work::{Idempotency, Work, idempotency, priority, work},
};

#[derive(Debug, Clone)]
pub struct Enqueue(Vec<Item>);

#[derive(Debug, Clone)]
struct Item {
    work: Work,
    priority: u8,
    client: usize,
    dedupe: Dedupe,
    idempotency: Option<Idempotency>,
}

impl Operation for Enqueue {
    const OFTEN: Often = Often { everything: 40, few_jobs: 6, desk: 8, routing: 24, many: 0 };
    const MUST_BE_MET: &'static [&'static str] =
        &["enqueue KeyReused", "enqueue QueueFull", "enqueue Twin", "enqueue Untimely"];

    fn draw(theme: Theme) -> BoxedStrategy<Self> {
        match theme {
            // Now and then a list names the same job twice.
            Theme::Everything | Theme::Lists | Theme::Routing | Theme::Many => {
                (few(theme, item(theme)), proptest::bool::weighted(0.1))
                    .prop_map(|(mut items, twice)| {
                        items.extend(twice.then(|| items[0].clone()));
                        Self(items)
                    })
                    .boxed()
            }
            Theme::FewJobs | Theme::Desk => Self::of(theme, 1).boxed(),
        }
    }

    async fn run(&self, walk: &mut Walk<'_>) -> Verdict {
        let calls: Vec<_> = self.0.iter().enumerate().map(|(place, item)| item.build(walk, place)).collect();
        let ids: Vec<_> = calls.iter().map(|job| job.id.code).collect();
        let answers = RefCell::new(VecDeque::new());
        let answer = |model: &mut Queue, _: &NewJob| {
            let mut answers = answers.borrow_mut();
            if answers.is_empty() {
                answers.extend(model.enqueue_all(&calls));
            }
            answers.pop_front().expect("an answer for each call")
        };
        walk.together("enqueue", calls.clone(), Queues::enqueue, answer).await?;
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
    pub fn of(theme: Theme, number: impl Into<SizeRange>) -> impl Strategy<Value = Self> {
        vec(item(theme), number).prop_map(Self)
    }
}

fn item(theme: Theme) -> impl Strategy<Value = Item> {
    let dedupe = prop_oneof![
        3 => Just(Dedupe::Off),
        3 => Just(Dedupe::QueueSetting),
        1 => Just(Dedupe::Payload),
        1 => (0..KEYS.len()).prop_map(|n| Dedupe::Key(KEYS[n].to_owned())),
    ];
    (work(theme), priority(), 0..CLIENTS.len(), dedupe, idempotency())
        .prop_map(|(work, priority, client, dedupe, idempotency)| Item { work, priority, client, dedupe, idempotency })
}

impl Item {
    /// `place` is the item's in its array.
    fn build(&self, walk: &mut Walk<'_>, place: usize) -> NewJob {
        let fresh = walk.fresh().to_be_bytes();
        let key = self.idempotency.map(|with| [b'i', with.key, place as u8]);
        NewJob {
            id: derived_id(walk.real.queue.clone(), &[key.as_ref().map_or(&fresh[..], |key| key)]),
            task: self.work.build(walk.model.now),
            priority: fixtures::priority(self.priority),
            client: name(CLIENTS[self.client]),
            dedupe: self.dedupe.clone(),
            fingerprint: self.idempotency.map(|with| [with.body; 8]),
        }
    }
}

/// The dedupe key of a job; in a queue that does not deduplicate it has none by its payload alone.
fn key_of(new: &NewJob) -> Option<[u8; 16]> {
    let client = fixtures::client(new.client.as_ref());
    match &new.dedupe {
        Dedupe::QueueSetting | Dedupe::Payload => {
            Some(dedupe_digest(client, 'p', &(canonical(new.task.payload.as_str()).to_owned() + &for_whom(new))))
        }
        Dedupe::Key(key) => Some(dedupe_digest(client, 'k', key)),
        Dedupe::Off => None,
    }
}

/// Who may have the job, as a part of its dedupe key.
fn for_whom(new: &NewJob) -> String {
    let Some(routing) = &new.task.routing else { return String::new() };
    let names = |tag: char, names: &[Name]| {
        let mut names: Vec<_> = names.iter().map(Name::as_str).collect();
        names.sort_unstable();
        if names.is_empty() { String::new() } else { format!("\0{tag}{}\0{}", names.len(), names.join("\0")) }
    };
    let skill = routing.skill.as_ref().map_or(String::new(), |skill| format!("\0s1\0{}", skill.as_str()));
    names('a', &routing.assignees) + &names('x', &routing.excluded) + &skill
}

impl Queue {
    /// The jobs that calls would be answered by, theirs from before and the owners of their keys, lapse until none of them is over.
    fn meet(&mut self, calls: &[NewJob]) {
        loop {
            let mut met = Vec::new();
            for new in calls {
                let is_known = self.jobs.contains_key(&new.id.code) || self.stubs.contains_key(&new.id.code);
                let owner = || Some(self.keys.get(&key_of(new)?)?[0]);
                let id = if is_known { Some(new.id.code) } else { owner() };
                if let Some(id) = id.filter(|id| self.jobs.contains_key(id) && !met.contains(id)) {
                    met.push(id);
                }
            }
            let lapsed = met.into_iter().filter(|id| self.lapse(*id)).count();
            if lapsed == 0 {
                return;
            }
            self.end_batches();
        }
    }

    /// Those for which a sweep may make room wait for it; the others are answered before.
    fn enqueue_all(&mut self, calls: &[NewJob]) -> Vec<Enqueued> {
        self.be_known();
        let mut answers = vec![None; calls.len()];
        loop {
            let open: Vec<_> = (0..calls.len()).filter(|nth| answers[*nth].is_none()).collect();
            if open.is_empty() {
                return answers.into_iter().flatten().collect();
            }
            let those: Vec<_> = open.iter().map(|nth| calls[*nth].clone()).collect();
            self.meet(&those);
            for nth in open {
                answers[nth] = self.enqueue(&calls[nth]);
            }
            if answers.contains(&None) {
                self.sweep_urgent();
            }
        }
    }

    /// `None`: a sweep may make room.
    fn enqueue(&mut self, new: &NewJob) -> Option<Enqueued> {
        let (id, fingerprint, client) = (new.id.code, new.fingerprint, fixtures::client(new.client.as_ref()));
        let named = |code| JobId { code, ..new.id.clone() };
        if let Some(job) = self.jobs.get(&id) {
            return Some(match job.fingerprint == fingerprint {
                true => Enqueued::Stored { id: named(id), state: job.state, is_new: false },
                false => Enqueued::KeyReused,
            });
        }
        if let Some(stub) = self.stubs.get(&id) {
            return Some(match Some(stub.fingerprint) == fingerprint {
                true => {
                    Enqueued::Twin { id: named(stub.twin), state: stub.state, differs: by_names_of(new, &stub.differs) }
                }
                false => Enqueued::KeyReused,
            });
        }
        let key = key_of(new).filter(|_| self.settings.dedupe || !matches!(new.dedupe, Dedupe::QueueSetting));
        if let Some(twin) = key.and_then(|key| Some(self.keys.get(&key)?[0])) {
            let state = self.jobs[&twin].state;
            let differs = differs(new, &self.jobs[&twin], self.now);
            if let Some(fingerprint) = fingerprint {
                let at = self.stamp();
                self.stubs.insert(id, Stub { at, fingerprint, twin, state, differs: differs.clone() });
                self.count("stubs");
            }
            return Some(Enqueued::Twin { id: named(twin), state, differs: by_names_of(new, &differs) });
        }
        let errors = untimely(&new.task, self.now);
        if !errors.is_empty() {
            return Some(Enqueued::Untimely(errors));
        }
        if self.room() <= 0 {
            return if self.may_make_room() { None } else { Some(Enqueued::QueueFull) };
        }
        self.store(id, &new.task, new.priority.get(), client);
        let job = self.job(id);
        (job.key, job.fingerprint) = (key, fingerprint);
        if let Some(key) = key {
            self.keys.insert(key, vec![id]);
        }
        self.line_up(id);
        Some(Enqueued::Stored { id: named(id), state: self.jobs[&id].state, is_new: true })
    }
}
