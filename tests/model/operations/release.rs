//! release: an operator takes a job from its holder, or all that a worker holds.

use intray::queue::Released;

use super::prelude::*;
use crate::words::{WORKERS, name};

const RELEASED: How = How { number: 4, ending: Ending::Released };

#[derive(Debug, Clone)]
pub struct ReleaseJob(Which);

#[derive(Debug, Clone)]
pub struct ReleaseWorker(usize);

impl Operation for ReleaseJob {
    const OFTEN: Often = Often { everything: 4, few_jobs: 10, desk: 6, many: 0 };

    fn draw(_: Theme) -> BoxedStrategy<Self> {
        which(State::Reserved).prop_map(Self).boxed()
    }

    async fn run(&self, walk: &mut Walk<'_>) -> Verdict {
        let id = walk.which(self.0);
        let answer = walk.real.handle.release(queue::Release::Job(id.clone())).await;
        walk.answered("release", answer, |model| model.release(id.code).map(all))
    }
}

impl Operation for ReleaseWorker {
    const OFTEN: Often = Often { everything: 2, few_jobs: 3, desk: 0, many: 0 };

    fn draw(_: Theme) -> BoxedStrategy<Self> {
        (0..WORKERS.len()).prop_map(Self).boxed()
    }

    async fn run(&self, walk: &mut Walk<'_>) -> Verdict {
        let worker = WORKERS[self.0];
        let release = queue::Release::Worker(walk.real.queue.clone(), name(worker).ok_or("a worker")?);
        let answer = walk.real.handle.release(release).await;
        walk.answered("release of a worker", answer, |model| Some(all(model.release_worker(worker))))
    }
}

fn all(released: u64) -> Released {
    Released { released, more: false }
}

impl Queue {
    /// `None`: there is no such job.
    fn release(&mut self, id: Code) -> Option<u64> {
        let job = self.jobs.get(&id)?;
        if job.is_overdue(self.now) {
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
