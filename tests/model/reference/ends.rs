//! How reservations end, and what becomes of their jobs: back in line, later, dead, or cancelled.

use intray::{
    job::{Code, Ending, Reservation, State},
    store::{Lost, Return},
};

use super::{Ended, Grace, How, Queue};
use crate::fixtures::secret_digest;

const RING: usize = 5;
pub const UNKNOWN: Lost = Lost { ending: Ending::Unknown, state: None };

/// The note of an abandon, which says whether the job is skipped.
pub fn note_of(reason: &str, skips: bool) -> String {
    format!("{}{reason}", if skips { "\u{1}" } else { "" })
}

/// Why a caller may not settle a job.
pub enum NotHeld {
    Lost(Lost),
    /// They have completed it, and may only take that back.
    Closing {
        final_in_ms: u64,
    },
}

impl From<Lost> for NotHeld {
    fn from(lost: Lost) -> Self {
        Self::Lost(lost)
    }
}

impl Queue {
    /// The worker, if the reservation is live. One that is overdue and not yet swept expires here.
    pub fn live_holder(&mut self, reservation: &Reservation) -> Result<&'static str, NotHeld> {
        self.current(reservation)?;
        let job = &self.jobs[&reservation.job.code];
        match job.closing() {
            Some(_) => Err(NotHeld::Closing { final_in_ms: self.time_left(reservation.job.code) }),
            None => Ok(job.worker()),
        }
    }

    /// How long a reservation lasts.
    pub fn time_left(&self, id: Code) -> u64 {
        self.jobs[&id].hold.as_ref().map_or(0, |hold| hold.deadline - self.now)
    }

    /// The same also for one whose holder may only take their completion back.
    pub fn current(&mut self, reservation: &Reservation) -> Result<(), Lost> {
        let (now, id, secret) = (self.now, reservation.job.code, &reservation.secret);
        let Some(job) = self.jobs.get(&id) else { return Err(UNKNOWN) };
        if job.is_held_by(secret) {
            if job.is_live(now) {
                return Ok(());
            }
            self.expire(id);
        } else {
            self.touch(id, secret);
        }
        let job = &self.jobs[&id];
        let ended = job.recall(&secret_digest(secret)).map(|nth| job.ring[nth].how);
        Err(ended.map_or(UNKNOWN, |how| Lost { ending: how.ending, state: Some(job.state) }))
    }

    /// The very call that ended the reservation, repeated, is answered with how the job is now.
    pub fn again_or_lost(&self, reservation: &Reservation, by: &[How], not: NotHeld) -> Return {
        let lost = match not {
            NotHeld::Lost(lost) => lost,
            NotHeld::Closing { final_in_ms } => return Return::Closing { final_in_ms },
        };
        let job = self.jobs.get(&reservation.job.code);
        let ended = job.and_then(|job| Some((job, job.recall(&secret_digest(&reservation.secret))?)));
        match ended {
            Some((job, nth)) if by.contains(&job.ring[nth].how) => {
                Return::Returned { state: job.state, duplicate: true }
            }
            _ => Return::Lost(lost),
        }
    }

    /// A reservation ends. `None`: it was never delivered, so nobody can ask for it.
    pub fn let_go(&mut self, id: Code, how: Option<How>) {
        self.leave_part(id, self.jobs[&id].worker(), how);
        let now = self.now;
        let job = self.job(id);
        let hold = job.hold.take().expect("a reserved job has a lease");
        let is_by_time = how.is_some_and(|how| [How::EXPIRED, How::GRACE_OVER].contains(&how));
        let undone = hold.known_since_undone().filter(|_| is_by_time);
        // A job that did not reach its worker stays handed over. With any other end what came along is the holder's.
        if how.is_some()
            && let Some(handed) = job.routing.handed.take()
            && let Some(draft) = job.draft.as_mut().filter(|draft| draft.owner == handed.from)
        {
            draft.owner = hold.owner();
        }
        if let (Some(how), Some(secret)) = (how, hold.secret) {
            let digest = secret_digest(&secret);
            let (reserved_at, worker) = (hold.reserved_at, hold.worker);
            job.ring.insert(0, Ended { digest, how, at: now, reserved_at, worker, reason: "", to: None, undone });
            job.ring.truncate(RING);
        }
        // Its units are free; jobs parked for them come before it is placed itself.
        self.batons(id);
    }

    /// Back to its place; but the jobs of a batch that was called off do not come back.
    pub fn come_back(&mut self, id: Code) {
        if self.is_called_off(id) {
            self.cancel_now(id, "");
        } else if self.jobs[&id].is_over(self.now) {
            self.cancel_expired(id);
        } else {
            self.ready(id);
        }
    }

    /// It ends by its deadline, which counts an attempt; or by the end of a grace, which counts as abandoned.
    pub fn run_out(&mut self, id: Code) {
        let (worker, grace) = (self.jobs[&id].worker(), self.grace_of(id));
        self.count_end_of_time(id);
        if grace.is_some_and(|grace| grace.skips) {
            self.job(id).skip(worker);
        }
        self.let_go(id, Some(if grace.is_some() { How::GRACE_OVER } else { How::EXPIRED }));
        self.job(id).attempts += u32::from(grace.is_none());
        match grace {
            Some(grace) => self.tell("abandoned", id, worker, &note_of("grace", grace.skips)),
            None => self.tell("expired", id, worker, ""),
        }
    }

    /// At the expiry of the job a grace does not matter.
    fn grace_of(&self, id: Code) -> Option<Grace> {
        self.jobs[&id].grace().filter(|_| !self.jobs[&id].is_over(self.now))
    }

    pub fn count_end_of_time(&mut self, id: Code) {
        let is_left = self.grace_of(id).is_some();
        let counts = &mut self.job(id).counts;
        *(if is_left { &mut counts.abandoned } else { &mut counts.expired }) += 1;
        self.count(if is_left { "abandoned" } else { "expired" });
    }

    /// Answers whether the job is dead by it.
    pub fn expire(&mut self, id: Code) -> bool {
        if self.jobs[&id].closing().is_some() {
            self.complete_closing(id);
            return false;
        }
        let (worker, grace) = (self.jobs[&id].worker(), self.grace_of(id));
        self.run_out(id);
        if self.jobs[&id].is_over(self.now) {
            self.cancel_expired(id);
            return false;
        }
        let died = grace.is_none() && self.is_out_of_attempts(id);
        if died {
            self.die(id, worker)
        } else {
            self.come_back(id)
        }
        died
    }

    pub fn is_out_of_attempts(&self, id: Code) -> bool {
        let job = &self.jobs[&id];
        let max = job.options.max_attempts.unwrap_or(self.settings.max_attempts);
        max > 0 && job.attempts >= max
    }

    pub fn die(&mut self, id: Code, worker: &str) {
        let stamp = self.stamp();
        self.give_back(id);
        self.stop_alarm(id);
        let job = self.job(id);
        (job.state, job.at) = (State::Dead, stamp);
        self.free_key(id);
        self.tell("dead", id, worker, "");
        self.count("dead");
    }

    pub fn come_back_after(&mut self, id: Code, delay: u64, jitter: u64) -> Return {
        let due = self.now + delay;
        if delay > 0 && !self.is_called_off(id) && !self.jobs[&id].is_over(self.now) {
            let job = self.job(id);
            (job.state, job.at, job.jitter) = (State::Delayed, due, jitter);
        } else {
            self.come_back(id);
        }
        Return::Returned { state: self.jobs[&id].state, duplicate: false }
    }

    /// A job that nobody holds; one that was in line passes the batons.
    pub fn cancel_now(&mut self, id: Code, worker: &str) {
        let stamp = self.stamp();
        self.cancel_at(id, worker, stamp, "");
    }

    pub fn cancel_at(&mut self, id: Code, worker: &str, stamp: u64, reason: &str) {
        let was_in_line = self.jobs[&id].is_for_all();
        self.give_back(id);
        self.stop_alarm(id);
        let job = self.job(id);
        job.end(State::Cancelled, stamp);
        let is_member = job.batch.is_some();
        if was_in_line {
            self.batons(id);
        }
        self.free_key(id);
        self.tell("cancelled", id, worker, reason);
        self.count("cancelled");
        self.count(if is_member { "batch_cancelled_kept" } else { "cancelled_kept" });
    }
}
