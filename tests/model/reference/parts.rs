//! Batches of equal jobs, of which each worker has one at most: who has had a part in one, and what keeps it.

use intray::job::{Code, Ending, State};

use super::{Ended, How, Job, Queue};

/// Max parts of a batch that are kept.
const MAX_PARTS: usize = 16;

/// How a worker has a part in a batch, numbered as it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Had {
    Holds = 1,
    Completed = 2,
    /// The time ran out: that job may be completed late, or be given to the same worker again.
    RanOut = 3,
    Skipped = 4,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub how: Had,
    pub job: Code,
    pub worker: &'static str,
}

impl Queue {
    /// The worker has had another job of the batch, or has no name by which that could be known.
    pub fn is_kept_by_part(&self, id: Code, worker: &str) -> bool {
        let Some(batch) = self.shared(id) else { return false };
        let is_other = |part: &Part| part.worker == worker && part.job != id;
        worker.is_empty() || self.batches[&batch].parts.iter().any(is_other)
    }

    /// The batch of a job, if each worker has one job of it at most.
    pub fn shared(&self, id: Code) -> Option<Code> {
        self.jobs[&id].batch.filter(|_| self.jobs[&id].routing.overlap > 0)
    }

    pub fn take_part(&mut self, id: Code, worker: &'static str) {
        self.promise_one(id, worker);
        self.set_part(id, worker, Some(Had::Holds));
    }

    /// A reservation ends; `None`: it was never delivered. What the worker skipped stays skipped, and who may still complete the job
    /// keeps the part.
    pub fn leave_part(&mut self, id: Code, worker: &'static str, how: Option<How>) {
        let job = &self.jobs[&id];
        let had = match how {
            Some(How { ending: Ending::Completed, .. }) => Some(Had::Completed),
            Some(How::EXPIRED) => Some(Had::RanOut),
            _ if job.is_skipped_by(worker) => Some(Had::Skipped),
            Some(How::GRACE_OVER) => Some(Had::RanOut),
            None if job.can_be_completed_late(worker) => Some(Had::RanOut),
            _ => None,
        };
        self.set_part(id, worker, had);
    }

    /// Work that came late counts.
    pub fn complete_part(&mut self, id: Code, worker: &'static str) {
        self.set_part(id, worker, Some(Had::Completed));
    }

    /// The newest is the last; a worker has one part in a batch.
    fn set_part(&mut self, id: Code, worker: &'static str, how: Option<Had>) {
        let Some(batch) = self.shared(id) else { return };
        let parts = &mut self.batch(batch).parts;
        parts.retain(|part| part.worker != worker);
        parts.extend(how.map(|how| Part { how, job: id, worker }));
        if parts.len() > MAX_PARTS {
            let place = first_to_forget(parts).expect("there are fewer jobs than parts");
            parts.remove(place);
        }
    }

    /// No worker holds or completes two jobs of one batch.
    pub fn promise_one(&mut self, id: Code, worker: &str) {
        let Some(batch) = self.shared(id) else { return };
        let has = |other: &&Code| {
            let job = &self.jobs[*other];
            let by = job.ring.first().filter(|_| job.state == State::Completed).map(|ended| ended.worker);
            by == Some(worker) || job.hold.as_ref().is_some_and(|hold| hold.worker == worker)
        };
        let other = self.batches[&batch].members.iter().filter(|other| **other != id).find(has);
        if let Some(other) = other {
            self.broken = Some(format!("{worker} has {}, and {} of the same batch", id.as_str(), other.as_str()));
        }
    }
}

/// The oldest skip of a job that another worker has had since, then the oldest whose time ran out.
fn first_to_forget(parts: &[Part]) -> Option<usize> {
    let is_followed = |place: usize| parts[place + 1..].iter().any(|later| later.job == parts[place].job);
    let oldest = |how: Had| (0..parts.len()).find(|place| parts[*place].how == how && is_followed(*place));
    oldest(Had::Skipped).or_else(|| oldest(Had::RanOut))
}

impl Job {
    /// The reservation that ended last was this worker's, and its time ran out.
    fn can_be_completed_late(&self, worker: &str) -> bool {
        let ran_out = |ended: &Ended| ended.worker == worker && matches!(ended.how, How::EXPIRED | How::GRACE_OVER);
        self.ring.first().is_some_and(ran_out)
    }
}
