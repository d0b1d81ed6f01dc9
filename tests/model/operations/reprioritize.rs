//! reprioritize: a producer or an operator gives a job another priority.

use intray::queue::Reprioritized;

use super::prelude::*;
use crate::words::{PRIORITIES, priority};

#[derive(Debug, Clone)]
pub struct Reprioritize {
    job: Which,
    priority: u8,
}

impl Operation for Reprioritize {
    const OFTEN: Often = Often { everything: 12, few_jobs: 8, desk: 0, many: 0 };

    fn draw(theme: Theme) -> BoxedStrategy<Self> {
        let job = match theme {
            Theme::FewJobs => which(State::Blocked).boxed(),
            Theme::Everything | Theme::Desk | Theme::Many => {
                prop_oneof![which(State::Waiting), which(State::Blocked)].boxed()
            }
        };
        (job, select(&PRIORITIES)).prop_map(|(job, priority)| Self { job, priority }).boxed()
    }

    async fn run(&self, walk: &mut Walk<'_>) -> Verdict {
        let id = walk.which(self.job);
        let answer = walk.real.handle.reprioritize(id.clone(), priority(self.priority), None).await;
        walk.answered("reprioritize", answer, |model| model.reprioritize(id.code, self.priority))
    }
}

impl Queue {
    fn reprioritize(&mut self, id: Code, priority: u8) -> Reprioritized {
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
}
