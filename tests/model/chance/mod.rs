//! How often what happens. Simpler things stand first: a sequence that fails is made smaller towards them.

mod parts;

use intray::job::State;
use proptest::{collection::vec, option::weighted, prelude::*, sample::select};

use self::parts::*;
use crate::{
    ops::{Append, Ask, Call, Caller, Handle, NewBatch, Op},
    words::PRIORITIES,
};

/// What a sequence is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theme {
    Everything,
    FewJobs,
    /// What people type, skip and come back to.
    Desk,
    /// Batches of hundreds.
    Many,
}

pub fn op(theme: Theme) -> BoxedStrategy<Op> {
    match theme {
        Theme::Everything => everything().boxed(),
        Theme::FewJobs => few_jobs().boxed(),
        Theme::Desk => desk().boxed(),
        Theme::Many => many().boxed(),
    }
}

/// With which a sequence begins.
pub fn start() -> impl Strategy<Value = Op> {
    prop_oneof![3 => vec(item(), 1..=3).prop_map(Op::Enqueue), 1 => batch().prop_map(Op::Batch)]
}

/// All that can happen, as often as it meets something.
fn everything() -> impl Strategy<Value = Op> {
    prop_oneof![
        40 => few(item()).prop_map(Op::Enqueue),
        60 => few(ask()).prop_map(Op::Reserve),
        24 => time().prop_map(Op::Pass),
        20 => few((handle(), 0..3_usize)).prop_map(Op::Complete),
        20 => few(leaving()).prop_map(Op::Abandon),
        16 => few(handle()).prop_map(Op::Fail),
        12 => few(staying()).prop_map(Op::Extend),
        8 => nth().prop_map(Op::Undo),
        8 => (withdrawn(), any::<bool>()).prop_map(|(job, force)| Op::Cancel { job, force }),
        4 => which(State::Reserved).prop_map(Op::ReleaseJob),
        2 => (0..3_usize).prop_map(Op::ReleaseWorker),
        6 => prop_oneof![which(State::Dead), which(State::Delayed)].prop_map(Op::RequeueJob),
        2 => Just(Op::RequeueAll),
        12 => (prop_oneof![which(State::Waiting), which(State::Blocked)], select(&PRIORITIES))
            .prop_map(|(job, priority)| Op::Reprioritize { job, priority }),
        2 => weighted(0.9, select(&State::ALL)).prop_map(Op::Purge),
        1 => Just(Op::PurgeByForce),
        8 => Just(Op::Sweep),
        1 => Just(Op::Retire),
        8 => setting().prop_map(Op::Set),
        12 => batch().prop_map(Op::Batch),
        12 => (nth(), append()).prop_map(|(batch, append)| Op::Append(batch, append)),
        4 => nth().prop_map(Op::Seal),
        3 => nth().prop_map(Op::CancelBatch),
        8 => look().prop_map(Op::Look),
    ]
}

/// Little comes in and nothing goes, so that the same few jobs are handed out again and again.
fn few_jobs() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => vec(item(), 1).prop_map(Op::Enqueue),
        50 => few(ask()).prop_map(Op::Reserve),
        30 => time_of_leases().prop_map(Op::Pass),
        8 => few((handle(), 0..3_usize)).prop_map(Op::Complete),
        36 => few(leaving()).prop_map(Op::Abandon),
        20 => few(handle()).prop_map(Op::Fail),
        16 => few(staying()).prop_map(Op::Extend),
        10 => nth().prop_map(Op::Undo),
        3 => (withdrawn(), Just(false)).prop_map(|(job, force)| Op::Cancel { job, force }),
        10 => which(State::Reserved).prop_map(Op::ReleaseJob),
        3 => (0..3_usize).prop_map(Op::ReleaseWorker),
        16 => prop_oneof![which(State::Dead), which(State::Delayed)].prop_map(Op::RequeueJob),
        8 => (which(State::Blocked), select(&PRIORITIES)).prop_map(|(job, priority)| Op::Reprioritize { job, priority }),
        10 => Just(Op::Sweep),
        8 => setting().prop_map(Op::Set),
        3 => batch().prop_map(Op::Batch),
        3 => (nth(), append()).prop_map(|(batch, append)| Op::Append(batch, append)),
        6 => look().prop_map(Op::Look),
    ]
}

/// People at a few jobs, who mostly mean what they hold.
fn desk() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => vec(item(), 1).prop_map(Op::Enqueue),
        50 => few(ask()).prop_map(Op::Reserve),
        40 => time_of_leases().prop_map(Op::Pass),
        8 => few((handle(), 0..3_usize)).prop_map(Op::Complete),
        48 => few(leaving()).prop_map(Op::Abandon),
        28 => few(staying()).prop_map(Op::Extend),
        24 => few(handle()).prop_map(Op::Fail),
        8 => nth().prop_map(Op::Undo),
        4 => (withdrawn(), any::<bool>()).prop_map(|(job, force)| Op::Cancel { job, force }),
        6 => which(State::Reserved).prop_map(Op::ReleaseJob),
        12 => which(State::Dead).prop_map(Op::RequeueJob),
        8 => Just(Op::Sweep),
        8 => setting().prop_map(Op::Set),
        4 => batch().prop_map(Op::Batch),
        3 => nth().prop_map(Op::CancelBatch),
        1 => weighted(0.9, select(&State::ALL)).prop_map(Op::Purge),
        4 => look().prop_map(Op::Look),
    ]
}

/// Batches that take more than one step of whatever is done to them.
fn many() -> impl Strategy<Value = Op> {
    let many = (prop_oneof![Just(None), select(&[Some(2), Some(130), Some(230)])], any::<bool>(), members(150..=450))
        .prop_map(|(concurrency, sealed, members)| {
            Op::Batch(NewBatch { concurrency, priority: 50, client: 0, sealed, members, idempotency: None })
        });
    let append = members(90..=220).prop_map(|members| Append::Behind { members, said: true });
    let ask = (1..=100_u32, select(&[1_000, 60_000])).prop_map(|(limit, lease_ms)| {
        let (lease_ms, call, caller) = (Some(lease_ms), Call::New, Caller::Hears);
        Op::Reserve(vec![Ask { worker: None, limit, lease_ms, id: None, aside: false, call, caller }])
    });
    prop_oneof![
        4 => ask,
        2 => few((nth().prop_map(Handle::Out), 0..3_usize)).prop_map(Op::Complete),
        2 => few(nth().prop_map(Handle::Out)).prop_map(Op::Fail),
        3 => time().prop_map(Op::Pass),
        2 => Just(Op::Sweep),
        1 => many,
        1 => (nth(), append).prop_map(|(batch, append)| Op::Append(batch, append)),
        1 => nth().prop_map(Op::Seal),
        1 => nth().prop_map(Op::CancelBatch),
        1 => Just(Op::RequeueAll),
        1 => look().prop_map(Op::Look),
    ]
}
