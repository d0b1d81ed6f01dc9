//! purge: an operator removes what is in one state, all that nobody holds, or all.

use intray::store::{JobSelection, Purged};

use super::prelude::*;

/// `None`: whatever is not reserved, and what remembers enqueues that met a twin; by force, the reserved too.
#[derive(Debug, Clone)]
pub struct Purge {
    state: Option<State>,
    force: bool,
}

impl Operation for Purge {
    const OFTEN: Often = Often { everything: 3, few_jobs: 0, desk: 1, routing: 1, many: 0 };
    const MUST_BE_MET: &'static [&'static str] = &["purge by force Purged"];

    fn draw(theme: Theme) -> BoxedStrategy<Self> {
        let some = weighted(0.9, select(&State::ALL)).prop_map(|state| Self { state, force: false });
        match theme {
            Theme::Everything => prop_oneof![2 => some, 1 => Just(Self::ALL)].boxed(),
            Theme::FewJobs | Theme::Desk | Theme::Routing | Theme::Lists | Theme::Many => some.boxed(),
        }
    }

    async fn run(&self, walk: &mut Walk<'_>) -> Verdict {
        let Self { state, force } = *self;
        let queue = walk.real.queue.clone();
        let purge = store::Purge {
            queue,
            state,
            force,
            selection: JobSelection::default(),
            after: None,
            actor: store::Actor::default(),
        };
        let answer = walk.real.handle.purge(purge).await;
        walk.answered(if force { "purge by force" } else { "purge" }, answer, |model| model.purge(state, force))
    }
}

impl Purge {
    pub const ALL: Self = Self { state: None, force: true };
}

impl Queue {
    fn purge(&mut self, states: Option<State>, force: bool) -> Purged {
        let all = [State::Blocked, State::Waiting, State::Delayed, State::Dead, State::Completed, State::Cancelled];
        let mut removed = 0;
        self.catch_up();
        for state in states.as_ref().map_or(&all[..], std::slice::from_ref) {
            removed += self.remove_all(*state);
        }
        if states.is_none() {
            let stubs: Vec<_> = self.stubs.keys().copied().collect();
            removed += stubs.len() as u64;
            stubs.into_iter().for_each(|id| self.forget_kept(id));
            removed += if force { self.remove_all(State::Reserved) } else { 0 };
        }
        if states.is_none() {
            self.vacate();
        }
        Purged { removed, next: None }
    }

    /// A job of a batch is cancelled instead, and stays as long as its batch; what a batch came to stays as it is.
    fn remove_all(&mut self, state: State) -> u64 {
        let is_ended = matches!(state, State::Completed | State::Cancelled);
        let mut ids = self.in_sets(state);
        ids.retain(|id| !self.is_kept(*id));
        if is_ended {
            ids.retain(|id| self.jobs[id].batch.is_none());
        }
        let mut removed = 0;
        for &id in &ids {
            // What a worker has handed in is completed instead.
            if self.jobs[&id].closing().is_some() {
                self.expire(id);
                continue;
            }
            removed += 1;
            let (is_member, worker) = (self.jobs[&id].batch.is_some(), self.jobs[&id].worker());
            if state == State::Reserved {
                self.let_go(id, is_member.then_some(How::CANCELLED));
            }
            match (is_ended, is_member) {
                (false, true) => self.cancel_now(id, worker),
                // What goes at once has no time of its end.
                (false, false) => self.cancel_at(id, worker, 0, ""),
                (true, _) => {}
            }
            if is_ended {
                self.forget_kept(id);
            } else if !is_member {
                self.forget(id);
            }
        }
        self.end_batches();
        removed
    }
}
