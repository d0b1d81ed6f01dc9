//! The parts of operations.

use intray::job::{Backoff, State};
use proptest::{
    collection::{SizeRange, vec},
    option::weighted,
    prelude::*,
    sample::{select, subsequence},
};

use crate::{
    ops::{
        Append, Ask, Call, Caller, Handle, Idempotency, Item, Leaving, Look, Member, NewBatch, Nth, Same, Setting,
        Staying, Time, Wait, When, Which, Work,
    },
    words::{DRAFTS, PRIORITIES},
};

/// Mostly one, sometimes up to three.
pub(super) fn few<T: std::fmt::Debug + Clone>(
    one: impl Strategy<Value = T> + 'static,
) -> impl Strategy<Value = Vec<T>> {
    let one = one.boxed();
    prop_oneof![3 => vec(one.clone(), 1), 1 => vec(one, 2..=3)]
}

pub(super) fn nth() -> impl Strategy<Value = Nth> {
    any::<u16>().prop_map(Nth)
}

pub(super) fn which(state: State) -> impl Strategy<Value = Which> {
    prop_oneof![
        8 => nth().prop_map(move |nth| Which::Of(state, nth)),
        4 => nth().prop_map(Which::Any),
        4 => (select(&State::ALL), nth()).prop_map(|(state, nth)| Which::Of(state, nth)),
        1 => Just(Which::Unknown),
    ]
}

/// A job for a cancel.
pub(super) fn withdrawn() -> impl Strategy<Value = Which> {
    prop_oneof![which(State::Waiting), which(State::Reserved), which(State::Blocked)]
}

pub(super) fn handle() -> impl Strategy<Value = Handle> {
    prop_oneof![
        14 => nth().prop_map(Handle::Out),
        8 => nth().prop_map(Handle::Any),
        1 => nth().prop_map(Handle::Forged),
    ]
}

fn draft() -> impl Strategy<Value = Option<usize>> {
    weighted(0.4, prop_oneof![1 => Just(0), 4 => 1..DRAFTS.len()])
}

pub(super) fn staying() -> impl Strategy<Value = Staying> {
    (handle(), weighted(0.5, select(&[1_000, 60_000])), draft()).prop_map(|(handle, lease_ms, draft)| Staying {
        handle,
        lease_ms,
        draft,
    })
}

pub(super) fn leaving() -> impl Strategy<Value = Leaving> {
    let when = prop_oneof![
        8 => Just(When::Now),
        2 => select(&[1, 5_000]).prop_map(When::Delay),
        8 => select(&[0, 1, 100, 1_500, 50_000]).prop_map(When::Grace),
    ];
    let resumes = weighted(0.3, prop_oneof![3 => Just(0), 2 => Just(-1), 1 => Just(1)]);
    (handle(), when, proptest::bool::weighted(0.4), resumes, draft())
        .prop_map(|(handle, when, skip, resumes, draft)| Leaving { handle, when, skip, resumes, draft })
}

pub(super) fn work() -> impl Strategy<Value = Work> {
    let delay =
        prop_oneof![select(&[1, 2_000, 60_000]).prop_map(Wait::For), select(&[-1, 0, 5_000]).prop_map(Wait::Until),];
    let locks = prop_oneof![3 => Just(vec![]), 2 => subsequence(vec![0, 1, 2], 1..=3).prop_shuffle()];
    let numbers = (
        weighted(0.3, select(&[1_000, 20_000])),
        weighted(0.3, select(&[0, 1, 2])),
        weighted(0.3, backoff()),
        proptest::bool::weighted(0.1),
    );
    (0..4_usize, weighted(0.15, delay), locks, numbers).prop_map(
        |(payload, delay, locks, (lease_ms, max_attempts, backoff, traced))| Work {
            payload,
            delay,
            lease_ms,
            max_attempts,
            backoff,
            locks,
            traced,
        },
    )
}

pub(super) fn priority() -> impl Strategy<Value = u8> {
    prop_oneof![3 => Just(PRIORITIES[0]), 2 => select(&PRIORITIES)]
}

pub(super) fn idempotency() -> impl Strategy<Value = Option<Idempotency>> {
    let body = prop_oneof![5 => Just(1_u8), 1 => Just(2)];
    weighted(0.3, (0..3_u8, body).prop_map(|(key, body)| Idempotency { key, body }))
}

pub(super) fn item() -> impl Strategy<Value = Item> {
    let dedupe = prop_oneof![
        3 => Just(Same::Off),
        3 => Just(Same::Setting),
        1 => Just(Same::Payload),
        1 => (0..2_usize).prop_map(Same::Key),
    ];
    (work(), priority(), 0..3_usize, dedupe, idempotency())
        .prop_map(|(work, priority, client, dedupe, idempotency)| Item { work, priority, client, dedupe, idempotency })
}

pub(super) fn members(number: impl Into<SizeRange>) -> impl Strategy<Value = Vec<Member>> {
    vec((work(), weighted(0.4, priority())).prop_map(|(work, priority)| Member { work, priority }), number)
}

