//! What there is to do, whichever way it comes: alone, with a batch, or behind one.

use intray::{
    job::{Backoff, BatchId, Millis},
    store::{Delay, Moment, NewMember, Task, TimeLimits},
};
use proptest::{
    collection::{SizeRange, vec},
    option::weighted,
    prelude::*,
    sample::{select, subsequence},
};

use crate::{
    fixtures::{self, LOCKS, PAYLOADS, PRIORITIES, json, locks, trace},
    walk::Walk,
};

#[derive(Debug, Clone)]
pub struct Work {
    /// Without its delay.
    task: Task,
    delay: Option<Wait>,
    expires: Option<Wait>,
    sla: Option<Wait>,
}

#[derive(Debug, Clone, Copy)]
pub enum Wait {
    For(u32),
    /// From now.
    Until(i32),
}

/// A job of a batch.
#[derive(Debug, Clone)]
pub struct Member {
    work: Work,
    priority: Option<u8>,
}

/// Number of the key, and which body came with it.
#[derive(Debug, Clone, Copy)]
pub struct Idempotency {
    pub key: u8,
    pub body: u8,
}

pub fn work() -> impl Strategy<Value = Work> {
    let delay =
        prop_oneof![select(&[1, 2_000, 60_000]).prop_map(Wait::For), select(&[-1, 0, 5_000]).prop_map(Wait::Until),];
    let names = prop_oneof![3 => Just(vec![]), 2 => subsequence(vec![0, 1, 2], 1..=3).prop_shuffle()];
    let numbers = (
        weighted(0.3, select(&[1_000, 20_000])),
        weighted(0.3, select(&[0, 1, 2])),
        weighted(0.3, backoff()),
        proptest::bool::weighted(0.1),
    );
    let limits = (weighted(0.2, limit()), weighted(0.1, limit()));
    (0..PAYLOADS.len(), weighted(0.15, delay), limits, names, numbers).prop_map(
        |(payload, delay, (expires, sla), names, (lease_ms, max_attempts, backoff, traced))| {
            let names: Vec<_> = names.into_iter().map(|n| LOCKS[n]).collect();
            let (payload, locks, traceparent) = (json(PAYLOADS[payload].0), locks(&names), trace(traced));
            let limits = TimeLimits::default();
            let task = Task { payload, delay: None, lease_ms, max_attempts, backoff, locks, traceparent, limits };
            Work { task, delay, expires, sla }
        },
    )
}

/// By when a job has ended or should have.
pub fn limit() -> impl Strategy<Value = Wait> {
    prop_oneof![
        6 => select(&[1_000, 3_000, 20_000, 70_000]).prop_map(Wait::For),
        3 => select(&[0, 1, 2_000, 30_000]).prop_map(Wait::Until),
    ]
}

impl Wait {
    pub fn moment(self, now: u64) -> Moment {
        match self {
            Self::For(ms) => Moment::In(ms),
            Self::Until(ms) => Moment::At(Millis(now.saturating_add_signed(ms.into()))),
        }
    }
}

pub fn backoff() -> impl Strategy<Value = Backoff> {
    select(&[
        Backoff::None,
        Backoff::Fixed { delay_ms: 3_000 },
        Backoff::Exponential { delay_ms: 1_000, max_ms: 3_000 },
    ])
}

pub fn priority() -> impl Strategy<Value = u8> {
    prop_oneof![3 => Just(PRIORITIES[0]), 2 => select(&PRIORITIES)]
}

pub fn idempotency() -> impl Strategy<Value = Option<Idempotency>> {
    let body = prop_oneof![5 => Just(1_u8), 1 => Just(2)];
    weighted(0.3, (0..3_u8, body).prop_map(|(key, body)| Idempotency { key, body }))
}

pub fn members(number: impl Into<SizeRange>) -> impl Strategy<Value = Vec<Member>> {
    vec((work(), weighted(0.4, priority())).prop_map(|(work, priority)| Member { work, priority }), number)
}

impl Work {
    pub fn build(&self, now: u64) -> Task {
        let delay = self.delay.map(|wait| match wait {
            Wait::For(ms) => Delay::For(ms),
            Wait::Until(ms) => Delay::Until(Millis(now.saturating_add_signed(ms.into()))),
        });
        let moment = |wait: Wait| wait.moment(now);
        let limits = TimeLimits { expires: self.expires.map(moment), sla: self.sla.map(moment) };
        Task { delay, limits, ..self.task.clone() }
    }
}

impl Walk<'_> {
    pub fn members(&self, members: &[Member]) -> Vec<NewMember> {
        let member = |member: &Member| NewMember {
            task: member.work.build(self.model.now),
            priority: member.priority.map(fixtures::priority),
        };
        members.iter().map(member).collect()
    }

    pub fn know_members(&mut self, id: &BatchId) {
        let members = self.model.batches.get(&id.code).map(|batch| &batch.members[..]).unwrap_or_default();
        let new: Vec<_> = members.iter().filter(|code| !self.ids.contains(code)).copied().collect();
        self.ids.extend(new);
    }
}
