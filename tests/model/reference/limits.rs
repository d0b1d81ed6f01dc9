//! By when a job has ended, and by when it should have: what is said of it, and what comes of it.

use intray::{
    job::{Code, Millis, State},
    store::{Delay, JobRoute, Moment, Task, TimeError, TimeLimitsPatch},
};

use super::{Job, Queue};
use crate::fixtures::secret_digest;

const MONTH_MS: u64 = 2_592_000_000;
const PAST: &str = "must be later than now";

pub fn instant(moment: Moment, now: u64) -> u64 {
    match moment {
        Moment::In(ms) => now + u64::from(ms),
        Moment::At(at) => at.0,
    }
}

/// Which times of a job break a rule.
pub fn untimely(task: &Task, now: u64) -> Vec<TimeError> {
    let limits = TimeLimitsPatch { expires: task.limits.expires.map(Some), sla: task.limits.sla.map(Some) };
    let mut errors = untimely_changes(&limits, now);
    if task.limits.breached.is_some() {
        errors.retain(|error| (error.field, error.rule) != ("sla_at", PAST));
    }
    if let (Some(delay), Some(expires)) = (task.delay, task.limits.expires) {
        let due = match delay {
            Delay::For(ms) => now + u64::from(ms),
            Delay::Until(at) => at.0,
        };
        let field = if matches!(expires, Moment::In(_)) { "expires_ms" } else { "expires_at" };
        if due >= instant(expires, now) {
            errors.push(TimeError { field, rule: "must be later than the end of the delay" });
        }
    }
    errors
}

pub fn untimely_changes(limits: &TimeLimitsPatch, now: u64) -> Vec<TimeError> {
    let mut errors = Vec::new();
    for (time, field) in [(limits.expires, "expires_at"), (limits.sla, "sla_at")] {
        if let Some(Some(Moment::At(at))) = time {
            let rules = [(at.0 <= now, PAST), (at.0 > now + MONTH_MS, "must be at most 30 days from now")];
            errors.extend(
                rules.into_iter().filter(|(is_broken, _)| *is_broken).map(|(_, rule)| TimeError { field, rule }),
            );
        }
    }
    errors
}

impl Queue {
    pub fn take_limits(&mut self, id: Code, task: &Task) {
        let now = self.now;
        let job = self.job(id);
        job.expires = task.limits.expires.map(|moment| instant(moment, now));
        job.sla = task.limits.sla.map(|moment| instant(moment, now));
        job.breached = task.limits.breached == Some(true);
        job.is_routed |= job.expires.is_some() || job.sla.is_some();
    }

    /// A delayed job does not expire before it was ready. One that comes back by a backoff may, if its expiry stays.
    pub fn ends_within_delay(&self, id: Code, limits: &TimeLimitsPatch) -> Option<TimeError> {
        let (job, moment) = (&self.jobs[&id], limits.expires??);
        let expires = instant(moment, self.now);
        let field = if matches!(moment, Moment::In(_)) { "expires_ms" } else { "expires_at" };
        let is_broken = job.state == State::Delayed && expires <= job.at && job.expires != Some(expires);
        is_broken.then_some(TimeError { field, rule: "must be later than the end of the delay" })
    }

    /// Whether anything is different by it.
    pub fn change_limits(&mut self, id: Code, limits: &TimeLimitsPatch) -> bool {
        let now = self.now;
        let job = self.job(id);
        let before = (job.expires, job.sla, job.breached);
        if let Some(expires) = limits.expires {
            job.expires = expires.map(|moment| instant(moment, now));
        }
        if let Some(sla) = limits.sla {
            (job.sla, job.breached) = (sla.map(|moment| instant(moment, now)), false);
        }
        let is_changed = before != (job.expires, job.sla, job.breached);
        job.is_routed |= is_changed;
        if job.hold.is_some() {
            job.cut();
        }
        is_changed
    }

    /// A job that is named by an older reservation ends here if it has expired and nobody holds it.
    pub fn touch(&mut self, id: Code, secret: &Code) {
        let job = &self.jobs[&id];
        if job.is_over_unheld(self.now) && job.recall(&secret_digest(secret)).is_some() {
            self.cancel_expired(id);
        }
    }

    pub fn cancel_expired(&mut self, id: Code) {
        let stamp = self.stamp();
        self.cancel_at(id, "", stamp, "expired");
        self.job(id).is_cut_off = true;
    }

    /// An SLA that is over is breached once, unless the job had ended, or expires before.
    pub fn breach(&mut self, id: Code) {
        let (now, job) = (self.now, &self.jobs[&id]);
        let is_over = job.sla.is_some_and(|sla| sla <= now && job.expires.is_none_or(|expires| sla < expires));
        if is_over && !job.breached && job.state != State::Dead {
            self.job(id).breached = true;
            self.tell("sla-breached", id, "", "");
            self.count("breached");
        }
    }

    /// The job ends.
    pub fn stop_alarm(&mut self, id: Code) {
        self.breach(id);
        self.job(id).routing.handed = None;
    }

    /// All that is due. Whether there was anything.
    pub fn ring(&mut self) -> bool {
        let now = self.now;
        let alarms = self.jobs.iter().filter_map(|(id, job)| Some((job.alarm()?, *id)));
        let mut due: Vec<_> = alarms.filter(|(at, _)| *at <= now).collect();
        due.sort_unstable();
        for (_, id) in &due {
            let job = &self.jobs[id];
            if job.is_over(now) && job.hold.is_some() {
                self.expire(*id);
            } else if job.is_over_unheld(now) {
                self.cancel_expired(*id);
            } else {
                self.breach(*id);
                self.fall_back(*id);
            }
        }
        self.end_batches();
        !due.is_empty()
    }
}

impl Job {
    pub fn is_over(&self, now: u64) -> bool {
        self.state != State::Dead && self.has_expired(now)
    }

    /// A dead job does not, and is not requeued after it.
    pub fn has_expired(&self, now: u64) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }

    pub fn is_over_unheld(&self, now: u64) -> bool {
        matches!(self.state, State::Waiting | State::Blocked | State::Delayed) && self.is_over(now)
    }

    /// A reservation ends when the job expires, if not before. Returns when.
    pub fn cut(&mut self) -> u64 {
        let hold = self.hold.as_mut().expect("it is held");
        hold.deadline = self.expires.map_or(hold.uncut, |expires| hold.uncut.min(expires));
        hold.deadline
    }

    /// When time next does something to it.
    pub fn alarm(&self) -> Option<u64> {
        let has_ended = matches!(self.state, State::Completed | State::Cancelled | State::Dead);
        let times = [self.expires, self.sla.filter(|_| !self.breached), self.routing.alarm(self.hold.is_some())];
        times.into_iter().flatten().min().filter(|_| !has_ended)
    }

    pub fn route(&self) -> JobRoute {
        let (expires_at, sla_at) = (self.expires.map(Millis), self.sla.map(Millis));
        let (breached, is_over) = (self.breached, self.is_cut_off);
        let mut route = JobRoute { expires_at, sla_at, breached, is_over, ..JobRoute::default() };
        self.routing.write(&mut route);
        route
    }
}
