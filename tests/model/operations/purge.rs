//! purge: an operator removes what is in one state, all that nobody holds, or all.

use intray::queue::{Meant, Purged};

use super::prelude::*;

/// `None`: whatever is not reserved; and what remembers enqueues that met a twin.
#[derive(Debug, Clone)]
pub struct Purge(Option<State>);

/// All of them, the reserved too.
#[derive(Debug, Clone)]
pub struct PurgeByForce;

impl Operation for Purge {
    const OFTEN: Often = Often { everything: 2, few_jobs: 0, desk: 1, many: 0 };

    fn draw(_: Theme) -> BoxedStrategy<Self> {
        weighted(0.9, select(&State::ALL)).prop_map(Self).boxed()
    }

    async fn run(&self, walk: &mut Walk<'_>) -> Verdict {
        purge(walk, self.0, false).await
    }
}

impl Operation for PurgeByForce {
    const OFTEN: Often = Often { everything: 1, few_jobs: 0, desk: 0, many: 0 };

    fn draw(_: Theme) -> BoxedStrategy<Self> {
        Just(Self).boxed()
    }

    async fn run(&self, walk: &mut Walk<'_>) -> Verdict {
        purge(walk, None, true).await
    }
}

async fn purge(walk: &mut Walk<'_>, state: Option<State>, force: bool) -> Verdict {
    let purge = queue::Purge { queue: walk.real.queue.clone(), state, force, meant: Meant::default(), after: None };
    let answer = walk.real.handle.purge(purge).await;
    walk.answered("purge", answer, |model| model.purge(state, force))
}

impl Queue {
    fn purge(&mut self, states: Option<State>, force: bool) -> Purged {
        let all = [State::Blocked, State::Waiting, State::Delayed, State::Dead, State::Completed, State::Cancelled];
        let mut removed = 0;
        for state in states.as_ref().map_or(&all[..], std::slice::from_ref) {
            removed += self.remove_all(*state);
        }
        if states.is_none() {
            let stubs: Vec<_> = self.stubs.keys().copied().collect();
            removed += stubs.len() as u64;
            stubs.into_iter().for_each(|id| self.forget(id));
            removed += if force { self.remove_all(State::Reserved) } else { 0 };
        }
        Purged { removed, next: None }
    }

    /// A job of a batch is cancelled instead, and stays as long as its batch; what a batch came to stays as it is.
    fn remove_all(&mut self, state: State) -> u64 {
        let is_ended = matches!(state, State::Completed | State::Cancelled);
        let mut ids = self.in_state(state);
        ids.retain(|id| !self.is_kept(*id));
        if is_ended {
            ids.retain(|id| self.jobs[id].batch.is_none());
        }
        for &id in &ids {
            let (is_member, worker) = (self.jobs[&id].batch.is_some(), self.jobs[&id].worker());
            if state == State::Reserved {
                self.let_go(id, is_member.then_some(How::CANCELLED));
            }
            match (is_ended, is_member) {
                (false, true) => self.cancel_now(id, worker),
                // What goes at once has no time of its end.
                (false, false) => self.cancel_at(id, worker, 0),
                (true, _) => {}
            }
            if !is_member {
                self.forget(id);
            }
        }
        self.end_batches();
        ids.len() as u64
    }
}
