//! requeue: an operator gives a dead job another life, or all of them; or has a delayed one come now.

use intray::queue::{Meant, Requeued};

use super::prelude::*;

#[derive(Debug, Clone)]
pub struct RequeueJob(Which);

#[derive(Debug, Clone)]
pub struct RequeueAll;

impl Operation for RequeueJob {
    const OFTEN: Often = Often { everything: 6, few_jobs: 16, desk: 12, many: 0 };

    fn draw(theme: Theme) -> BoxedStrategy<Self> {
        let job = match theme {
            Theme::Desk => which(State::Dead).boxed(),
            Theme::Everything | Theme::FewJobs | Theme::Many => {
                prop_oneof![which(State::Dead), which(State::Delayed)].boxed()
            }
        };
        job.prop_map(Self).boxed()
    }

    async fn run(&self, walk: &mut Walk<'_>) -> Verdict {
        let id = walk.which(self.0);
        let answer = walk.real.handle.requeue(queue::Requeue::Job(id.clone())).await;
        walk.answered("requeue", answer, |model| model.requeue(id.code))
    }
}

impl Operation for RequeueAll {
    const OFTEN: Often = Often { everything: 2, few_jobs: 0, desk: 0, many: 1 };

    fn draw(_: Theme) -> BoxedStrategy<Self> {
        Just(Self).boxed()
    }

    async fn run(&self, walk: &mut Walk<'_>) -> Verdict {
        let requeue = queue::Requeue::Queue(walk.real.queue.clone(), Meant::default(), None);
        let answer = walk.real.handle.requeue(requeue).await;
        walk.answered("requeue of all", answer, Queue::requeue_all)
    }
}

impl Queue {
    fn requeue(&mut self, id: Code) -> Requeued {
        let Some(job) = self.jobs.get(&id) else { return Requeued::UnknownJob };
        match job.state {
            State::Dead if self.is_dead_for_good(id) => return Requeued::WrongState(State::Dead),
            State::Dead => self.revive(id),
            State::Delayed => self.fall_due(id),
            State::Completed | State::Cancelled => return Requeued::WrongState(job.state),
            State::Waiting | State::Blocked | State::Reserved => return Requeued::Count { requeued: 0, next: None },
        }
        Requeued::Count { requeued: 1, next: None }
    }

    fn requeue_all(&mut self) -> Requeued {
        let mut dead = self.in_state(State::Dead);
        dead.retain(|id| !self.is_dead_for_good(*id));
        for id in &dead {
            self.revive(*id);
        }
        Requeued::Count { requeued: dead.len() as u64, next: None }
    }

    /// What a batch came to stays so, and the jobs of one that was cancelled do not come back.
    fn is_dead_for_good(&self, id: Code) -> bool {
        self.is_kept(id) || self.is_called_off(id)
    }

    /// Another life: attempts start again, at the end of the line, with its dedupe key if nobody has taken it since.
    fn revive(&mut self, id: Code) {
        let job = self.job(id);
        job.attempts = 0;
        job.skips.clear();
        job.place = None;
        if let Some(key) = job.key {
            self.keys.entry(key).or_insert(id);
        }
        self.ensure_place(id, None);
        self.ready(id);
        self.tell("requeued", id, "", "");
        self.count("requeued");
    }
}
