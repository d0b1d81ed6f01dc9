//! Reserve: the next job in line, what a worker holds already, or what the same call was given before.

use std::collections::BTreeSet;

use intray::job::{Code, EligibilityRule, State};

use super::{Caller, Hold, Passed, Queue};

/// Jobs of the line that one script may look at in vain.
const CANDIDATES: usize = 200;

pub struct Asked {
    pub caller: Caller,
    /// As the events have it.
    pub access: String,
    pub nonce: String,
    pub limit: usize,
    pub lease_ms: Option<u32>,
    pub id: Option<Code>,
}

#[derive(Debug)]
pub enum Given {
    /// In this order. None of them: there is nothing.
    New(Vec<Code>),
    /// The worker has them already.
    Held(Vec<Code>),
    /// Something waits, which the worker has skipped.
    Skipped(Passed),
    /// Something waits, which is for others.
    Ineligible(Passed),
    /// Something waits, which a full gate holds up.
    HeldUp(Passed),
    NotEligible(EligibilityRule),
    UnknownJob,
    NotWaiting(State),
    Paused,
    WorkerLimit,
}

impl Queue {
    /// One call. No job is the oldest of those reserved in one instant: they come as they came in `answer`.
    pub fn reserve(&mut self, asked: &Asked, answer: &[Code]) -> Given {
        self.sweep_if_overdue();
        let mine = self.held_in_order(asked.caller.worker, answer);
        let again: Vec<_> = mine.iter().copied().filter(|id| self.nonce_of(*id) == asked.nonce).collect();
        if !again.is_empty() {
            return Given::Held(again.into_iter().map(|id| self.replay(id)).collect());
        }
        let limit = match asked.caller.worker {
            "" => usize::MAX,
            _ if self.settings.worker_limit == 0 => usize::MAX,
            _ => self.settings.worker_limit as usize,
        };
        if let Some(id) = asked.id {
            return self.reserve_this(id, asked, mine.len() >= limit);
        }
        if mine.len() >= limit {
            return Given::Held(mine.into_iter().take(asked.limit).map(|id| self.resume(id, asked)).collect());
        }
        let (mut given, mut looked, mut seen, mut passed) = (Vec::new(), 0, BTreeSet::new(), Passed::default());
        while !self.settings.paused && given.len() < asked.limit.min(limit - mine.len()) {
            let Some(id) = self.next(asked, &seen) else { break };
            if self.passes_over(id, asked, &mut passed) {
                seen.insert(id);
                looked += 1;
                continue;
            }
            if let Some(gate) = self.full_gate(&self.jobs[&id]) {
                self.block(id, gate);
                looked += 1;
                // The look-ahead limit of a script: a caller that has a job by then gets no more.
                if looked >= CANDIDATES && !given.is_empty() {
                    break;
                }
                continue;
            }
            self.promise_order(id, &asked.caller);
            given.push(self.take(id, asked));
        }
        match passed {
            _ if !given.is_empty() || self.settings.paused => Given::New(given),
            passed if passed.skipped => Given::Skipped(passed),
            passed if self.is_kept_from(&passed) => Given::Ineligible(passed),
            passed if passed.held_up => Given::HeldUp(passed),
            _ => Given::New(given),
        }
    }

    /// For this caller it is not in line, nor for any once it has expired: a job parked at its gates is put back instead. A job that
    /// is not for everybody is never parked, so nothing is parked after it either.
    fn passes_over(&mut self, id: Code, asked: &Asked, passed: &mut Passed) -> bool {
        let (job, caller) = (&self.jobs[&id], &asked.caller);
        let line = caller.line_of(job).expect("it waits where the caller may look");
        let (is_over, is_skipped) = (job.is_over(self.now), job.is_skipped_by(caller.worker));
        let is_barred = self.bars(id, caller).is_some();
        let is_held_up = job.is_restricted() && self.full_gate(job).is_some();
        if !is_over && (is_skipped || is_barred || is_held_up) {
            passed.barred |= is_barred;
            passed.skipped |= !is_barred && is_skipped;
            passed.held_up |= !is_skipped && !is_barred;
            passed.lines.insert(line);
        }
        if !job.is_restricted() && (is_over || is_skipped || is_barred) {
            self.batons(id);
        }
        is_over || is_skipped || is_barred || is_held_up
    }

    /// A call that names another queue too looks first, and moves nothing that is overdue unless something can be had.
    pub fn reserve_with_another(&mut self, asked: &Asked, answer: &[Code]) -> Given {
        let live: Vec<_> =
            self.held_by(asked.caller.worker).into_iter().filter(|id| self.jobs[id].is_live(self.now)).collect();
        let is_again = self.held_by(asked.caller.worker).iter().any(|id| self.nonce_of(*id) == asked.nonce);
        let max = if asked.caller.worker.is_empty() { 0 } else { self.settings.worker_limit as usize };
        let is_at_limit = max > 0 && live.len() >= max;
        let can_give = self.waiting_for_all() + self.waiting_for(&asked.caller) > 0 || self.is_anything_overdue();
        if !is_again && !is_at_limit && (self.settings.paused || !can_give) {
            return Given::New(Vec::new());
        }
        self.sweep_if_overdue();
        if !is_again && !is_at_limit {
            return self.reserve(asked, answer);
        }
        let mine = self.held_in_order(asked.caller.worker, answer);
        let again: Vec<_> = mine.iter().copied().filter(|id| self.nonce_of(*id) == asked.nonce).collect();
        if !again.is_empty() {
            return Given::Held(again.into_iter().map(|id| self.replay(id)).collect());
        }
        let mine = if asked.caller.worker.is_empty() { Vec::new() } else { mine };
        Given::Held(mine.into_iter().take(asked.limit).map(|id| self.resume(id, asked)).collect())
    }

