//! Limits on costly reads: how many run at once and how many bytes of answers are in memory, in total and per caller.
//! Permits are given to the callers in turn, so a caller with many reads does not delay the others.

#[cfg(test)]
mod tests;

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{sync::oneshot, time};

use crate::job::limits;

/// Reads of one kind; a cheap handle.
#[derive(Clone)]
pub struct Reads(Arc<SharedReads>);

struct SharedReads {
    bounds: ReadBounds,
    state: Mutex<ReadsState>,
}

/// The limits of one kind of reads.
#[derive(Debug, Clone, Copy)]
pub struct ReadBounds {
    pub at_once: usize,
    pub of_caller: usize,
    /// A permit expires after this time, even if its holder still has it.
    pub longest: Option<Duration>,
    /// Bytes of answers in memory, in total and per caller, and the bytes reserved for a read before its answer arrives.
    pub bytes: usize,
    pub bytes_of_caller: usize,
    pub bytes_of_read: usize,
}

#[derive(Default)]
struct ReadsState {
    taken: ReadUsage,
    callers: HashMap<Arc<str>, CallerReads>,
    /// Waiting callers, in turn.
    line: VecDeque<Arc<str>>,
}

/// Running reads, and bytes of answers in memory.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct ReadUsage {
    reads: usize,
    bytes: usize,
}

/// The reads of one caller.
#[derive(Default)]
struct CallerReads {
    taken: ReadUsage,
    waiting: VecDeque<oneshot::Sender<ReadPermit>>,
}

/// A permit to read, and then the memory of the answer. Dropping it returns both.
pub struct ReadPermit(Arc<Mutex<Option<HeldPermit>>>);

struct HeldPermit {
    reads: Reads,
    who: Arc<str>,
    taken: ReadUsage,
}

/// No permit was free in time.
#[derive(Debug)]
pub struct TooManyReads;

impl Reads {
    pub fn new(bounds: ReadBounds) -> Self {
        Self(Arc::new(SharedReads { bounds, state: Mutex::default() }))
    }

    /// Waits for a permit without a limit of time.
    pub async fn enter(&self, who: &Arc<str>) -> ReadPermit {
        loop {
            match self.ask(who, usize::MAX) {
                Ok(Ok(turn)) => return turn,
                Ok(Err(granted)) => {
                    if let Ok(turn) = granted.await {
                        return turn;
                    }
                }
                Err(TooManyReads) => {}
            }
        }
    }

    /// Waits for a permit for a limited time.
    ///
    /// # Errors
    /// When none is free in that time, or too many reads of this caller wait already.
    pub async fn enter_soon(&self, who: &Arc<str>) -> Result<ReadPermit, TooManyReads> {
        match self.ask(who, limits::READS_WAITING)? {
            Ok(turn) => Ok(turn),
            Err(granted) => {
                let in_time = time::timeout(Duration::from_millis(limits::READ_WAIT_MS), granted).await;
                in_time.ok().and_then(Result::ok).ok_or(TooManyReads)
            }
        }
    }

    /// A permit at once, or the channel that will deliver one.
    fn ask(
        &self,
        who: &Arc<str>,
        most: usize,
    ) -> Result<Result<ReadPermit, oneshot::Receiver<ReadPermit>>, TooManyReads> {
        let mut state = self.0.state.lock();
        let ReadsState { taken, callers, line } = &mut *state;
        let calls = callers.entry(who.clone()).or_default();
        if calls.waiting.is_empty() && self.0.bounds.allow(taken, &calls.taken) {
            self.0.bounds.take(taken, &mut calls.taken);
            drop(state);
            return Ok(Ok(self.turn(who.clone())));
        }
        if calls.waiting.len() >= most {
            calls.waiting.retain(|waiter| !waiter.is_closed());
        }
        if calls.waiting.len() >= most {
            return Err(TooManyReads);
        }
        let (sender, granted) = oneshot::channel();
        let is_first = calls.waiting.is_empty();
        calls.waiting.push_back(sender);
        if is_first {
            line.push_back(who.clone());
        }
        Ok(Err(granted))
    }

    fn turn(&self, who: Arc<str>) -> ReadPermit {
        let taken = ReadUsage { reads: 1, bytes: self.0.bounds.bytes_of_read };
        let held = Arc::new(Mutex::new(Some(HeldPermit { reads: self.clone(), who, taken })));
        if let Some(longest) = self.0.bounds.longest {
            let lent = Arc::downgrade(&held);
            tokio::spawn(async move {
                time::sleep(longest).await;
                lent.upgrade().map(ReadPermit).map(drop)
            });
        }
        ReadPermit(held)
    }

