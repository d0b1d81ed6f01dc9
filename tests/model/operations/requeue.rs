//! requeue: an operator gives a dead job another life, or all of them; or has a delayed one come now.

use intray::store::{JobSelection, Requeued};

use super::prelude::*;

/// `None`: all that are dead.
#[derive(Debug, Clone)]
pub struct Requeue(Option<Which>);

impl Operation for Requeue {
    const OFTEN: Often = Often { everything: 8, few_jobs: 16, desk: 20, routing: 16, many: 1 };
    const MUST_BE_MET: &'static [&'static str] = &["requeue of all Count { requeued: 1, next: None"];

    fn draw(theme: Theme) -> BoxedStrategy<Self> {
        let job = prop_oneof![which(State::Dead), which(State::Delayed)].prop_map(Some);
        let job = match theme {
            Theme::Everything | Theme::Lists | Theme::Routing => prop_oneof![3 => job, 1 => Just(None)].boxed(),
            Theme::FewJobs => job.boxed(),
            Theme::Desk => which(State::Dead).prop_map(Some).boxed(),
            Theme::Many => Just(None).boxed(),
        };
        job.prop_map(Self).boxed()
    }

    async fn run(&self, walk: &mut Walk<'_>) -> Verdict {
        let Some(job) = self.0 else {
            let requeue = store::Requeue::Queue(walk.real.queue.clone(), JobSelection::default(), None);
            let answer = walk.real.handle.requeue(requeue, &store::Actor::default()).await;
            return walk.answered("requeue of all", answer, Queue::requeue_all);
        };
        let id = walk.which(job);
        let answer = walk.real.handle.requeue(store::Requeue::Job(id.clone()), &store::Actor::default()).await;
        walk.answered("requeue", answer, |model| model.requeue(id.code))
    }
}

impl Queue {
    fn requeue(&mut self, id: Code) -> Requeued {
        if !self.jobs.contains_key(&id) {
            return Requeued::UnknownJob;
        }
        self.lapse(id);
        self.end_batches();
        let state = self.jobs[&id].state;
        match state {
            State::Dead if self.is_dead_for_good(id) => return Requeued::WrongState(State::Dead),
            State::Dead => self.revive(id),
            State::Delayed => self.fall_due(id, self.now),
            State::Completed | State::Cancelled => return Requeued::WrongState(state),
            State::Waiting | State::Blocked | State::Reserved => return Requeued::Count { requeued: 0, next: None },
        }
        Requeued::Count { requeued: 1, next: None }
    }

    fn requeue_all(&mut self) -> Requeued {
        self.catch_up();
        let mut dead = self.in_state(State::Dead);
        dead.retain(|id| !self.is_dead_for_good(*id));
        for id in &dead {
            self.revive(*id);
        }
        Requeued::Count { requeued: dead.len() as u64, next: None }
    }

    /// What a batch came to stays so, and the jobs of one that was cancelled do not come back.
    fn is_dead_for_good(&self, id: Code) -> bool {
        self.is_kept(id) || self.is_called_off(id) || self.jobs[&id].has_expired(self.now)
    }

    /// Another life: attempts start again, at the end of the line, with its dedupe key, after those that have it.
    fn revive(&mut self, id: Code) {
        let job = self.job(id);
        job.attempts = 0;
        job.skips.clear();
        job.place = None;
        self.take_key(id);
        self.ensure_place(id, None);
        self.start_fallback(id, self.now);
        self.ready(id);
        self.tell("requeued", id, "", "");
        self.count("requeued");
    }
}
