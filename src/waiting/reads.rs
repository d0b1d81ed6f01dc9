//! Limits on costly reads: how many run at once and how many bytes of answers are in memory, in total, of a payer and of each of
//! the payer's credentials. Permits are given to them in turn, so a caller with many reads does not delay the others.

mod account;
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{sync::oneshot, time};

use self::account::{Account, QueuedRead, ReadUsage};
use crate::{job::limits, shares};

/// Reads of one kind; a cheap handle.
#[derive(Clone)]
pub struct Reads(Arc<SharedReads>);

struct SharedReads {
    bounds: ReadBounds,
    all: Mutex<Account>,
}

/// Who reads: the payer, and the credential, which has a part of what its payer has.
#[derive(Debug, Clone)]
pub struct ReaderId([Arc<str>; 2]);

/// The limits of one kind of reads.
#[derive(Debug, Clone, Copy)]
pub struct ReadBounds {
    pub at_once: usize,
    pub of_caller: usize,
    /// A permit expires after this time, even if its holder still has it.
    pub longest: Option<Duration>,
    /// Bytes of answers in memory, and the bytes reserved for a read before its answer arrives. A part is for callers who hold
    /// little, so that no caller has all.
    pub bytes: usize,
    pub bytes_of_read: usize,
}

/// A permit to read, and then the memory of the answer. Dropping it returns both.
pub struct ReadPermit(Arc<Mutex<Option<HeldPermit>>>);

struct HeldPermit {
    reads: Reads,
    who: ReaderId,
    taken: ReadUsage,
}

/// No permit was free in time.
#[derive(Debug)]
pub struct TooManyReads;

impl ReaderId {
    pub fn new(payer: Arc<str>, credential: Arc<str>) -> Self {
        Self([payer, credential])
    }

    /// A key is its own payer.
    fn path(&self) -> &[Arc<str>] {
        let [payer, credential] = &self.0;
        if payer == credential { &self.0[..1] } else { &self.0 }
    }
}

impl Reads {
    pub fn new(bounds: ReadBounds) -> Self {
        Self(Arc::new(SharedReads { bounds, all: Mutex::default() }))
    }

    /// Waits for a permit without a limit of time.
    pub async fn enter(&self, who: &ReaderId) -> ReadPermit {
        loop {
            match self.ask(who, usize::MAX) {
                Ok(Ok(permit)) => return permit,
                Ok(Err(granted)) => {
                    if let Ok(permit) = granted.await {
                        return permit;
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
    pub async fn enter_soon(&self, who: &ReaderId) -> Result<ReadPermit, TooManyReads> {
        self.enter_within(who, limits::READS_WAITING, limits::READ_WAIT_MS).await
    }

    /// The same for a call whose wait has ended: many may end together.
    ///
    /// # Errors
    /// When none is free in that time.
    pub async fn enter_after_wait(&self, who: &ReaderId) -> Result<ReadPermit, TooManyReads> {
        self.enter_within(who, usize::MAX, limits::READ_AFTER_WAIT_MS).await
    }

    async fn enter_within(&self, who: &ReaderId, max: usize, ms: u64) -> Result<ReadPermit, TooManyReads> {
        match self.ask(who, max)? {
            Ok(permit) => Ok(permit),
            Err(granted) => {
                let in_time = time::timeout(Duration::from_millis(ms), granted).await;
                in_time.ok().and_then(Result::ok).ok_or(TooManyReads)
            }
        }
    }

    /// A permit at once, or the channel that will deliver one.
    fn ask(
        &self,
        who: &ReaderId,
        max: usize,
    ) -> Result<Result<ReadPermit, oneshot::Receiver<ReadPermit>>, TooManyReads> {
        let (mut all, path) = (self.0.all.lock(), who.path());
        let waiting = all.count_waiters(path, max);
        if waiting == 0 && all.allows(&self.0.bounds, path) {
            all.take(path, self.0.bounds.usage());
            drop(all);
            return Ok(Ok(self.issue(who.clone())));
        }
        if waiting >= max {
            return Err(TooManyReads);
        }
        let (granted, receiver) = oneshot::channel();
        all.put_in_line(path, QueuedRead { who: who.clone(), granted });
        Ok(Err(receiver))
    }

    fn issue(&self, who: ReaderId) -> ReadPermit {
        let held = HeldPermit { reads: self.clone(), who, taken: self.0.bounds.usage() };
        let held = Arc::new(Mutex::new(Some(held)));
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
            let next = self.0.all.lock().next(&self.0.bounds);
            let Some(QueuedRead { who, granted }) = next else { return };
            // If the waiter has just left, the permit is dropped and returns here.
            drop(granted.send(self.issue(who)));
        }
    }
}

impl ReadBounds {
    pub(super) const PAGES: Self = Self {
        at_once: limits::READS,
        of_caller: limits::READS_OF_CALLER,
        longest: None,
        bytes: limits::ANSWERS,
        bytes_of_read: limits::ANSWER,
    };
    pub(super) const LOOKS: Self = Self {
        at_once: limits::LOOKS,
        of_caller: limits::LOOKS_OF_CALLER,
        longest: None,
        bytes: limits::SMALL_ANSWERS,
        bytes_of_read: limits::SMALL_ANSWER,
    };
    /// A shared answer is kept until all callers have taken it.
    pub(super) const SHARED_PAGES: Self = Self { bytes: limits::SMALL_ANSWERS, ..Self::PAGES };
    pub(super) const CATCH_UPS: Self = Self {
        at_once: limits::CATCH_UPS,
        of_caller: limits::CATCH_UPS_OF_CALLER,
        longest: Some(Duration::from_millis(limits::CATCH_UP_MS)),
        bytes: 0,
        bytes_of_read: 0,
    };

    /// What a read takes until its answer arrives.
    fn usage(&self) -> ReadUsage {
        ReadUsage { reads: 1, bytes: self.bytes_of_read }
    }

    /// Whether one who has taken `own` of what is taken of an account may read once more.
    fn allow(&self, all: ReadUsage, own: ReadUsage) -> bool {
        let is_open = |all, own, more, max| shares::is_open(all, own, more, max, || true);
        own.reads < self.of_caller
            && is_open(all.reads, own.reads, 1, self.at_once)
            && is_open(all.bytes, own.bytes, self.bytes_of_read, self.bytes)
    }

    /// The limits inside the account of one payer, whose credentials share it by the same rule.
    fn of_payer(&self) -> Self {
        Self { at_once: self.of_caller, bytes: shares::common(self.bytes), ..*self }
    }
}

impl ReadPermit {
    /// Ends the read. Its answer now takes this many bytes; a small one is not counted.
    pub fn finish_read(&self, bytes: usize) {
        let bytes = if bytes <= limits::SMALL_ANSWER { 0 } else { bytes };
        let mut held = self.0.lock();
        let Some(permit) = held.as_mut() else { return };
        let (reads, answer) = (permit.reads.clone(), ReadUsage { reads: 0, bytes });
        {
            let mut all = reads.0.all.lock();
            all.take(permit.who.path(), answer);
            all.give_back(permit.who.path(), std::mem::replace(&mut permit.taken, answer));
        }
        drop(held);
        reads.grant_next();
    }
}

impl Drop for ReadPermit {
    fn drop(&mut self) {
        let permit = self.0.lock().take();
        if let Some(HeldPermit { reads, who, taken }) = permit {
            reads.0.all.lock().give_back(who.path(), taken);
            reads.grant_next();
        }
    }
}
