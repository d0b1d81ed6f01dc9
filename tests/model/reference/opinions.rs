//! Whether the jobs that remain of a batch with an overlap can all be completed, each by another worker, and whom an operator names for one.

use intray::job::{Code, State};

use super::{Had, Part, Queue, Routing};

impl Queue {
    /// Whether a job may get this routing: no change excludes each of its assignees.
    pub fn leaves_assignees(&self, id: Code, routing: &Routing) -> bool {
        let own = &self.jobs[&id].routing;
        let is_other = (&own.assignees, &own.excluded) != (&routing.assignees, &routing.excluded);
        !is_other || !routing.excludes_all(&routing.assignees)
    }

    /// Whether as many jobs of the batch as before keep a worker of their own.
    pub fn leaves_workers(&self, id: Code, routing: &Routing, expires: Option<u64>, named: &[&str]) -> bool {
        if self.shared(id).is_none() || !routing.is_bound() {
            return true;
        }
        let job = &self.jobs[&id];
        self.unanswered(id, (routing, expires), named) <= self.unanswered(id, (&job.routing, job.expires), &[])
    }

    /// How many jobs of its batch get no worker of their own if a job has this routing and this expiry.
    fn unanswered(&self, id: Code, (routing, expires): (&Routing, Option<u64>), named: &[&str]) -> usize {
        let batch = self.shared(id).expect("a batch with an overlap");
        let mut workers = Vec::new();
        for other in &self.batches[&batch].members {
            let Some(job) = self.jobs.get(other) else { continue };
            let (own, expires, asked) =
                if *other == id { (routing, expires, named) } else { (&job.routing, job.expires, &[][..]) };
            let has_ended = matches!(job.state, State::Completed | State::Cancelled);
            let is_over = expires.is_some_and(|expires| expires <= self.now);
            if !has_ended && !is_over && own.is_bound() {
                let can = |worker: &&&'static str| {
                    let has_skipped = job.is_skipped_by(worker) && !asked.contains(*worker);
                    !has_skipped && !own.excluded.contains(*worker) && self.can_complete(*other, worker, named)
                };
                workers.push(own.assignees.iter().filter(can).copied().collect());
            }
        }
        workers.len() - best(&workers, &mut Vec::new())
    }

    /// By the part that the worker has in the batch.
    fn can_complete(&self, id: Code, worker: &str, named: &[&str]) -> bool {
        let batch = self.shared(id).expect("a batch with an overlap");
        let part = self.batches[&batch].parts.iter().find(|part| part.worker == worker);
        part.is_none_or(|part| match part.how {
            Had::Skipped => named.contains(&worker),
            Had::Completed => false,
            Had::Holds | Had::RanOut => part.job == id,
        })
    }

    /// An operator names workers for a job: who has skipped it, or another one of its batch, is offered it again. Whether one had.
    pub fn offer_again(&mut self, id: Code, names: &[&'static str]) -> bool {
        let job = self.job(id);
        let before = job.skips.len();
        job.skips.retain(|worker| !names.contains(worker));
        let mut had_skipped = job.skips.len() < before;
        if let Some(hold) = job.hold.as_mut().filter(|hold| names.contains(&hold.worker))
            && let Some(grace) = hold.grace.as_mut()
        {
            had_skipped |= std::mem::take(&mut grace.skips);
        }
        let Some(batch) = self.shared(id) else { return had_skipped };
        let parts = &mut self.batch(batch).parts;
        let before = parts.len();
        parts.retain(|Part { how, worker, .. }| *how != Had::Skipped || !names.contains(worker));
        had_skipped || parts.len() < before
    }
}

/// As many jobs as can have a worker each, of those who are not given yet.
fn best(jobs: &[Vec<&'static str>], given: &mut Vec<&'static str>) -> usize {
    let Some((first, rest)) = jobs.split_first() else { return 0 };
    let mut max = best(rest, given);
    for worker in first {
        if !given.contains(worker) {
            given.push(worker);
            max = max.max(1 + best(rest, given));
            given.pop();
        }
    }
    max
}