pub(super) fn batch() -> impl Strategy<Value = NewBatch> {
    let concurrency = weighted(0.6, 1..=2_u32);
    (concurrency, priority(), 0..3_usize, any::<bool>(), members(0..=4), idempotency()).prop_map(
        |(concurrency, priority, client, sealed, members, idempotency)| NewBatch {
            concurrency,
            priority,
            client,
            sealed,
            members,
            idempotency,
        },
    )
}

pub(super) fn append() -> impl Strategy<Value = Append> {
    prop_oneof![
        4 => (members(1..=3), proptest::bool::weighted(0.7)).prop_map(|(members, said)| Append::Behind { members, said }),
        1 => (members(1..=3), 0..6_u32).prop_map(|(members, offset)| Append::From { members, offset }),
        3 => nth().prop_map(Append::Again),
    ]
}

pub(super) fn backoff() -> impl Strategy<Value = Backoff> {
    select(&[
        Backoff::None,
        Backoff::Fixed { delay_ms: 3_000 },
        Backoff::Exponential { delay_ms: 1_000, max_ms: 3_000 },
    ])
}

pub(super) fn ask() -> impl Strategy<Value = Ask> {
    let caller = prop_oneof![6 => Just(Caller::Hears), 2 => Just(Caller::Unclear), 1 => Just(Caller::Gone)];
    let call = prop_oneof![8 => Just(Call::New), 1 => nth().prop_map(Call::Again)];
    let lease = weighted(0.4, select(&[1_000, 20_000, 60_000]));
    let who = (weighted(0.7, 0..3_usize), proptest::bool::weighted(0.1));
    (who, 1..=3_u32, lease, weighted(0.15, which(State::Waiting)), call, caller).prop_map(
        |((worker, aside), limit, lease_ms, id, call, caller)| Ask { worker, limit, lease_ms, id, aside, call, caller },
    )
}

/// To what comes next, mostly: the smaller of two shares.
fn moment() -> impl Strategy<Value = Time> {
    let nth = (any::<u16>(), any::<u16>()).prop_map(|(a, b)| Nth(a.min(b)));
    (nth, select(&[0, 0, -1, 1])).prop_map(|(nth, off)| Time::Moment(nth, off))
}

pub(super) fn time() -> impl Strategy<Value = Time> {
    prop_oneof![
        12 => (1..3_000_u32).prop_map(Time::Ms),
        20 => moment(),
        1 => Just(Time::Hour),
        1 => Just(Time::Day),
    ]
}

/// Nothing so long that all would be forgotten.
pub(super) fn time_of_leases() -> impl Strategy<Value = Time> {
    prop_oneof![(1..3_000_u32).prop_map(Time::Ms), moment()]
}

pub(super) fn setting() -> impl Strategy<Value = Setting> {
    prop_oneof![
        3 => weighted(0.4, Just(true)).prop_map(Setting::Paused),
        1 => weighted(0.7, Just(10_000)).prop_map(Setting::LeaseMs),
        2 => weighted(0.7, select(&[25_000, 0])).prop_map(Setting::MaxHoldMs),
        2 => weighted(0.7, select(&[1, 2])).prop_map(Setting::MaxAttempts),
        1 => weighted(0.7, backoff()).prop_map(Setting::Backoff),
        1 => weighted(0.7, Just(false)).prop_map(Setting::Dedupe),
        6 => weighted(0.8, select(&[0, 2, 3])).prop_map(Setting::WorkerLimit),
        2 => weighted(0.6, Just(true)).prop_map(Setting::ShareDrafts),
        1 => weighted(0.7, Just(10_000)).prop_map(Setting::RetentionMs),
        1 => weighted(0.5, select(&[0, 2])).prop_map(Setting::RetentionMax),
        2 => weighted(0.5, select(&[6, 4])).prop_map(Setting::MaxJobs),
    ]
}

pub(super) fn look() -> impl Strategy<Value = Look> {
    prop_oneof![
        Just(Look::Queue),
        which(State::Reserved).prop_map(Look::Job),
        (select(&State::ALL), 0..3_usize, weighted(0.2, 0..3_usize), 1..4_u32)
            .prop_map(|(state, client, worker, limit)| Look::List { state, client, worker, limit }),
        (1..4_u32).prop_map(|limit| Look::Holders { limit }),
        (0..3_usize).prop_map(Look::Reservations),
        (weighted(0.4, 0..3_usize), 1..4_u32).prop_map(|(lock, limit)| Look::Locks { lock, limit }),
        nth().prop_map(Look::Batch),
        (1..4_u32).prop_map(|limit| Look::Batches { limit }),
        (nth(), 1..4_u32).prop_map(|(batch, limit)| Look::Results { batch, limit }),
        (nth(), select(&State::ALL)).prop_map(|(batch, state)| Look::Members(batch, state)),
    ]
}
