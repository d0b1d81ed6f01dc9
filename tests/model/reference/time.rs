//! What time brings about: expiry, delays that fall due, the end of retention.

use intray::{
    job::{Code, State},
    queue::Swept,
};

use super::{Ended, How, Job, Queue, job::Grace};
use crate::words::{STAMPS, secret_digest};

const RING: usize = 5;
/// No ended job goes before.
const YOUNG_MS: u64 = 10_000;
const DAY_MS: u64 = 86_400_000;

impl Queue {
    /// A reservation ends. `None`: it was never delivered, so nobody can ask for it.
    pub(super) fn let_go(&mut self, id: Code, how: Option<How>) {
        let now = self.now;
        let job = self.job(id);
        let hold = job.hold.take().expect("somebody holds it");
        if let (Some(how), Some(secret)) = (how, hold.secret) {
            let digest = secret_digest(&secret);
            let (reserved_at, worker) = (hold.reserved_at, hold.worker);
            job.ring.insert(0, Ended { digest, how, at: now, reserved_at, worker, reason: "" });
            job.ring.truncate(RING);
        }
        // Its units are back; whoever waits for them comes before it is placed itself.
        self.batons(id);
    }

    /// Back to its place; but the jobs of a batch that was called off do not come back.
    pub(super) fn come_back(&mut self, id: Code) {
        if self.is_called_off(id) { self.cancel_now(id, "") } else { self.ready(id) }
    }

    /// It ends by its deadline, which counts an attempt; or by the end of a grace, which counts as abandoned.
    pub(super) fn run_out(&mut self, id: Code) {
        let (worker, grace) = (self.jobs[&id].worker(), self.jobs[&id].grace());
        self.count_end_of_time(id);
        self.let_go(id, Some(if grace.is_some() { How::GraceOver } else { How::Expired }));
        let job = self.job(id);
        match grace {
            Some(Grace { skips: true }) => job.skip(worker),
            Some(Grace { skips: false }) => {}
            None => job.attempts += 1,
        }
        let (kind, note) = if grace.is_some() { ("abandoned", "grace") } else { ("expired", "") };
        self.tell(kind, id, worker, note);
    }

    pub(super) fn count_end_of_time(&mut self, id: Code) {
        let is_left = self.jobs[&id].grace().is_some();
        let counts = &mut self.job(id).counts;
        *(if is_left { &mut counts.abandoned } else { &mut counts.expired }) += 1;
        self.count(if is_left { "abandoned" } else { "expired" });
    }

    /// Answers whether the job is dead by it.
    pub(super) fn expire(&mut self, id: Code) -> bool {
        let (worker, grace) = (self.jobs[&id].worker(), self.jobs[&id].grace());
        self.run_out(id);
        let died = grace.is_none() && self.is_out_of_attempts(id);
        if died {
            self.die(id, worker)
        } else {
            self.come_back(id)
        }
        died
    }

    pub(super) fn is_out_of_attempts(&self, id: Code) -> bool {
        let job = &self.jobs[&id];
        let most = job.said.max_attempts.unwrap_or(self.settings.max_attempts);
        most > 0 && job.attempts >= most
    }

    pub(super) fn die(&mut self, id: Code, worker: &str) {
        let stamp = self.stamp();
        self.give_back(id);
        let job = self.job(id);
        (job.state, job.at) = (State::Dead, stamp);
        self.free_key(id);
        self.tell("dead", id, worker, "");
        self.count("dead");
    }

    pub(super) fn fall_due(&mut self, id: Code) {
        self.ensure_place(id, None);
        self.ready(id);
        self.tell("due", id, "", "");
    }

    pub fn is_anything_overdue(&self) -> bool {
        let now = self.now;
        self.jobs.values().any(|job| job.is_overdue(now) || job.state == State::Delayed && job.at <= now)
    }

    /// Steps until nothing more is to be done.
    pub fn sweep(&mut self) -> Swept {
        let mut swept = Swept::default();
        while self.sweep_step(&mut swept) {}
        swept.next_ms = self.moments().first().map(|moment| moment.saturating_sub(self.now));
        swept
    }

    /// A batch is looked at when nothing else is overdue. Answers whether there may be more to do.
    pub fn sweep_step(&mut self, swept: &mut Swept) -> bool {
        let (now, before) = (self.now, swept.expired + swept.due + swept.forgotten);
        for id in self.in_state(State::Reserved) {
            if self.jobs[&id].is_overdue(now) {
                swept.expired += 1;
                swept.dead += u64::from(self.expire(id));
            }
        }
        for id in self.in_state(State::Delayed) {
            if self.jobs[&id].at <= now {
                swept.due += 1;
                self.fall_due(id);
            }
        }
        swept.forgotten += self.forget_ended();
        let batch = self.first_to_wake();
        if let Some(code) = batch.filter(|_| swept.expired + swept.due + swept.forgotten == before) {
            swept.forgotten += self.wake(code);
        }
        self.end_batches();
        self.forget_order();
        batch.is_some()
    }

    /// What is out of retention; if nothing is, what is more than may be kept.
    fn forget_ended(&mut self) -> u64 {
        let (now, retention) = (self.now, u64::from(self.settings.retention_ms));
        let ended = self.ended();
        let mut gone: Vec<_> = ended.iter().filter(|(at, _)| at / STAMPS + retention <= now).collect();
        if gone.is_empty() {
            let surplus = ended.len().saturating_sub(self.settings.retention_max as usize);
            gone = ended.iter().filter(|(at, _)| at / STAMPS + YOUNG_MS <= now).take(surplus).collect();
        }
        for (_, id) in &gone {
            self.forget(*id);
        }
        gone.len() as u64
    }

    /// Ended jobs and stubs, the oldest first. Those of a batch go with it.
    fn ended(&self) -> Vec<(u64, Code)> {
        let is_ended = |job: &Job| matches!(job.state, State::Completed | State::Cancelled) && job.batch.is_none();
        let jobs = self.jobs.iter().filter(|(_, job)| is_ended(job)).map(|(id, job)| (job.at, *id));
        let mut ended: Vec<_> = jobs.chain(self.stubs.iter().map(|(id, stub)| (stub.at, *id))).collect();
        ended.sort_unstable();
        ended
    }

    pub(super) fn forget(&mut self, id: Code) {
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
        let mut moments: Vec<_> = self.open().map(Job::score).chain(ended).chain(batches).collect();
        moments.sort_unstable();
        moments
    }

    /// A queue without jobs and settings that nobody has used for a day is let go.
    pub fn retire(&mut self) {
        let is_unseen = self.registered.is_some_and(|at| at + DAY_MS <= self.now);
        let is_empty = self.jobs.is_empty() && self.stubs.is_empty() && self.batches.is_empty();
        if is_unseen && is_empty && self.chosen.is_empty() {
            self.registered = None;
            self.totals.clear();
            self.tops.clear();
            self.turns.clear();
        }
    }
}
