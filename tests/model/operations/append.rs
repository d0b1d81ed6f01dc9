//! append: more jobs for a batch, from where it ends; the same call again, or one that does not fit, says so.

use intray::queue::Appended;

use super::prelude::*;
use crate::{
    reference::{IDLE_MS, NewMember},
    work::{Member, Twins, members},
};

#[derive(Debug, Clone)]
pub struct Append {
    batch: Nth,
    call: Call,
}

#[derive(Debug, Clone)]
enum Call {
    /// From where the batch ends, which is said or not.
    Behind { members: Vec<Member>, said: bool },
    /// From elsewhere.
    From { members: Vec<Member>, offset: u32 },
    /// An earlier one, the same again.
    Again(Nth),
}

/// An append that said its offset, to be sent again.
#[derive(Clone)]
pub struct Sent {
    batch: BatchId,
    offset: u32,
    members: Vec<Twins>,
}

impl Operation for Append {
    const OFTEN: Often = Often { everything: 12, few_jobs: 3, desk: 0, many: 1 };
    const MUST_BE_MET: &'static [&'static str] = &["append Misfit"];

    fn draw(theme: Theme) -> BoxedStrategy<Self> {
        let behind = |(members, said)| Call::Behind { members, said };
        let call = match theme {
            Theme::Many => members(90..=220).prop_map(move |members| behind((members, true))).boxed(),
            Theme::Everything | Theme::FewJobs | Theme::Desk => prop_oneof![
                4 => (members(1..=3), proptest::bool::weighted(0.7)).prop_map(behind),
                1 => (members(1..=3), 0..6_u32).prop_map(|(members, offset)| Call::From { members, offset }),
                3 => nth().prop_map(Call::Again),
            ]
            .boxed(),
        };
        (nth(), call).prop_map(|(batch, call)| Self { batch, call }).boxed()
    }

    async fn run(&self, walk: &mut Walk<'_>) -> Verdict {
        let Some((Sent { batch, offset, members }, is_said)) = self.told(walk) else { return Ok(()) };
        let offset = is_said.then_some(offset);
        let (jobs, meant): (Vec<_>, Vec<_>) = members.into_iter().unzip();
        let answer = walk.real.handle.append(&batch, &jobs, offset).await;
        walk.note(|| format!("  {} at {offset:?}", &batch.code.as_str()[..6]));
        let what = if matches!(self.call, Call::Again(_)) { "append again" } else { "append" };
        walk.answered(what, answer.map(Told), |model| Told(model.append(&batch, &meant, offset)))?;
        walk.know_members(&batch);
        Ok(())
    }
}

impl Append {
    /// The call, and whether it says its offset.
    fn told(&self, walk: &mut Walk<'_>) -> Option<(Sent, bool)> {
        let (offset, members, is_said) = match &self.call {
            Call::Again(nth) => {
                let mut before = nth.of(&walk.sent)?.clone();
                for (sent, meant) in &mut before.members {
                    (sent.task.traceparent, meant.said.traced) = (None, false);
                }
                return Some((before, true));
            }
            Call::Behind { members, said } => (None, members, *said),
            Call::From { members, offset } => (Some(*offset), members, true),
        };
        let batch = walk.nth_open(self.batch);
        let total = walk.model.batches.get(&batch.code).map_or(0, |batch| batch.members.len() as u32);
        let sent = Sent { batch, offset: offset.unwrap_or(total), members: walk.members(members, is_said) };
        if is_said {
            walk.sent.push(sent.clone());
        }
        Some((sent, is_said))
    }
}

impl Queue {
    fn append(&mut self, id: &BatchId, new: &[NewMember], offset: Option<u32>) -> Appended {
        let Some(batch) = self.batches.get(&id.code) else { return Appended::UnknownBatch };
        let total = batch.members.len() as u32;
        let state = batch.state;
        if offset.is_none() && state != BatchState::Open {
            return Appended::NotOpen(state);
        }
        let from = offset.unwrap_or(total);
        let there = batch.members.iter().skip(from as usize);
        let is_same = |(code, new): (&Code, &NewMember)| new.mark.is_some() && self.jobs[code].mark == new.mark;
        if from > total || !there.zip(new).all(is_same) {
            return Appended::Misfit { total };
        }
        let new = new.get((total - from) as usize..).unwrap_or_default();
        if !new.is_empty() {
            if state != BatchState::Open {
                return Appended::NotOpen(state);
            }
            if self.room() < new.len() as i64 {
                return Appended::QueueFull;
            }
            for member in new {
                self.add_member(id, member);
            }
            self.batch(id.code).timer = Some(self.now + IDLE_MS);
        }
        Appended::Batch(self.batch_shown(id).expect("it is there"))
    }
}
