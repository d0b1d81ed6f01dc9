//! What producers and operators do to jobs.

use intray::{
    job::{Code, State},
    queue::{Cancellation, Purged, Reprioritized, Requeued},
};

use super::{How, Queue};

impl Queue {
    pub fn cancel(&mut self, id: Code, force: bool) -> Cancellation {
        let now = self.now;
        let Some(job) = self.jobs.get(&id) else { return Cancellation::UnknownJob };
        match job.state {
            State::Cancelled => return Cancellation::Cancelled,
            State::Completed => return Cancellation::WrongState(State::Completed),
            State::Dead if self.is_kept(id) => return Cancellation::WrongState(State::Dead),
            State::Reserved if job.is_live(now) && !force => return Cancellation::WrongState(State::Reserved),
            _ => {}
        }
        let mut worker = "";
        if job.is_overdue(now) {
            self.run_out(id);
        } else if job.hold.is_some() {
            worker = job.worker();
            self.let_go(id, Some(How::Cancelled));
        }
        self.cancel_now(id, worker);
        Cancellation::Cancelled
    }

    /// A job that nobody holds; one that was in line passes the batons.
    pub(super) fn cancel_now(&mut self, id: Code, worker: &str) {
        let stamp = self.stamp();
        self.cancel_at(id, worker, stamp);
    }

    fn cancel_at(&mut self, id: Code, worker: &str, stamp: u64) {
        let was_in_line = self.jobs[&id].state == State::Waiting;
        self.give_back(id);
        let job = self.job(id);
        job.end(State::Cancelled, stamp);
        job.has_payload = false;
        let is_member = job.batch.is_some();
        if was_in_line {
            self.batons(id);
        }
        self.free_key(id);
        self.tell("cancelled", id, worker, "");
        self.count("cancelled");
        self.count(if is_member { "batch_cancelled_kept" } else { "cancelled_kept" });
    }

    /// Takes a job from its holder. `None`: there is no such job.
    pub fn release(&mut self, id: Code) -> Option<u64> {
        let job = self.jobs.get(&id)?;
        if job.is_overdue(self.now) {
            self.expire(id);
            return Some(0);
        }
        if job.hold.is_none() {
            return Some(0);
        }
        let worker = job.worker();
        self.let_go(id, Some(How::Released));
        self.job(id).counts.released += 1;
        self.tell("released", id, worker, "");
        self.count("released");
        self.come_back(id);
        Some(1)
    }

    pub fn release_worker(&mut self, worker: &str) -> u64 {
        let mut held = self.held_by(worker);
        let nonce = |id: &Code| self.jobs[id].hold.as_ref().map(|hold| hold.nonce.clone());
        held.sort_by_key(|id| (nonce(id), *id));
        held.into_iter().filter_map(|id| self.release(id)).sum()
    }

    pub fn requeue(&mut self, id: Code) -> Requeued {
        let Some(job) = self.jobs.get(&id) else { return Requeued::UnknownJob };
        match job.state {
            State::Dead if self.is_dead_for_good(id) => return Requeued::WrongState(State::Dead),
            State::Dead => self.revive(id),
            State::Delayed => self.fall_due(id),
            State::Completed | State::Cancelled => return Requeued::WrongState(job.state),
            State::Waiting | State::Blocked | State::Reserved => return Requeued::Count { requeued: 0, next: None },
        }
        Requeued::Count { requeued: 1, next: None }
    }

    pub fn requeue_all(&mut self) -> Requeued {
        let mut dead = self.in_state(State::Dead);
        dead.retain(|id| !self.is_dead_for_good(*id));
        for id in &dead {
            self.revive(*id);
        }
        Requeued::Count { requeued: dead.len() as u64, next: None }
    }

    /// What a batch came to stays so, and the jobs of one that was cancelled do not come back.
    fn is_dead_for_good(&self, id: Code) -> bool {
        self.is_kept(id) || self.is_called_off(id)
    }

    /// Another life: attempts start again, at the end of the line, with its dedupe key if nobody has taken it since.
    fn revive(&mut self, id: Code) {
        let job = self.job(id);
        job.attempts = 0;
        job.skips.clear();
        job.place = None;
        if let Some(key) = job.key {
            self.keys.entry(key).or_insert(id);
        }
        self.ensure_place(id, None);
        self.ready(id);
        self.tell("requeued", id, "", "");
        self.count("requeued");
    }

    pub fn reprioritize(&mut self, id: Code, priority: u8) -> Reprioritized {
        let Some(job) = self.jobs.get_mut(&id) else { return Reprioritized::UnknownJob };
        let state = job.state;
        if matches!(state, State::Completed | State::Dead | State::Cancelled) {
            return Reprioritized::WrongState(state);
        }
        if job.priority != priority {
            job.priority = priority;
            if job.place.is_some() {
                self.give_back(id);
                self.job(id).place = None;
                self.ensure_place(id, None);
            }
            self.line_changed(id);
            self.tell("changed", id, "", "");
        }
        Reprioritized::Changed(self.jobs[&id].state)
    }

    /// A job has another place. If it is the first one parked at its gate now, and there is room, it is put back; if it
    /// is in line, somebody parked at one of its gates may be before it now.
    fn line_changed(&mut self, id: Code) {
        let job = &self.jobs[&id];
        match (job.state, job.parked_at) {
            (State::Waiting, _) => self.batons(id),
            (State::Blocked, Some(gate)) if self.first_parked(gate) == Some(id) => self.baton(gate),
            _ => {}
        }
    }

    /// `None`: whatever is not reserved; and what remembers enqueues that met a twin.
    pub fn purge(&mut self, states: Option<State>, force: bool) -> Purged {
        let all = [State::Blocked, State::Waiting, State::Delayed, State::Dead, State::Completed, State::Cancelled];
        let mut removed = 0;
        for state in states.as_ref().map_or(&all[..], std::slice::from_ref) {
            removed += self.remove_all(*state);
        }
        if states.is_none() {
            let stubs: Vec<_> = self.stubs.keys().copied().collect();
            removed += stubs.len() as u64;
            stubs.into_iter().for_each(|id| self.forget(id));
            removed += if force { self.remove_all(State::Reserved) } else { 0 };
        }
        Purged { removed, next: None }
    }

    /// A job of a batch is cancelled instead, and stays as long as its batch; what a batch came to stays as it is.
    fn remove_all(&mut self, state: State) -> u64 {
        let is_ended = matches!(state, State::Completed | State::Cancelled);
        let mut ids = self.in_state(state);
        ids.retain(|id| !self.is_kept(*id));
        if is_ended {
            ids.retain(|id| self.jobs[id].batch.is_none());
        }
        for &id in &ids {
            let (is_member, worker) = (self.jobs[&id].batch.is_some(), self.jobs[&id].worker());
            if state == State::Reserved {
                self.let_go(id, is_member.then_some(How::Cancelled));
            }
            match (is_ended, is_member) {
                (false, true) => self.cancel_now(id, worker),
                // What goes at once has no time of its end.
                (false, false) => self.cancel_at(id, worker, 0),
                (true, _) => {}
            }
            if !is_member {
                self.forget(id);
            }
        }
        self.end_batches();
        ids.len() as u64
    }
}
