//! Where jobs wait: in everybody's line or in those of some, how they come from one into another, and what a caller is listed.

use std::collections::BTreeSet;

use intray::{
    job::{Code, EligibilityRule, Line, State},
    store::RoutingPatch,
};

use super::{Caller, HandedTo, Job, Passed, Queue};

impl Job {
    /// It waits, and for everybody.
    pub fn is_for_all(&self) -> bool {
        self.state == State::Waiting && self.routing.lines().is_empty()
    }

    /// It waits, and not for everybody.
    pub fn is_restricted(&self) -> bool {
        self.state == State::Waiting && !self.routing.lines().is_empty()
    }
}

impl Queue {
    /// Why this caller may not have a job: by its own rule, or because of the other jobs of its batch.
    pub fn bars(&self, id: Code, caller: &Caller) -> Option<EligibilityRule> {
        let keeps = || self.is_kept_by_part(id, caller.worker).then_some(EligibilityRule::Overlap);
        self.jobs[&id].routing.bars(caller).or_else(keeps)
    }

    /// The job is ready, for the first time or since its rule was changed, or lives again.
    pub fn start_fallback(&mut self, id: Code, since: u64) {
        self.job(id).routing.restart_fallback(since);
    }

    /// Whether anything is different by it. A call that names assignees or a skill ends a hand-over. A job that was not ready yet falls back so
    /// long after it is.
    pub fn change_routing(&mut self, id: Code, patch: &RoutingPatch) -> bool {
        let now = self.now;
        let job = self.job(id);
        let before = job.routing.clone();
        let is_ready = !matches!(job.state, State::Delayed | State::Dead);
        job.routing = before.patched(patch);
        let routing = &mut job.routing;
        let is_for_others = patch.assignees.is_some() || patch.skill.is_some();
        let is_excluded =
            |handed: &HandedTo| matches!(&handed.line, Line::Worker(to) if routing.excluded.contains(&to.as_str()));
        if is_for_others || routing.handed.as_ref().is_some_and(is_excluded) {
            // Its holder keeps it.
            routing.handed = routing.handed.take().filter(|_| job.hold.is_some());
            routing.handed.iter_mut().for_each(|handed| handed.until = now);
        }
        if is_for_others || patch.fallback_ms.is_some() {
            routing.restart_fallback(now);
            routing.fallback_at = routing.fallback_at.filter(|_| is_ready);
        }
        let is_changed = job.routing != before;
        job.is_routed |= is_changed;
        is_changed
    }

    /// Its lines were others before: if it waits or is blocked, it goes where it belongs now.
    pub fn change_lines(&mut self, id: Code, before: &BTreeSet<String>) {
        let job = &self.jobs[&id];
        if !matches!(job.state, State::Waiting | State::Blocked) || *before == job.routing.lines() {
            return;
        }
        if job.state == State::Waiting && before.is_empty() {
            self.batons(id);
        }
        self.ready(id);
    }

    /// The assignees and the skill stop to count, or a hand-over ends, for its time is over.
    pub fn fall_back(&mut self, id: Code) {
        let (now, is_held) = (self.now, self.jobs[&id].hold.is_some());
        let routing = &mut self.job(id).routing;
        let before = routing.lines();
        let is_late = routing.fallback_at.is_some_and(|at| at <= now) && !routing.fell_back;
        let is_back = !is_held && routing.handed.as_ref().is_some_and(|handed| handed.until <= now);
        routing.fell_back |= is_late;
        routing.handed = routing.handed.take().filter(|_| !is_back);
        if is_late || is_back {
            self.tell("fallback", id, "", "");
            self.change_lines(id, &before);
        }
    }

    /// What the caller was passed over for is for others; or nothing was, and something waits where it may not look.
    pub fn is_kept_from(&self, passed: &Passed) -> bool {
        passed.barred || passed.lines.is_empty() && self.jobs.values().any(Job::is_restricted)
    }

    /// How many wait for everybody.
    pub fn waiting_for_all(&self) -> u64 {
        self.jobs.values().filter(|job| job.is_for_all()).count() as u64
    }

    /// How many wait in the lines of this caller's own.
    pub fn waiting_for(&self, caller: &Caller) -> u64 {
        let (own, restricted) = (caller.lines(), self.jobs.values().filter(|job| job.is_restricted()));
        restricted.map(|job| job.routing.lines().intersection(&own).count() as u64).sum()
    }

    /// The list of a caller, in the order of hand-outs.
    pub fn mine(&self, caller: &Caller) -> Vec<Code> {
        let own = format!("@{}", caller.worker);
        let mut found = self.in_state(State::Waiting);
        found.retain(|id| {
            let job = &self.jobs[id];
            let is_listed = match self.settings.browse {
                true => caller.line_of(job).is_some(),
                false => job.routing.lines().contains(&own),
            };
            is_listed && !job.is_over(self.now) && self.bars(*id, caller).is_none()
        });
        found
    }

    /// Line, place, arrival and id of each that waits in one, as often as it does.
    pub fn line_rows(&self) -> BTreeSet<(String, u64, u64, String)> {
        let restricted = self.jobs.iter().filter(|(_, job)| job.is_restricted());
        let rows = restricted.flat_map(|(id, job)| {
            let lines = job.routing.lines().into_iter();
            lines.map(move |line| (line, job.place.unwrap_or(0), job.arrival, id.as_str().to_owned()))
        });
        rows.collect()
    }
}
