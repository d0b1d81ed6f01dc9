//! How many costly reads are done at once, in all and for one caller. Callers take turns: a caller who asks for many waits
//! behind its own calls, and takes no turn of another caller.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::oneshot, time};

use crate::job::limits;

/// Reads of one kind; a cheap handle.
#[derive(Clone)]
pub struct Reads(Arc<Shared>);

struct Shared {
    at_once: usize,
    of_caller: usize,
    /// A turn ends after so long, whether or not its holder has given it back.
    longest: Option<Duration>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    inside: usize,
    callers: HashMap<Arc<str>, Calls>,
    /// The callers who wait, in their turn.
    line: VecDeque<Arc<str>>,
}

/// Of one caller.
#[derive(Default)]
struct Calls {
    inside: usize,
    waiting: VecDeque<oneshot::Sender<Turn>>,
}

/// The right to read now; given back when it is dropped.
pub struct Turn(Arc<Mutex<Option<Permit>>>);

struct Permit {
    reads: Reads,
    who: Arc<str>,
}

/// There was no turn in time.
#[derive(Debug)]
pub struct Busy;

impl Reads {
    pub fn new(at_once: usize, of_caller: usize, longest: Option<Duration>) -> Self {
        Self(Arc::new(Shared { at_once, of_caller, longest, state: Mutex::default() }))
    }

    /// Waits for a turn, however long that takes.
    pub async fn enter(&self, who: &Arc<str>) -> Turn {
        loop {
            match self.ask(who, usize::MAX) {
                Ok(Ok(turn)) => return turn,
                Ok(Err(granted)) => {
                    if let Ok(turn) = granted.await {
                        return turn;
                    }
                }
                Err(Busy) => {}
            }
        }
    }

    /// Waits for a turn for a while.
    ///
    /// # Errors
    /// When there is none in that time, or too many calls of this caller wait already.
    pub async fn enter_soon(&self, who: &Arc<str>) -> Result<Turn, Busy> {
        match self.ask(who, limits::READS_WAITING)? {
            Ok(turn) => Ok(turn),
            Err(granted) => {
                let in_time = time::timeout(Duration::from_millis(limits::READ_WAIT_MS), granted).await;
                in_time.ok().and_then(Result::ok).ok_or(Busy)
            }
        }
    }

    /// A turn at once, or where one will be handed over.
    fn ask(&self, who: &Arc<str>, most: usize) -> Result<Result<Turn, oneshot::Receiver<Turn>>, Busy> {
        let mut state = self.state();
        let is_room = state.inside < self.0.at_once;
        let calls = state.callers.entry(who.clone()).or_default();
        if is_room && calls.inside < self.0.of_caller && calls.waiting.is_empty() {
            calls.inside += 1;
            state.inside += 1;
            drop(state);
            return Ok(Ok(self.turn(who.clone())));
        }
        if calls.waiting.len() >= most {
            calls.waiting.retain(|waiter| !waiter.is_closed());
        }
        if calls.waiting.len() >= most {
            return Err(Busy);
        }
        let (sender, granted) = oneshot::channel();
        let is_first = calls.waiting.is_empty();
        calls.waiting.push_back(sender);
        if is_first {
            state.line.push_back(who.clone());
        }
        Ok(Err(granted))
    }

