//! Locks and batch limits are one thing: a gate, a name with a capacity. Its use is the number of reserved jobs that need
//! it, counted again each time.

use std::collections::BTreeMap;

use intray::job::{Code, State};

use super::{Caller, Gate, Job, Queue};

impl Queue {
    pub fn used(&self, gate: Gate) -> u32 {
        self.jobs.values().filter(|job| job.hold.is_some() && job.gates().contains(&gate)).count() as u32
    }

    /// `None`: no limit.
    pub fn capacity(&self, gate: Gate) -> Option<u32> {
        match gate {
            Gate::Lock(_) => Some(1),
            Gate::Batch(batch) => self.batches[&batch].capacity(),
        }
    }

    fn has_room(&self, gate: Gate) -> bool {
        self.capacity(gate).is_none_or(|capacity| self.used(gate) < capacity)
    }

    pub fn full_gate(&self, job: &Job) -> Option<Gate> {
        job.gates().into_iter().find(|gate| !self.has_room(*gate))
    }

    /// Ready: into its lines, or into everybody's, or parked at the first gate without room, which is for everybody's jobs only.
    pub fn ready(&mut self, id: Code) {
        let job = &self.jobs[&id];
        let gate = self.full_gate(job).filter(|_| job.routing.lines().is_empty());
        let job = self.job(id);
        job.state = if gate.is_some() { State::Blocked } else { State::Waiting };
        job.parked_at = gate;
    }

    /// The baton: if there is room, the first job parked at the gate goes back to its place.
    pub fn baton(&mut self, gate: Gate) {
        if let Some(id) = self.first_parked(gate).filter(|_| self.has_room(gate)) {
            let job = self.job(id);
            (job.state, job.parked_at) = (State::Waiting, None);
        }
    }

    pub fn first_parked(&self, gate: Gate) -> Option<Code> {
        let parked = self.jobs.iter().filter(|(_, job)| job.parked_at == Some(gate));
        parked.min_by_key(|(_, job)| (job.place, job.arrival)).map(|(id, _)| *id)
    }

    /// A job has left everybody's line unreserved, or has given its units back: the baton at each of its gates.
    pub fn batons(&mut self, id: Code) {
        for gate in self.jobs[&id].gates() {
            self.baton(gate);
        }
    }

    /// A job of everybody's line met with a full gate.
    pub fn block(&mut self, id: Code, gate: Gate) {
        let job = self.job(id);
        (job.state, job.parked_at) = (State::Blocked, Some(gate));
        self.batons(id);
        self.tell("blocked", id, "", "");
    }

    /// What is handed out next is the first that can be: nobody before it, in line or parked, could have been taken, but
    /// for those that this worker has skipped or may not have.
    pub fn promise_order(&mut self, id: Code, caller: &Caller) {
        let place = (self.jobs[&id].place, self.jobs[&id].arrival);
        let is_before =
            |job: &Job| matches!(job.state, State::Waiting | State::Blocked) && (job.place, job.arrival) < place;
        let mut rooms = BTreeMap::new();
        let mut has_room = |gate: Gate| *rooms.entry(gate).or_insert_with(|| self.has_room(gate));
        let may_have = |id: &Code, job: &Job| {
            !job.is_skipped_by(caller.worker) && !job.is_over(self.now) && self.bars(*id, caller).is_none()
        };
        let mut before = self.jobs.iter().filter(|(id, job)| is_before(job) && may_have(id, job));
        let passed = before.find(|(_, job)| job.gates().into_iter().all(&mut has_room)).map(|(_, job)| job);
        if let Some(passed) = passed {
            self.broken = Some(format!("{} is handed out, and {passed:?} could be", id.as_str()));
        }
    }
}