    /// The lowest place in the lines that the caller may look into, but for those that were passed over.
    fn next(&self, asked: &Asked, seen: &BTreeSet<Code>) -> Option<Code> {
        let is_next = |id: &Code| !seen.contains(id) && asked.caller.line_of(&self.jobs[id]).is_some();
        self.in_state(State::Waiting).into_iter().find(is_next)
    }

    fn reserve_this(&mut self, id: Code, asked: &Asked, is_at_limit: bool) -> Given {
        let Some(job) = self.jobs.get(&id) else { return Given::UnknownJob };
        let is_held = job.hold.is_some() && job.closing().is_none();
        if is_held && !asked.caller.worker.is_empty() && job.worker() == asked.caller.worker {
            return Given::Held(vec![self.resume(id, asked)]);
        }
        let rule = self.bars(id, &asked.caller);
        match (job.state, rule) {
            _ if job.is_over_unheld(self.now) => Given::NotWaiting(State::Cancelled),
            (State::Waiting, Some(rule)) => Given::NotEligible(rule),
            (State::Waiting, None) if self.settings.paused => Given::Paused,
            (State::Waiting, None) if is_at_limit => Given::WorkerLimit,
            (State::Waiting, None) => match self.full_gate(job) {
                None => Given::New(vec![self.take(id, asked)]),
                Some(_) if job.is_restricted() => Given::NotWaiting(State::Blocked),
                Some(gate) => {
                    self.block(id, gate);
                    Given::NotWaiting(State::Blocked)
                }
            },
            (state, _) => Given::NotWaiting(state),
        }
    }

    fn take(&mut self, id: Code, asked: &Asked) -> Code {
        let lease_ms = asked.lease_ms.or(self.jobs[&id].options.lease_ms).unwrap_or(self.settings.lease_ms);
        let hold = Hold {
            secret: None,
            nonce: asked.nonce.clone(),
            worker: asked.caller.worker,
            reserved_at: self.now,
            lease_ms,
            uncut: self.capped(self.now + u64::from(lease_ms), self.now),
            deadline: 0,
            resumes: 0,
            replayed: false,
            grace: None,
            closing: None,
            undone: None,
        };
        self.handed_out(id);
        self.give_back(id);
        self.take_part(id, asked.caller.worker);
        let job = self.job(id);
        job.hold = Some(hold);
        job.cut();
        job.state = State::Reserved;
        job.counts.handed_out += 1;
        self.tell("reserved", id, asked.caller.worker, &asked.access);
        self.count("handed_out");
        id
    }

    /// The same reservation for the same person, who has come back if they had left.
    fn resume(&mut self, id: Code, asked: &Asked) -> Code {
        let hold = self.jobs[&id].hold.clone().expect("a reserved job has a lease");
        let lease_ms = asked.lease_ms.unwrap_or(hold.lease_ms);
        let uncut = self.capped(self.now + u64::from(lease_ms), hold.reserved_at).max(hold.uncut);
        let (nonce, resumes) = (asked.nonce.clone(), hold.resumes + 1);
        let job = self.job(id);
        job.hold = Some(Hold { nonce, lease_ms, uncut, resumes, replayed: false, grace: None, ..hold });
        job.cut();
        self.tell("resumed", id, asked.caller.worker, &asked.access);
        id
    }

    /// A repeated call. It is marked, so that the undo of the first try does not take the job from the second.
    fn replay(&mut self, id: Code) -> Code {
        self.job(id).hold.as_mut().expect("a reserved job has a lease").replayed = true;
        id
    }

    pub fn capped(&self, deadline: u64, reserved_at: u64) -> u64 {
        match u64::from(self.settings.max_hold_ms) {
            0 => deadline,
            max => deadline.min(reserved_at + max),
        }
    }

    fn held_in_order(&self, worker: &str, answer: &[Code]) -> Vec<Code> {
        let mut held = self.held_by(worker);
        let since = |id: &Code| self.jobs[id].hold.as_ref().map(|hold| hold.reserved_at);
        held.sort_by_key(|id| (since(id), answer.iter().position(|known| known == id).unwrap_or(usize::MAX)));
        held
    }

    /// What a worker holds, the oldest first. What they have completed is over for them.
    pub fn held_by(&self, worker: &str) -> Vec<Code> {
        let held = self.jobs.iter().filter_map(|(id, job)| Some((job.hold.as_ref()?, *id)));
        let mut held: Vec<_> = held.filter(|(hold, _)| hold.worker == worker && hold.closing.is_none()).collect();
        held.sort_by_key(|(hold, id)| (hold.reserved_at, *id));
        held.into_iter().map(|(_, id)| id).collect()
    }

    fn nonce_of(&self, id: Code) -> &str {
        self.jobs[&id].hold.as_ref().map_or("", |hold| &hold.nonce)
    }
}
