//! What there is to do, whichever way it comes: alone, with a batch, or after one.

use std::ops::RangeInclusive;

use intray::{
    job::{Backoff, BatchId, Line, Millis, Name, Skill},
    store::{Delay, Moment, NewMember, Routing, RoutingPatch, Task, TimeLimits},
};
use proptest::{
    collection::{SizeRange, vec},
    option::weighted,
    prelude::*,
    sample::{select, subsequence},
};

use crate::{
    chance::Theme,
    fixtures::{self, LOCKS, PAYLOADS, PRIORITIES, SKILLS, WORKERS, json, locks, name, skill, trace},
    walk::Walk,
};

#[derive(Debug, Clone)]
pub struct Work {
    /// Without its delay.
    task: Task,
    delay: Option<Wait>,
    expires: Option<Wait>,
    sla: Option<Wait>,
    /// Only with an SLA until a time.
    breached: Option<bool>,
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

pub fn work(theme: Theme) -> impl Strategy<Value = Work> {
    let delay =
        prop_oneof![select(&[1, 2_000, 60_000]).prop_map(Wait::For), select(&[-1, 0, 5_000]).prop_map(Wait::Until),];
    let names = prop_oneof![3 => Just(vec![]), 2 => subsequence(vec![0, 1, 2], 1..=3).prop_shuffle()];
    let numbers = (
        weighted(0.3, select(&[1_000, 20_000])),
        weighted(0.3, select(&[0, 1, 2])),
        weighted(0.3, backoff()),
        proptest::bool::weighted(0.1),
    );
    let limits = (weighted(0.2, limit()), weighted(0.1, limit()), weighted(0.5, any::<bool>()));
    let usual = (0..PAYLOADS.len(), weighted(0.15, delay), limits, names, numbers);
    (usual, routing(theme)).prop_map(
        |((payload, delay, (expires, sla, breached), names, (lease_ms, max_attempts, backoff, traced)), routing)| {
            let names: Vec<_> = names.into_iter().map(|n| LOCKS[n]).collect();
            let (payload, locks, traceparent) = (json(PAYLOADS[payload].0), locks(&names), trace(traced));
            let limits = TimeLimits::default();
            let task =
                Task { payload, delay: None, lease_ms, max_attempts, backoff, locks, traceparent, limits, routing };
            Work { task, delay, expires, sla, breached: breached.filter(|_| matches!(sla, Some(Wait::Until(_)))) }
        },
    )
}

/// Who may have a job, for two in three of a sequence about that.
fn routing(theme: Theme) -> BoxedStrategy<Option<Box<Routing>>> {
    match theme {
        Theme::Everything | Theme::FewJobs | Theme::Desk | Theme::Many => Just(None).boxed(),
        Theme::Routing | Theme::Lists => {
            let parts = (
                weighted(0.4, assignees()),
                weighted(0.3, excluded()),
                weighted(0.35, tag()),
                weighted(0.4, fallback()),
            );
            let routing = parts.prop_map(|(assignees, excluded, skill, fallback_ms)| {
                let (assignees, excluded) = (assignees.unwrap_or_default(), excluded.unwrap_or_default());
                let routing = Routing { assignees, excluded, skill, fallback_ms, overlap: 0 };
                (routing != Routing::default()).then(|| Box::new(routing))
            });
            routing.boxed()
        }
    }
}

/// What a call changes of it.
pub fn routing_patch(theme: Theme) -> BoxedStrategy<RoutingPatch> {
    match theme {
        Theme::Everything | Theme::FewJobs | Theme::Desk | Theme::Many => Just(RoutingPatch::default()).boxed(),
        Theme::Routing | Theme::Lists => {
            let assignees = weighted(0.4, weighted(0.6, assignees()));
            let excluded = weighted(0.3, weighted(0.6, excluded()));
            let parts =
                (assignees, excluded, weighted(0.3, weighted(0.6, tag())), weighted(0.2, weighted(0.8, fallback())));
            let patch =
                |(assignees, excluded, skill, fallback_ms)| RoutingPatch { assignees, excluded, skill, fallback_ms };
            parts.prop_map(patch).boxed()
        }
    }
}

fn names(number: impl Into<SizeRange>) -> impl Strategy<Value = Vec<Name>> {
    let names = subsequence(WORKERS.to_vec(), number).prop_shuffle();
    names.prop_map(|names| names.into_iter().filter_map(name).collect())
}

pub fn assignees() -> impl Strategy<Value = Vec<Name>> {
    names(1..=2)
}

fn excluded() -> impl Strategy<Value = Vec<Name>> {
    names(1..=2)
}

pub fn line() -> impl Strategy<Value = Line> {
    let worker = select(&WORKERS).prop_map(|to| Line::Worker(name(to).expect("a worker")));
    prop_oneof![3 => worker, 2 => tag().prop_map(Line::Skill)]
}

fn tag() -> impl Strategy<Value = Skill> {
    select(&SKILLS).prop_map(skill)
}

pub fn fallback() -> impl Strategy<Value = u32> {
    select(&[1_000, 3_000, 20_000])
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

pub fn members(theme: Theme, number: impl Into<SizeRange>) -> impl Strategy<Value = Vec<Member>> {
    vec((work(theme), weighted(0.4, priority())).prop_map(|(work, priority)| Member { work, priority }), number)
}

/// The jobs of a batch with an overlap.
pub fn equal_members(theme: Theme, number: RangeInclusive<u8>) -> impl Strategy<Value = Vec<Member>> {
    (work(theme), number).prop_map(|(mut work, number)| {
        work.task.locks.clear();
        work.task.routing.get_or_insert_default().overlap = number;
        vec![Member { work, priority: None }; number.into()]
    })
}

impl Work {
    pub fn build(&self, now: u64) -> Task {
        let delay = self.delay.map(|wait| match wait {
            Wait::For(ms) => Delay::For(ms),
            Wait::Until(ms) => Delay::Until(Millis(now.saturating_add_signed(ms.into()))),
        });
        let moment = |wait: Wait| wait.moment(now);
        let (expires, sla) = (self.expires.map(moment), self.sla.map(moment));
        let limits = TimeLimits { expires, sla, breached: self.breached };
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
