//! What there is to do, whichever way it comes: alone, with a batch, or behind one.

use intray::{
    job::{Backoff, BatchId, Millis},
    queue::{self, Delay, Task},
};
use proptest::{
    collection::{SizeRange, vec},
    option::weighted,
    prelude::*,
    sample::{select, subsequence},
};

use crate::{
    reference::{self, Said},
    walk::Walk,
    words::{self, LOCKS, PAYLOADS, PRIORITIES, TRACE, json, locks},
};

#[derive(Debug, Clone)]
pub struct Work {
    said: Said,
    delay: Option<Wait>,
}

#[derive(Debug, Clone, Copy)]
enum Wait {
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

/// One for the queue, and one for the model.
pub type Twins = (queue::NewMember, reference::NewMember);

/// Number of the key, and which body came with it.
#[derive(Debug, Clone, Copy)]
pub struct Idempotency {
    pub key: u8,
    pub body: u8,
}

pub fn work() -> impl Strategy<Value = Work> {
    let delay =
        prop_oneof![select(&[1, 2_000, 60_000]).prop_map(Wait::For), select(&[-1, 0, 5_000]).prop_map(Wait::Until),];
    let locks = prop_oneof![3 => Just(vec![]), 2 => subsequence(vec![0, 1, 2], 1..=3).prop_shuffle()];
    let numbers = (
        weighted(0.3, select(&[1_000, 20_000])),
        weighted(0.3, select(&[0, 1, 2])),
        weighted(0.3, backoff()),
        proptest::bool::weighted(0.1),
    );
    (0..PAYLOADS.len(), weighted(0.15, delay), locks, numbers).prop_map(
        |(payload, delay, locks, (lease_ms, max_attempts, backoff, traced))| {
            let (payload, locks) = (PAYLOADS[payload].0, locks.into_iter().map(|n| LOCKS[n]).collect());
            Work { said: Said { payload, due: 0, lease_ms, max_attempts, backoff, locks, traced }, delay }
        },
    )
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
    /// For both, at a time.
    pub fn told(&self, now: u64) -> (Task, Said) {
        let (delay, due) = match self.delay {
            None => (None, 0),
            Some(Wait::For(ms)) => (Some(Delay::For(ms)), now + u64::from(ms)),
            Some(Wait::Until(ms)) => {
                let at = now.saturating_add_signed(ms.into());
                (Some(Delay::Until(Millis(at))), at)
            }
        };
        let said = Said { due, ..self.said.clone() };
        let task = Task {
            payload: json(said.payload),
            delay,
            lease_ms: said.lease_ms,
            max_attempts: said.max_attempts,
            backoff: said.backoff,
            locks: locks(&said.locks),
            traceparent: said.traced.then(|| TRACE.to_owned()),
        };
        (task, said)
    }
}

impl Walk<'_> {
    /// For both. Only what is sent with an offset can be told from another call's.
    pub fn members(&self, members: &[Member], is_said: bool) -> Vec<Twins> {
        let member = |member: &Member| {
            let (task, said) = member.work.told(self.model.now);
            let sent = queue::NewMember { task, priority: member.priority.map(words::priority) };
            // Whoever traces it: the same call again is another span.
            let untraced = Task { traceparent: None, ..sent.task.clone() };
            let mark = is_said.then(|| format!("{untraced:?} {:?}", sent.priority));
            (sent, reference::NewMember { said, priority: member.priority, mark })
        };
        members.iter().map(member).collect()
    }

    pub fn know_members(&mut self, id: &BatchId) {
        let members = self.model.batches.get(&id.code).map(|batch| &batch.members[..]).unwrap_or_default();
        let new: Vec<_> = members.iter().filter(|code| !self.ids.contains(code)).copied().collect();
        self.ids.extend(new);
    }
}
