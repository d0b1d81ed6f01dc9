//! sweep: the background task does what time has brought about.

use intray::store::Swept;

use super::prelude::*;
use crate::{
    fixtures::STAMPS,
    reference::{Job, YOUNG_MS},
};

#[derive(Debug, Clone)]
pub struct Sweep;

impl Operation for Sweep {
    const OFTEN: Often = Often { everything: 8, few_jobs: 10, desk: 8, routing: 18, many: 2 };
    const MUST_BE_MET: &'static [&'static str] =
        &["sweep forgot jobs", "sweep forgot a batch", "event cancelled expired"];

    fn draw(_: Theme) -> BoxedStrategy<Self> {
        Just(Self).boxed()
    }

    async fn run(&self, walk: &mut Walk<'_>) -> Verdict {
        let due = walk.real.handle.next_due(&walk.real.queue).await.map_err(broken)?;
        let expected = walk.model.moments().first().map(|at| at.saturating_sub(walk.model.now));
        same("when the sweep is due", &due, &expected)?;
        let answer = walk.real.handle.sweep(&walk.real.queue).await;
        let (batches, jobs) = (walk.model.batches.len(), walk.model.jobs.len());
        walk.answered("sweep", answer, Queue::sweep)?;
        if walk.model.batches.len() < batches {
            walk.met("sweep forgot a batch");
        } else if walk.model.jobs.len() < jobs {
            walk.met("sweep forgot jobs");
        }
        Ok(())
    }
}

impl Queue {
    /// Steps until nothing more is to be done.
    fn sweep(&mut self) -> Swept {
        let mut swept = Swept::default();
        loop {
            let more = self.sweep_step(&mut swept);
            if !self.ring() && !more {
                break;
            }
        }
        swept.next_ms = self.moments().first().map(|moment| moment.saturating_sub(self.now));
        swept
    }

    /// A batch is looked at when nothing else is overdue. Answers whether there may be more to do.
    fn sweep_step(&mut self, swept: &mut Swept) -> bool {
        let before = swept.expired + swept.due + swept.forgotten;
        self.move_overdue(swept);
        swept.forgotten += self.forget_ended();
        let batch = self.first_to_wake();
        if let Some(code) = batch.filter(|_| swept.expired + swept.due + swept.forgotten == before) {
            swept.forgotten += self.wake(code);
        }
        self.end_batches();
        self.forget_order();
        batch.is_some()
    }

    fn move_overdue(&mut self, swept: &mut Swept) {
        let now = self.now;
        for id in self.in_state(State::Reserved) {
            if self.jobs[&id].is_overdue(now) {
                swept.expired += u64::from(self.jobs[&id].closing().is_none());
                swept.dead += u64::from(self.expire(id));
            }
        }
        for id in self.in_state(State::Delayed) {
            if self.jobs[&id].at <= now {
                swept.due += 1;
                self.lapse(id);
            }
        }
    }

    /// Whether a sweep of what is urgent may make room.
    pub fn may_make_room(&self) -> bool {
        let now = self.now;
        let may = |job: &Job| job.is_overdue(now) || job.alarm().is_some_and(|at| at <= now);
        self.jobs.values().any(may)
    }

    pub fn sweep_urgent(&mut self) {
        loop {
            self.move_overdue(&mut Swept::default());
            self.end_batches();
            self.forget_order();
            if !self.ring() {
                return;
            }
        }
    }

    /// A call that decides by more jobs than it names lets time act first.
    pub fn catch_up(&mut self) {
        if self.is_anything_overdue() || self.may_make_room() {
            self.sweep_urgent();
        }
    }

    /// Overdue jobs go first in every reserve, and nothing else goes with them.
    pub fn sweep_if_overdue(&mut self) {
        if self.is_anything_overdue() {
            self.sweep_urgent();
        }
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
            self.forget_kept(*id);
        }
        gone.len() as u64
    }

    /// What its timer was for. Answers how many jobs went.
    fn wake(&mut self, code: Code) -> u64 {
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
}
