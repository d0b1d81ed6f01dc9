//! What the holder of a reservation says about the job.

use intray::{
    job::{Backoff, Code, Ending, Millis, State},
    queue::{Completion, Extension, Lost, Return},
};

use super::{How, Job, Late, Note, Queue};
use crate::words::secret_digest;

const ERRORS: usize = 5;
const LATE_RESULTS: usize = 5;

impl Queue {
    pub fn extend(&mut self, id: Code, secret: &Code, lease_ms: Option<u32>, draft: Option<&'static str>) -> Extension {
        if let Err(lost) = self.live_holder(id, secret) {
            return Extension::Lost(lost);
        }
        let (now, most) = (self.now, u64::from(self.settings.max_hold_ms));
        let hold = self.job(id).hold.as_mut().expect("it is live");
        let mut deadline = now + u64::from(lease_ms.unwrap_or(hold.lease_ms));
        if most > 0 {
            // What was granted before a limit was lowered stays granted.
            deadline = deadline.min(hold.deadline.max(hold.reserved_at + most));
        }
        hold.deadline = deadline;
        // Who goes on has not left.
        hold.grace = None;
        let worker = hold.worker;
        self.keep_draft(id, worker, draft);
        self.tell("extended", id, worker, "");
        Extension::Extended { deadline: Millis(deadline), now: Millis(now) }
    }

    pub fn fail(&mut self, id: Code, secret: &Code, error: &str) -> Return {
        let worker = match self.live_holder(id, secret) {
            Ok(worker) => worker,
            Err(lost) => return self.again_or_lost(id, secret, How::Failed, lost),
        };
        self.let_go(id, Some(How::Failed));
        let note = Note { at: self.now, worker, text: error.to_owned() };
        let job = self.job(id);
        job.counts.failed += 1;
        job.attempts += 1;
        job.errors.insert(0, note);
        job.errors.truncate(ERRORS);
        self.tell("failed", id, worker, error);
        self.count("failed");
        if self.is_out_of_attempts(id) {
            self.die(id, worker);
            return Return::Returned { state: State::Dead, duplicate: false };
        }
        let delay = self.backoff(&self.jobs[&id]);
        self.come_back_after(id, delay, delay / 5)
    }

    /// Jitter, which only adds, comes on top.
    fn backoff(&self, job: &Job) -> u64 {
        match job.said.backoff.unwrap_or(self.settings.backoff) {
            Backoff::None => 0,
            Backoff::Fixed { delay_ms } => delay_ms.into(),
            Backoff::Exponential { delay_ms, max_ms } => {
                (u64::from(delay_ms) << (job.attempts - 1).min(30)).min(max_ms.into())
            }
        }
    }

    pub(super) fn come_back_after(&mut self, id: Code, delay: u64, jitter: u64) -> Return {
        let due = self.now + delay;
        if delay > 0 && !self.is_called_off(id) {
            let job = self.job(id);
            (job.state, job.at, job.jitter) = (State::Delayed, due, jitter);
        } else {
            self.come_back(id);
        }
        Return::Returned { state: self.jobs[&id].state, duplicate: false }
    }

    pub fn complete(&mut self, id: Code, secret: &Code, result: &'static str) -> Completion {
        let Some(job) = self.jobs.get(&id) else { return Completion::Lost(UNKNOWN) };
        if job.is_held_by(secret) {
            let (late, worker) = (job.is_overdue(self.now), job.worker());
            let since = job.hold.as_ref().map_or(0, |hold| hold.reserved_at);
            if late {
                self.count_end_of_time(id);
            }
            self.let_go(id, Some(if late { How::DoneLate } else { How::Done }));
            return self.finish(id, worker, since, result, late);
        }
        let digest = secret_digest(secret);
        let Some(nth) = job.recall(&digest) else { return Completion::Lost(UNKNOWN) };
        let (how, worker, since) = (job.ring[nth].how, job.ring[nth].worker, job.ring[nth].reserved_at);
        if matches!(how, How::Done | How::DoneLate) && job.result.unwrap_or_default() == result {
            return Completion::Done { late: how == How::DoneLate, duplicate: true };
        }
        let is_nobodys = matches!(job.state, State::Waiting | State::Blocked | State::Dead) && !self.is_kept(id);
        if matches!(how, How::Expired | How::GraceOver) && nth == 0 && is_nobodys {
            let now = self.now;
            let ended = &mut self.job(id).ring[0];
            (ended.how, ended.at) = (How::DoneLate, now);
            return self.finish(id, worker, since, result, true);
        }
        let lost = Lost { ending: ending(how), state: Some(job.state) };
        self.keep_late(id, Late { digest, at: self.now, worker, result });
        Completion::Lost(lost)
    }

    fn finish(&mut self, id: Code, worker: &str, since: u64, result: &'static str, late: bool) -> Completion {
        let was_in_line = self.jobs[&id].state == State::Waiting;
        let stamp = self.stamp();
        self.give_back(id);
        let job = self.job(id);
        job.end(State::Completed, stamp);
        job.result = (!result.is_empty()).then_some(result);
        if job.batch.is_some() {
            self.count("batch_completed_kept");
        }
        if was_in_line {
            self.batons(id);
        }
        self.free_key(id);
        let note = format!("{since} {}{}", self.now - since, if late { " late" } else { "" });
        self.tell("completed", id, worker, &note);
        self.count("completed");
        Completion::Done { late, duplicate: false }
    }

    /// Once for each reservation and result.
    fn keep_late(&mut self, id: Code, late: Late) {
        let kept = &mut self.job(id).late;
        let is_same = |other: &Late| other.digest == late.digest && other.result == late.result;
        if !kept.iter().rev().take(LATE_RESULTS).any(is_same) {
            kept.push(late);
        }
    }

    /// The worker, if the reservation is live. One that is overdue and not yet swept expires here.
    pub(super) fn live_holder(&mut self, id: Code, secret: &Code) -> Result<&'static str, Lost> {
        let now = self.now;
        let Some(job) = self.jobs.get(&id) else { return Err(UNKNOWN) };
        if job.is_held_by(secret) {
            if job.is_live(now) {
                return Ok(job.worker());
            }
            self.expire(id);
        }
        let job = &self.jobs[&id];
        let ended = job.recall(&secret_digest(secret)).map(|nth| job.ring[nth].how);
        Err(ended.map_or(UNKNOWN, |how| Lost { ending: ending(how), state: Some(job.state) }))
    }

    /// The very call that ended the reservation, repeated, is answered with how the job is now.
    pub(super) fn again_or_lost(&self, id: Code, secret: &Code, by: How, lost: Lost) -> Return {
        let ended = self.jobs.get(&id).and_then(|job| Some((job, job.recall(&secret_digest(secret))?)));
        match ended {
            Some((job, nth)) if is_by(job.ring[nth].how, by) => Return::Returned { state: job.state, duplicate: true },
            _ => Return::Lost(lost),
        }
    }
}

const UNKNOWN: Lost = Lost { ending: Ending::Unknown, state: None };

/// A grace was asked for by an abandon.
fn is_by(how: How, by: How) -> bool {
    how == by || how == How::GraceOver && by == How::Abandoned
}

fn ending(how: How) -> Ending {
    match how {
        How::Expired => Ending::Expired,
        How::Abandoned | How::GraceOver => Ending::Abandoned,
        How::Failed => Ending::Failed,
        How::Released => Ending::Released,
        How::Cancelled => Ending::Cancelled,
        How::Done | How::DoneLate => Ending::Completed,
    }
}
