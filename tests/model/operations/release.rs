//! release: an operator takes a job from its holder, or all that a worker holds.

use intray::store::Released;

use super::prelude::*;
use crate::fixtures::{WORKERS, name};

const RELEASED: How = How { number: 4, ending: Ending::Released };

#[derive(Debug, Clone)]
pub enum Release {
    Job(Which),
    Worker(usize),
}

impl Operation for Release {
    const OFTEN: Often = Often { everything: 6, few_jobs: 13, desk: 6, routing: 6, many: 0 };
    const MUST_BE_MET: &'static [&'static str] = &["release of a worker Some(Released { released: 1, more: false"];

    fn draw(theme: Theme) -> BoxedStrategy<Self> {
        let job = which(State::Reserved).prop_map(Self::Job);
        match theme {
            Theme::Everything | Theme::Lists | Theme::FewJobs | Theme::Routing => {
                prop_oneof![3 => job, 1 => (0..WORKERS.len()).prop_map(Self::Worker)].boxed()
            }
            Theme::Desk | Theme::Many => job.boxed(),
        }
    }

    async fn run(&self, walk: &mut Walk<'_>) -> Verdict {
        let all = |released| Released { released, more: false };
        match *self {
            Self::Job(job) => {
                let id = walk.which(job);
                let answer = walk.real.handle.release(&store::Release::Job(id.clone()), &store::Actor::default()).await;
                walk.answered("release", answer, |model| model.release(id.code).map(all))
            }
            Self::Worker(n) => {
                let release = store::Release::Worker(walk.real.queue.clone(), name(WORKERS[n]).ok_or("a worker")?);
                let answer = walk.real.handle.release(&release, &store::Actor::default()).await;
                walk.answered("release of a worker", answer, |model| Some(all(model.release_worker(WORKERS[n]))))
            }
        }
    }
}

impl Queue {
    /// `None`: there is no such job.
    fn release(&mut self, id: Code) -> Option<u64> {
        let job = self.jobs.get(&id)?;
        if job.is_overdue(self.now) || job.closing().is_some() {
            self.expire(id);
            return Some(0);
        }
        if job.hold.is_none() {
            return Some(0);
        }
        let worker = job.worker();
        self.let_go(id, Some(RELEASED));
        self.job(id).counts.released += 1;
        self.tell("released", id, worker, "");
        self.count("released");
        self.come_back(id);
        Some(1)
    }

    fn release_worker(&mut self, worker: &str) -> u64 {
        let mut held = self.held_by(worker);
        let nonce = |id: &Code| self.jobs[id].hold.as_ref().map(|hold| hold.nonce.clone());
        held.sort_by_key(|id| (nonce(id), *id));
        held.into_iter().filter_map(|id| self.release(id)).sum()
    }
}