    /// Gives free permits to the next callers.
    fn grant_next(&self) {
        loop {
            let next = self.0.state.lock().next(&self.0.bounds);
            let Some((who, waiter)) = next else { return };
            // If the waiter has just left, the permit is dropped and returns here.
            drop(waiter.send(self.turn(who)));
        }
    }
}

impl ReadBounds {
    pub(super) const PAGES: Self = Self {
        at_once: limits::READS,
        of_caller: limits::READS_OF_CALLER,
        longest: None,
        bytes: limits::ANSWERS,
        bytes_of_caller: limits::ANSWERS_OF_CALLER,
        bytes_of_read: limits::ANSWER,
    };
    pub(super) const LOOKS: Self = Self {
        at_once: limits::LOOKS,
        of_caller: limits::LOOKS_OF_CALLER,
        longest: None,
        bytes: limits::SMALL_ANSWERS,
        bytes_of_caller: limits::SMALL_ANSWERS_OF_CALLER,
        bytes_of_read: limits::SMALL_ANSWER,
    };
    /// A shared answer is kept until all callers have taken it.
    pub(super) const SHARED_PAGES: Self =
        Self { bytes: limits::SMALL_ANSWERS, bytes_of_caller: limits::SMALL_ANSWERS_OF_CALLER, ..Self::PAGES };
    pub(super) const CATCH_UPS: Self = Self {
        at_once: limits::CATCH_UPS,
        of_caller: limits::CATCH_UPS_OF_CALLER,
        longest: Some(Duration::from_millis(limits::CATCH_UP_MS)),
        bytes: 0,
        bytes_of_caller: 0,
        bytes_of_read: 0,
    };

    fn allow(&self, all: &ReadUsage, own: &ReadUsage) -> bool {
        all.reads < self.at_once
            && own.reads < self.of_caller
            && all.bytes + self.bytes_of_read <= self.bytes
            && own.bytes + self.bytes_of_read <= self.bytes_of_caller
    }

    fn take(&self, all: &mut ReadUsage, own: &mut ReadUsage) {
        for taken in [all, own] {
            taken.reads += 1;
            taken.bytes += self.bytes_of_read;
        }
    }
}

impl ReadsState {
    /// Takes the next waiter that the limits allow, and counts its usage.
    fn next(&mut self, bounds: &ReadBounds) -> Option<(Arc<str>, oneshot::Sender<ReadPermit>)> {
        for _ in 0..self.line.len() {
            let who = self.line.pop_front()?;
            let Some(calls) = self.callers.get_mut(&who) else { continue };
            let mut waiter = None;
            while waiter.is_none() && !calls.waiting.is_empty() && bounds.allow(&self.taken, &calls.taken) {
                waiter = calls.waiting.pop_front().filter(|waiter| !waiter.is_closed());
            }
            if waiter.is_some() {
                bounds.take(&mut self.taken, &mut calls.taken);
            }
            if !calls.waiting.is_empty() {
                self.line.push_back(who.clone());
            } else if calls.taken == ReadUsage::default() {
                self.callers.remove(&who);
            }
            if let Some(waiter) = waiter {
                return Some((who, waiter));
            }
        }
        None
    }

    /// Returns usage.
    fn give_back(&mut self, who: &Arc<str>, less: ReadUsage) {
        let own = self.callers.get_mut(who);
        let (own, is_alone) = own.map_or((None, false), |calls| (Some(&mut calls.taken), calls.waiting.is_empty()));
        for taken in [Some(&mut self.taken), own].into_iter().flatten() {
            taken.reads -= less.reads;
            taken.bytes -= less.bytes;
        }
        if is_alone && self.callers.get(who).is_some_and(|calls| calls.taken == ReadUsage::default()) {
            self.callers.remove(who);
        }
    }
}

impl ReadPermit {
    /// Ends the read. Its answer now takes this many bytes; a small one is not counted.
    pub fn finish_read(&self, bytes: usize) {
        let bytes = if bytes <= limits::SMALL_ANSWER { 0 } else { bytes };
        let mut held = self.0.lock();
        let Some(permit) = held.as_mut() else { return };
        let (reads, who) = (permit.reads.clone(), permit.who.clone());
        {
            let mut state = reads.0.state.lock();
            let more = ReadUsage { reads: 0, bytes };
            state.taken.bytes += more.bytes;
            if let Some(calls) = state.callers.get_mut(&who) {
                calls.taken.bytes += more.bytes;
            }
            state.give_back(&who, std::mem::replace(&mut permit.taken, more));
        }
        drop(held);
        reads.grant_next();
    }
}

impl Drop for ReadPermit {
    fn drop(&mut self) {
        let permit = self.0.lock().take();
        if let Some(HeldPermit { reads, who, taken }) = permit {
            reads.0.state.lock().give_back(&who, taken);
            reads.grant_next();
        }
    }
}
