//! Jobs, reservations and batches, named by where they stand among those that there are when an operation runs: so a
//! sequence with a piece cut out is a sequence still.

use intray::{
    job::{BatchId, BatchState, Code, JobId, Reservation, State},
    store::{derived_batch, derived_id},
};
use proptest::{prelude::*, sample::select};

use crate::{chance::Theme, reference::Batch, walk::Walk};

/// The n-th of a list whose length is known later: its share of 65,536.
#[derive(Clone, Copy)]
pub struct Nth(pub u16);

impl std::fmt::Debug for Nth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.4}", f64::from(self.0) / 65_536.0)
    }
}

impl Nth {
    pub const LAST: Self = Self(u16::MAX);

    pub fn of<T>(self, list: &[T]) -> Option<&T> {
        list.get((list.len() * usize::from(self.0)) >> 16)
    }
}

pub fn nth() -> impl Strategy<Value = Nth> {
    any::<u16>().prop_map(Nth)
}

/// A job: of one state if there are any, else of all that ever were; rarely one that never was.
#[derive(Debug, Clone, Copy)]
pub enum Which {
    Of(State, Nth),
    Any(Nth),
    Unknown,
    /// Chosen by an operation that names it again and again; it is not drawn.
    This(Code),
}

pub fn which(state: State) -> impl Strategy<Value = Which> {
    prop_oneof![
        8 => nth().prop_map(move |nth| Which::Of(state, nth)),
        4 => nth().prop_map(Which::Any),
        4 => (select(&State::ALL), nth()).prop_map(|(state, nth)| Which::Of(state, nth)),
        1 => Just(Which::Unknown),
    ]
}

/// A reservation: one that is out if there are any, else one that ever was; rarely one that never was.
#[derive(Debug, Clone, Copy)]
pub enum Handle {
    Out(Nth),
    Any(Nth),
    /// A job, with a secret that was never issued.
    Forged(Nth),
}

pub fn handle(theme: Theme) -> BoxedStrategy<Handle> {
    let out = nth().prop_map(Handle::Out);
    match theme {
        Theme::Many => out.boxed(),
        Theme::Everything | Theme::Lists | Theme::FewJobs | Theme::Desk | Theme::Routing => {
            prop_oneof![14 => out, 8 => nth().prop_map(Handle::Any), 1 => nth().prop_map(Handle::Forged)].boxed()
        }
    }
}

impl Walk<'_> {
    pub fn which(&self, which: Which) -> JobId {
        let code = match which {
            Which::Unknown => None,
            Which::This(code) => Some(code),
            Which::Any(nth) => nth.of(&self.ids).copied(),
            Which::Of(state, nth) => {
                nth.of(&self.model.in_state(state)).copied().or_else(|| nth.of(&self.ids).copied())
            }
        };
        let id = code.map_or_else(|| self.unknown(), |code| JobId { queue: self.real.queue.clone(), code });
        self.note(|| format!("  {}", self.short(id.code)));
        id
    }

    fn unknown(&self) -> JobId {
        derived_id(self.real.queue.clone(), &[b"unknown"])
    }

    pub fn handle(&self, handle: Handle) -> Reservation {
        let is_out = |(id, secret): &&(Code, Code)| self.model.jobs.get(id).is_some_and(|job| job.is_held_by(secret));
        let given = match handle {
            Handle::Out(nth) => {
                let out: Vec<_> = self.given.iter().filter(is_out).copied().collect();
                nth.of(&out).or_else(|| nth.of(&self.given)).copied()
            }
            Handle::Any(nth) => nth.of(&self.given).copied(),
            Handle::Forged(nth) => nth.of(&self.ids).map(|id| (*id, *id)),
        };
        let (code, secret) = given.unwrap_or_else(|| (self.unknown().code, self.unknown().code));
        self.note(|| format!("  {}.{}", self.short(code), &secret.as_str()[20..]));
        Reservation { job: JobId { queue: self.real.queue.clone(), code }, secret }
    }

    /// Mostly one that is there, now and then one that was.
    pub fn nth_batch(&self, nth: Nth) -> BatchId {
        self.pick_batch(nth, |_| true)
    }

    /// Mostly one that takes more.
    pub fn nth_open(&self, nth: Nth) -> BatchId {
        self.pick_batch(nth, |batch| batch.state == BatchState::Open)
    }

    fn pick_batch(&self, nth: Nth, fits: impl Fn(&Batch) -> bool) -> BatchId {
        let unknown = || derived_batch(self.real.queue.clone(), &[b"unknown"]);
        let is_there = |id: &&BatchId| self.model.batches.get(&id.code).is_some_and(&fits);
        let there: Vec<_> = self.batches.iter().filter(is_there).collect();
        let id = if nth.0.is_multiple_of(8) { nth.of(&self.batches) } else { nth.of(&there).copied() };
        let id = id.or_else(|| nth.of(&self.batches)).cloned().unwrap_or_else(unknown);
        self.note(|| format!("  batch {}", &id.code.as_str()[..6]));
        id
    }
}
