//! How batches end: by themselves, by being called off, and when their time is over.

use intray::job::{BatchState, Code, State};

use super::{Batch, CallingOff, Event, Queue};

impl Queue {
    pub fn call_off(&mut self, code: Code) -> CallingOff {
        let Some(batch) = self.batches.get(&code) else { return CallingOff::Unknown };
        match batch.state {
            BatchState::Completed | BatchState::Failed => return CallingOff::Over(batch.state),
            BatchState::Cancelled => return CallingOff::Done,
            BatchState::Open => self.close(code),
            BatchState::Sealed => {}
        }
        self.batch(code).called_off = true;
        for id in self.batches[&code].members.clone() {
            if matches!(self.jobs[&id].state, State::Waiting | State::Blocked | State::Delayed) {
                self.cancel_now(id, "");
            }
        }
        self.end_batches();
        CallingOff::Done
    }

    /// The end of each step. A batch ends once, when it is sealed and none of its jobs can be handed out any more.
    pub fn end_batches(&mut self) {
        for code in self.batches.keys().copied().collect::<Vec<_>>() {
            let batch = &self.batches[&code];
            let states: Vec<_> = batch.members.iter().map(|id| self.jobs[id].state).collect();
            let is_out = |state: &State| !matches!(state, State::Completed | State::Dead | State::Cancelled);
            if batch.state != BatchState::Sealed || states.iter().any(is_out) {
                continue;
            }
            let end = match (batch.called_off, states.contains(&State::Dead)) {
                (true, _) => BatchState::Cancelled,
                (false, true) => BatchState::Failed,
                (false, false) => BatchState::Completed,
            };
            let now = self.now;
            let batch = self.batch(code);
            (batch.state, batch.ended_at, batch.timer) = (end, Some(now), Some(now));
            let (job, client) = (code.as_str().to_owned(), batch.client.to_owned());
            let (kind, note) = ("batch-completed".to_owned(), end.word().to_owned());
            self.told.push(Event { job, kind, worker: String::new(), client, note });
        }
    }

    /// What its timer was for. Answers how many jobs went.
    pub(super) fn wake(&mut self, code: Code) -> u64 {
        if self.batches[&code].state == BatchState::Open {
            self.close(code);
            return 0;
        }
        let members = self.batches.remove(&code).map(|batch| batch.members).unwrap_or_default();
        for id in &members {
            let kept = match self.jobs.remove(id).map(|job| job.state) {
                Some(State::Completed) => "batch_completed_kept",
                Some(State::Cancelled) => "batch_cancelled_kept",
                _ => continue,
            };
            *self.totals.entry(kept).or_default() -= 1;
        }
        members.len() as u64
    }

    /// The first batch that time moves now.
    pub(super) fn first_to_wake(&self) -> Option<Code> {
        let due = self.batches.iter().filter(|(_, batch)| self.moment_of(batch).is_some_and(|at| at <= self.now));
        due.min_by_key(|(code, batch)| (batch.rank(), **code)).map(|(code, _)| *code)
    }

    pub(super) fn moment_of(&self, batch: &Batch) -> Option<u64> {
        Some(batch.timer? + if batch.is_over() { u64::from(self.settings.retention_ms) } else { 0 })
    }

    /// What a batch that is over came to is not changed any more.
    pub(super) fn is_kept(&self, id: Code) -> bool {
        let job = &self.jobs[&id];
        job.state == State::Dead && job.batch.is_some_and(|batch| self.batches[&batch].is_over())
    }

    pub(super) fn is_called_off(&self, id: Code) -> bool {
        self.jobs[&id].batch.is_some_and(|batch| self.batches[&batch].called_off)
    }
}
