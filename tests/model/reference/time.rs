//! What time will bring about, and when: expiry, delays that fall due, the end of retention.

use intray::job::{Code, State};

use super::{Job, NEVER, Queue};
use crate::fixtures::STAMPS;

/// No ended job goes before.
pub const YOUNG_MS: u64 = 10_000;

impl Queue {
    /// What time has done to a job, swept or not. Whether it has done anything.
    pub fn lapse(&mut self, id: Code) -> bool {
        let (now, job) = (self.now, &self.jobs[&id]);
        if job.hold.is_some() {
            if !job.is_overdue(now) && !job.is_over(now) {
                return false;
            }
            self.expire(id);
        } else if job.is_over_unheld(now) {
            self.cancel_expired(id);
        } else if job.state == State::Delayed && job.at <= now {
            let since = job.at;
            self.fall_due(id, since);
        } else {
            return false;
        }
        true
    }

    /// The state that time has brought a job to.
    pub fn state_by_time(&self, id: Code) -> State {
        let (now, job) = (self.now, &self.jobs[&id]);
        let limit = job.options.max_attempts.unwrap_or(self.settings.max_attempts);
        let ends = job.is_overdue(now) || job.hold.is_some() && job.is_over(now);
        let is_last = job.grace().is_none() && limit > 0 && job.attempts + 1 >= limit;
        if job.is_over_unheld(now) {
            State::Cancelled
        } else if !ends {
            job.state
        } else if job.closing().is_some() {
            State::Completed
        } else if job.is_over(now) {
            State::Cancelled
        } else if is_last {
            State::Dead
        } else if self.is_called_off(id) {
            State::Cancelled
        } else {
            State::Waiting
        }
    }

    /// Ready since then.
    pub fn fall_due(&mut self, id: Code, since: u64) {
        if self.jobs[&id].place.is_none() {
            self.ensure_place(id, None);
        }
        if self.jobs[&id].routing.fallback_at.is_none() {
            self.start_fallback(id, since);
        }
        self.ready(id);
        self.tell("due", id, "", "");
    }

    pub fn is_anything_overdue(&self) -> bool {
        let now = self.now;
        self.jobs.values().any(|job| job.is_overdue(now) || job.state == State::Delayed && job.at <= now)
    }

    /// Ended jobs and stubs, the oldest first. Those of a batch go with it.
    pub fn ended(&self) -> Vec<(u64, Code)> {
        let is_ended = |job: &Job| matches!(job.state, State::Completed | State::Cancelled) && job.batch.is_none();
        let jobs = self.jobs.iter().filter(|(_, job)| is_ended(job)).map(|(id, job)| (job.at, *id));
        let mut ended: Vec<_> = jobs.chain(self.stubs.iter().map(|(id, stub)| (stub.at, *id))).collect();
        ended.sort_unstable();
        ended
    }

    /// A job or stub that was kept after its end goes.
    pub fn forget_kept(&mut self, id: Code) {
        *self.totals.entry("gone").or_default() += 1;
        self.forget(id);
    }

    pub fn forget(&mut self, id: Code) {
        if self.stubs.remove(&id).is_some() {
            *self.totals.entry("stubs").or_default() -= 1;
        }
        if let Some(job) = self.jobs.remove(&id)
            && job.state == State::Cancelled
        {
            *self.totals.entry("cancelled_kept").or_default() -= 1;
        }
    }

    /// When a reservation runs out or a delay falls due next.
    pub fn next_overdue(&self) -> Option<u64> {
        self.open().map(Job::score).min()
    }

    fn open(&self) -> impl Iterator<Item = &Job> {
        self.jobs.values().filter(|job| matches!(job.state, State::Reserved | State::Delayed))
    }

    /// When time will bring something about, the soonest first.
    pub fn moments(&self) -> Vec<u64> {
        let ended = self.ended();
        let retention = u64::from(self.settings.retention_ms);
        let too_many = ended.len() > self.settings.retention_max as usize;
        let kept_for = if too_many { retention.min(YOUNG_MS) } else { retention };
        let ended = ended.into_iter().map(|(at, _)| at / STAMPS + kept_for);
        let batches = self.batches.values().filter_map(|batch| self.moment_of(batch));
        let alarms = self.jobs.values().filter_map(Job::alarm).filter(|at| *at < NEVER);
        let mut moments: Vec<_> = self.open().map(Job::score).chain(ended).chain(batches).chain(alarms).collect();
        moments.sort_unstable();
        moments
    }
}
