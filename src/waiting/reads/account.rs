//! What is taken, and who waits: a tree of all reads, the payers, and the credentials of each payer.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use tokio::sync::oneshot;

use super::{ReadBounds, ReadPermit, ReaderId};

/// Running reads, and bytes of answers in memory.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReadUsage {
    pub(super) reads: usize,
    pub(super) bytes: usize,
}

pub(super) struct QueuedRead {
    pub(super) who: ReaderId,
    pub(super) granted: oneshot::Sender<ReadPermit>,
}

#[derive(Default)]
pub(super) struct Account {
    pub(super) taken: ReadUsage,
    members: HashMap<Arc<str>, Self>,
    /// Members with waiters, in turn.
    line: VecDeque<Arc<str>>,
    is_in_line: bool,
    /// Its own waiters, if it has no members.
    waiting: VecDeque<QueuedRead>,
}

impl Account {
    /// Whether the limits of each account on this path allow one more read.
    pub(super) fn allows(&self, bounds: &ReadBounds, path: &[Arc<str>]) -> bool {
        let Some((first, rest)) = path.split_first() else { return true };
        let member = self.members.get(first);
        bounds.allow(self.taken, member.map_or_else(ReadUsage::default, |member| member.taken))
            && member.is_none_or(|member| member.allows(&bounds.of_payer(), rest))
    }

    /// The waiters at the end of this path; those who have left do not count if that makes `max` of them.
    pub(super) fn count_waiters(&mut self, path: &[Arc<str>], max: usize) -> usize {
        match path.split_first() {
            Some((first, rest)) => self.members.get_mut(first).map_or(0, |member| member.count_waiters(rest, max)),
            None => {
                if self.waiting.len() >= max {
                    self.waiting.retain(|waiter| !waiter.granted.is_closed());
                }
                self.waiting.len()
            }
        }
    }

    pub(super) fn put_in_line(&mut self, path: &[Arc<str>], waiter: QueuedRead) {
        let Some((first, rest)) = path.split_first() else { return self.waiting.push_back(waiter) };
        let member = self.members.entry(first.clone()).or_default();
        if !std::mem::replace(&mut member.is_in_line, true) {
            self.line.push_back(first.clone());
        }
        member.put_in_line(rest, waiter);
    }

    /// Takes the next waiter that the limits allow, and counts its usage.
    pub(super) fn next(&mut self, bounds: &ReadBounds) -> Option<QueuedRead> {
        let found = self.next_own().or_else(|| self.next_of_members(bounds))?;
        self.add(bounds.usage());
        Some(found)
    }

    fn next_own(&mut self) -> Option<QueuedRead> {
        while let Some(waiter) = self.waiting.pop_front() {
            if !waiter.granted.is_closed() {
                return Some(waiter);
            }
        }
        None
    }

    fn next_of_members(&mut self, bounds: &ReadBounds) -> Option<QueuedRead> {
        for _ in 0..self.line.len() {
            let name = self.line.pop_front()?;
            let Some(member) = self.members.get_mut(&name) else { continue };
            let is_allowed = bounds.allow(self.taken, member.taken);
            let waiter = if is_allowed { member.next(&bounds.of_payer()) } else { None };
            member.is_in_line = member.has_waiters();
            if member.is_in_line {
                self.line.push_back(name);
            } else if member.is_unused() {
                self.members.remove(&name);
            }
            if waiter.is_some() {
                return waiter;
            }
        }
        None
    }

    pub(super) fn take(&mut self, path: &[Arc<str>], more: ReadUsage) {
        self.add(more);
        if let Some((first, rest)) = path.split_first() {
            self.members.entry(first.clone()).or_default().take(rest, more);
        }
    }

    /// Returns usage.
    pub(super) fn give_back(&mut self, path: &[Arc<str>], less: ReadUsage) {
        self.taken.reads -= less.reads;
        self.taken.bytes -= less.bytes;
        let Some((first, rest)) = path.split_first() else { return };
        let Some(member) = self.members.get_mut(first) else { return };
        member.give_back(rest, less);
        if member.is_unused() {
            self.members.remove(first);
        }
    }

    pub(super) fn is_unused(&self) -> bool {
        self.taken == ReadUsage::default() && self.members.is_empty() && !self.is_in_line && !self.has_waiters()
    }

    fn has_waiters(&self) -> bool {
        !self.waiting.is_empty() || !self.line.is_empty()
    }

    fn add(&mut self, more: ReadUsage) {
        self.taken.reads += more.reads;
        self.taken.bytes += more.bytes;
    }
}