    fn turn(&self, who: Arc<str>) -> Turn {
        let held = Arc::new(Mutex::new(Some(Permit { reads: self.clone(), who })));
        if let Some(longest) = self.0.longest {
            let lent = Arc::downgrade(&held);
            tokio::spawn(async move {
                time::sleep(longest).await;
                lent.upgrade().map(Turn).map(drop)
            });
        }
        Turn(held)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands on what has become free.
    fn hand_on(&self) {
        loop {
            let next = self.state().next(self.0.at_once, self.0.of_caller);
            let Some((who, waiter)) = next else { return };
            // Of a waiter who has just left, it comes back here.
            drop(waiter.send(self.turn(who)));
        }
    }
}

impl State {
    /// The next who waits and may go in: it is counted as inside.
    fn next(&mut self, at_once: usize, of_caller: usize) -> Option<(Arc<str>, oneshot::Sender<Turn>)> {
        if self.inside >= at_once {
            return None;
        }
        for _ in 0..self.line.len() {
            let who = self.line.pop_front()?;
            let Some(calls) = self.callers.get_mut(&who) else { continue };
            let may = calls.inside < of_caller;
            let mut waiter = None;
            while may && waiter.is_none() && !calls.waiting.is_empty() {
                waiter = calls.waiting.pop_front().filter(|waiter| !waiter.is_closed());
            }
            if calls.waiting.is_empty() {
                if waiter.is_none() && calls.inside == 0 {
                    self.callers.remove(&who);
                }
            } else {
                self.line.push_back(who.clone());
            }
            if let Some(waiter) = waiter {
                self.inside += 1;
                self.callers.entry(who.clone()).or_default().inside += 1;
                return Some((who, waiter));
            }
        }
        None
    }

    fn leave(&mut self, who: &Arc<str>) {
        self.inside -= 1;
        if let Some(calls) = self.callers.get_mut(who) {
            calls.inside -= 1;
            if calls.inside == 0 && calls.waiting.is_empty() {
                self.callers.remove(who);
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let permit = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Permit { reads, who }) = permit {
            reads.state().leave(&who);
            reads.hand_on();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(name: &str) -> Arc<str> {
        name.into()
    }

    /// Tries once.
    async fn now(reads: &Reads, name: &str) -> Option<Turn> {
        time::timeout(Duration::from_millis(20), reads.enter(&who(name))).await.ok()
    }

    #[tokio::test]
    async fn reads_are_bounded_in_all_and_for_each_caller() {
        let reads = Reads::new(3, 2, None);
        let ann = [now(&reads, "ann").await, now(&reads, "ann").await];
        assert!(ann.iter().all(Option::is_some) && now(&reads, "ann").await.is_none(), "two of one caller");
        let bob = now(&reads, "bob").await;
        assert!(bob.is_some() && now(&reads, "bob").await.is_none(), "three in all");
        drop(ann);
        assert!(now(&reads, "bob").await.is_some(), "what is given back is there for others");
        drop(bob);
        assert!(reads.state().callers.is_empty() && reads.state().inside == 0, "who has gone is forgotten");
    }

    #[tokio::test]
    async fn callers_take_turns_and_a_crowd_waits_behind_itself() {
        let reads = Reads::new(1, 1, None);
        let first = reads.enter(&who("crowd")).await;
        let (sender, mut served) = tokio::sync::mpsc::unbounded_channel();
        for name in ["crowd"; 50].into_iter().chain(["ann"]) {
            let (reads, sender) = (reads.clone(), sender.clone());
            tokio::spawn(async move {
                let turn = reads.enter(&who(name)).await;
                sender.send(name).expect("heard");
                drop(turn);
            });
            tokio::task::yield_now().await;
        }
        drop((first, sender));
        let mut order = Vec::new();
        while let Some(name) = served.recv().await {
            order.push(name);
        }
        assert_eq!(order.len(), 51);
        assert!(order[..2].contains(&"ann"), "{order:?}");
    }

    #[tokio::test]
    async fn waiters_who_leave_take_no_turn() {
        let reads = Reads::new(1, 1, None);
        let first = reads.enter(&who("ann")).await;
        for _ in 0..3 {
            assert!(now(&reads, "ann").await.is_none());
        }
        drop(first);
        assert!(now(&reads, "ann").await.is_some());
        assert!(reads.state().line.is_empty() && reads.state().callers.is_empty());
    }

    #[tokio::test]
    async fn a_turn_that_is_not_given_back_ends() {
        let reads = Reads::new(1, 1, Some(Duration::from_millis(30)));
        let kept = reads.enter(&who("ann")).await;
        let next = time::timeout(Duration::from_secs(10), reads.enter(&who("bob"))).await.expect("a turn");
        drop(kept);
        assert_eq!(reads.state().inside, 1, "it was given back once");
        drop(next);
    }
}
