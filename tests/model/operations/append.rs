//! append: more jobs for a batch, from where it ends; the same call again, or one that does not fit, says so.

use intray::store::{Appended, NewMember, Task, TimeError};

use super::prelude::*;
use crate::{
    reference::{Batch, IDLE_MS, untimely},
    work::{Member, members},
};

#[derive(Debug, Clone)]
pub struct Append {
    batch: Nth,
    call: Call,
}

#[derive(Debug, Clone)]
enum Call {
    /// From where the batch ends, which is has_offset or not.
    After { members: Vec<Member>, has_offset: bool },
    /// From elsewhere.
    From { members: Vec<Member>, offset: u32 },
    /// An earlier one, the same again.
    Again(Nth),
}

/// To be sent again, if it says its offset.
#[derive(Clone)]
pub struct Sent {
    batch: BatchId,
    offset: Option<u32>,
    jobs: Vec<NewMember>,
}

impl Operation for Append {
    const OFTEN: Often = Often { everything: 12, few_jobs: 3, desk: 0, routing: 4, many: 1 };
    const MUST_BE_MET: &'static [&'static str] = &["append Misfit", "append Untimely"];

    fn draw(theme: Theme) -> BoxedStrategy<Self> {
        let after = |(members, has_offset)| Call::After { members, has_offset };
        let call = match theme {
            Theme::Many => members(theme, 90..=220).prop_map(move |members| after((members, true))).boxed(),
            Theme::Everything | Theme::Lists | Theme::FewJobs | Theme::Desk | Theme::Routing => prop_oneof![
                4 => (members(theme, 1..=3), proptest::bool::weighted(0.7)).prop_map(after),
                1 => (members(theme, 1..=3), 0..6_u32).prop_map(|(members, offset)| Call::From { members, offset }),
                3 => nth().prop_map(Call::Again),
            ]
            .boxed(),
        };
        (nth(), call).prop_map(|(batch, call)| Self { batch, call }).boxed()
    }

    async fn run(&self, walk: &mut Walk<'_>) -> Verdict {
        let Some(Sent { batch, offset, jobs }) = self.build(walk) else { return Ok(()) };
        let answer = walk.real.handle.append(&batch, &jobs, offset).await;
        walk.note(|| format!("  {} at {offset:?}", &batch.code.as_str()[..6]));
        let what = if matches!(self.call, Call::Again(_)) { "append again" } else { "append" };
        walk.answered(what, answer.map(ByDebug), |model| ByDebug(model.append(&batch, &jobs, offset)))?;
        walk.know_members(&batch);
        Ok(())
    }
}

impl Append {
    fn build(&self, walk: &mut Walk<'_>) -> Option<Sent> {
        let total = |batch: Option<&Batch>| batch.map_or(0, |batch| batch.members.len() as u32);
        let (members, has_offset, elsewhere) = match &self.call {
            Call::Again(nth) => {
                let mut before = nth.of(&walk.sent)?.clone();
                before.jobs.iter_mut().for_each(|job| job.task.traceparent = None);
                return Some(before);
            }
            Call::After { members, has_offset } => (members, *has_offset, None),
            Call::From { members, offset } => (members, true, Some(*offset)),
        };
        let batch = walk.nth_open(self.batch);
        let offset = elsewhere.unwrap_or_else(|| total(walk.model.batches.get(&batch.code)));
        let sent = Sent { batch, offset: has_offset.then_some(offset), jobs: walk.members(members) };
        if has_offset {
            walk.sent.push(sent.clone());
        }
        Some(sent)
    }
}

/// Identifies a repeated append with an offset, whatever its trace.
fn mark(job: &NewMember) -> String {
    let untraced = Task { traceparent: None, ..job.task.clone() };
    format!("{untraced:?} {:?}", job.priority)
}

/// Which times of these jobs break a rule, with the index of the job.
pub fn untimely_members(jobs: &[NewMember], now: u64) -> Vec<(usize, TimeError)> {
    let errors = |(n, job): (usize, &NewMember)| untimely(&job.task, now).into_iter().map(move |error| (n, error));
    jobs.iter().enumerate().flat_map(errors).collect()
}

impl Queue {
    fn append(&mut self, id: &BatchId, all: &[NewMember], offset: Option<u32>) -> Appended {
        let Some(batch) = self.batches.get(&id.code) else { return Appended::UnknownBatch };
        let total = batch.members.len() as u32;
        let state = batch.state;
        if offset.is_none() && state != BatchState::Open {
            return Appended::NotOpen(state);
        }
        let from = offset.unwrap_or(total);
        let there = batch.members.iter().skip(from as usize);
        let is_same = |(code, new): (&Code, &NewMember)| self.jobs[code].mark == Some(mark(new));
        if from > total || !there.zip(all).all(is_same) {
            return Appended::Misfit { total };
        }
        let new = all.get((total - from) as usize..).unwrap_or_default();
        if !new.is_empty() {
            if state != BatchState::Open {
                return Appended::NotOpen(state);
            }
            if !self.has_room_for(new.len()) {
                return Appended::QueueFull;
            }
            if !untimely_members(new, self.now).is_empty() {
                return Appended::Untimely(untimely_members(all, self.now));
            }
            for member in new {
                self.add_member(id, member, offset.map(|_| mark(member)));
            }
            self.batch(id.code).timer = Some(self.now + IDLE_MS);
        }
        Appended::Batch(self.batch_shown(id).expect("it is there"))
    }
}
