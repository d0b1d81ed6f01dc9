//! Batches, on both.

use intray::{
    job::{BatchId, BatchState},
    queue::{self, Appended, BatchCancellation, BatchCreation, derived_batch},
};

use super::{Walk, broken};
use crate::{
    ops::{Append, Member, NewBatch, Nth},
    reference::{self, Appending, CallingOff, Creation},
    words::{CLIENTS, Verdict, name, priority, same},
};

/// An append that said its offset, to be sent again.
#[derive(Clone)]
pub(super) struct Sent {
    batch: BatchId,
    offset: u32,
    members: Vec<(queue::NewMember, reference::NewMember)>,
}

impl Walk<'_> {
    pub(super) async fn create_batch(&mut self, new: &NewBatch) -> Verdict {
        let fresh = self.fresh().to_be_bytes();
        let key = new.idempotency.map(|with| [b'b', with.key]);
        let id = derived_batch(self.real.queue.clone(), &[key.as_ref().map_or(&fresh[..], |key| key)]);
        let fingerprint = new.idempotency.map(|with| [with.body; 8]);
        let members = self.members(&new.members, false);
        let sent = queue::NewBatch {
            id: id.clone(),
            concurrency: new.concurrency,
            priority: priority(new.priority),
            client: name(CLIENTS[new.client]),
            sealed: new.sealed,
            jobs: members.iter().map(|(sent, _)| sent.clone()).collect(),
            fingerprint,
        };
        let meant = reference::NewBatch {
            id: id.clone(),
            concurrency: new.concurrency,
            priority: new.priority,
            client: CLIENTS[new.client],
            sealed: new.sealed,
            fingerprint,
            members: members.into_iter().map(|(_, meant)| meant).collect(),
        };
        let answer = self.real.handle.create_batch(sent).await.map_err(broken)?;
        let expected = self.model.create(&meant);
        self.met(format!("batch {expected:?}"));
        self.note(|| format!("  {}: {answer:?}", &id.code.as_str()[..6]));
        let (answer, batch) = match answer {
            BatchCreation::Created(batch) => (Creation::Made, Some(batch)),
            BatchCreation::KeyReused => (Creation::KeyReused, None),
            BatchCreation::QueueFull => (Creation::QueueFull, None),
            BatchCreation::TooManyQueues => panic!("there is no bound on queues here"),
        };
        same("the creation of a batch answers", &answer, &expected)?;
        if expected == Creation::Made && !self.batches.contains(&id) {
            self.batches.push(id.clone());
        }
        self.know_members(&id);
        self.compare_batch(&id, batch)
    }

    pub(super) async fn append(&mut self, nth: Nth, append: &Append) -> Verdict {
        let mut sent = match append {
            Append::Again(nth) => {
                let Some(mut before) = nth.of(&self.sent).cloned() else { return Ok(()) };
                for (sent, meant) in &mut before.members {
                    (sent.task.traceparent, meant.said.traced) = (None, false);
                }
                before
            }
            Append::Behind { members, said } => {
                let batch = self.nth_open(nth);
                let total = self.model.batches.get(&batch.code).map_or(0, |batch| batch.members.len() as u32);
                Sent { batch, offset: total, members: self.members(members, *said) }
            }
            Append::From { members, offset } => {
                Sent { batch: self.nth_open(nth), offset: *offset, members: self.members(members, true) }
            }
        };
        let is_said = !matches!(append, Append::Behind { said: false, .. });
        if is_said && !matches!(append, Append::Again(_)) {
            self.sent.push(sent.clone());
        }
        let offset = is_said.then_some(sent.offset);
        let (jobs, meant): (Vec<_>, Vec<_>) = sent.members.drain(..).unzip();
        let answer = self.real.handle.append(&sent.batch, &jobs, offset).await.map_err(broken)?;
        let expected = self.model.append(&sent.batch, &meant, offset);
        let again = if matches!(append, Append::Again(_)) { "again " } else { "" };
        self.met(format!("append {again}{expected:?}"));
        self.note(|| format!("  {} at {offset:?}: {answer:?}", &sent.batch.code.as_str()[..6]));
        let (answer, batch) = match answer {
            Appended::Batch(batch) => (Appending::Done, Some(batch)),
            Appended::UnknownBatch => (Appending::Unknown, None),
            Appended::Misfit { total } => (Appending::Misfit { total }, None),
            Appended::NotOpen(state) => (Appending::NotOpen(state), None),
            Appended::QueueFull => (Appending::QueueFull, None),
            Appended::TooLong => return Err("a batch is too long".to_owned()),
        };
        same("append answers", &answer, &expected)?;
        self.know_members(&sent.batch);
        self.compare_batch(&sent.batch, batch)
    }

    pub(super) async fn seal(&mut self, nth: Nth) -> Verdict {
        let id = self.nth_open(nth);
        let batch = self.real.handle.seal(&id).await.map_err(broken)?;
        same("seal finds the batch", &batch.is_some(), &self.model.seal(id.code))?;
        self.compare_batch(&id, batch)
    }

    pub(super) async fn cancel_batch(&mut self, nth: Nth) -> Verdict {
        let id = self.nth_batch(nth);
        let answer = self.real.handle.cancel_batch(&id).await.map_err(broken)?;
        let expected = self.model.call_off(id.code);
        self.met(format!("cancel of a batch {expected:?}"));
        let (answer, batch) = match answer {
            BatchCancellation::Cancelled(batch) => (CallingOff::Done, Some(batch)),
            BatchCancellation::UnknownBatch => (CallingOff::Unknown, None),
            BatchCancellation::Over(state) => (CallingOff::Over(state), None),
        };
        same("the cancel of a batch answers", &answer, &expected)?;
        self.compare_batch(&id, batch)
    }

    /// If the answer holds it.
    pub(super) fn compare_batch(&self, id: &BatchId, batch: Option<queue::Batch>) -> Verdict {
        let expected = self.model.batch_shown(id);
        self.note(|| format!("  {expected:?}"));
        batch.map_or(Ok(()), |batch| same("a batch", &format!("{:?}", Some(batch)), &format!("{expected:?}")))
    }

    /// For both. Only what is sent with an offset can be told from another call's.
    fn members(&self, members: &[Member], said: bool) -> Vec<(queue::NewMember, reference::NewMember)> {
        let member = |member: &Member| {
            let (task, said_of_it) = self.work(&member.work);
            let sent = queue::NewMember { task, priority: member.priority.map(priority) };
            // Whoever traces it: the same call again is another span.
            let untraced = queue::Task { traceparent: None, ..sent.task.clone() };
            let mark = said.then(|| format!("{untraced:?} {:?}", sent.priority));
            (sent, reference::NewMember { said: said_of_it, priority: member.priority, mark })
        };
        members.iter().map(member).collect()
    }

    fn know_members(&mut self, id: &BatchId) {
        let members = self.model.batches.get(&id.code).map(|batch| &batch.members[..]).unwrap_or_default();
        let new: Vec<_> = members.iter().filter(|code| !self.ids.contains(code)).copied().collect();
        self.ids.extend(new);
    }

    /// Mostly one that is there, now and then one that was.
    pub(super) fn nth_batch(&self, nth: Nth) -> BatchId {
        self.pick_batch(nth, |_| true)
    }

    /// Mostly one that takes more.
    fn nth_open(&self, nth: Nth) -> BatchId {
        self.pick_batch(nth, |batch| batch.state == BatchState::Open)
    }

    fn pick_batch(&self, nth: Nth, fits: impl Fn(&reference::Batch) -> bool) -> BatchId {
        let nobodys = || derived_batch(self.real.queue.clone(), &[b"nobody's"]);
        let is_there = |id: &&BatchId| self.model.batches.get(&id.code).is_some_and(&fits);
        let there: Vec<_> = self.batches.iter().filter(is_there).collect();
        let id = if nth.0.is_multiple_of(8) { nth.of(&self.batches) } else { nth.of(&there).copied() };
        let id = id.or_else(|| nth.of(&self.batches)).cloned().unwrap_or_else(nobodys);
        self.note(|| format!("  batch {}", &id.code.as_str()[..6]));
        id
    }
}
