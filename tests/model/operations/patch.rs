//! patch: an operator changes when a job expires or its SLA is over, who may have it, and perhaps how urgent it is.

use intray::store::{JobPatch, Reprioritized, RoutingPatch, TimeLimitsPatch};

use super::prelude::*;
use crate::{
    fixtures::{PRIORITIES, WORKERS, known, priority},
    reference::{instant, untimely_changes},
    work::{Wait, limit, routing_patch},
};

/// `None`: as it is; an inner `None` takes it away.
type Change = Option<Option<Wait>>;

#[derive(Debug, Clone)]
pub struct Patch {
    job: Which,
    priority: Option<u8>,
    expires: Change,
    sla: Change,
    routing: RoutingPatch,
}

impl Operation for Patch {
    const OFTEN: Often = Often { everything: 10, few_jobs: 6, desk: 6, routing: 24, many: 0 };
    const MUST_BE_MET: &'static [&'static str] = &[
        "patch NoAssigneeLeft",
        "patch TooFewWorkers",
        "patch Untimely",
        "patch WrongState(Dead",
        "patch WrongState(Cancelled",
    ];

    fn draw(theme: Theme) -> BoxedStrategy<Self> {
        let job = prop_oneof![
            which(State::Waiting),
            which(State::Reserved),
            which(State::Blocked),
            which(State::Delayed),
            which(State::Dead)
        ];
        let often = if theme == Theme::Routing { 0.2 } else { 0.6 };
        let change = || weighted(often, weighted(0.8, limit()));
        (job, weighted(0.3, select(&PRIORITIES)), change(), change(), routing_patch(theme))
            .prop_map(|(job, priority, expires, sla, routing)| Self { job, priority, expires, sla, routing })
            .boxed()
    }

    async fn run(&self, walk: &mut Walk<'_>) -> Verdict {
        let (id, now) = (walk.which(self.job), walk.model.now);
        let moments = |change: Change| change.map(|wait| wait.map(|wait| wait.moment(now)));
        let limits = TimeLimitsPatch { expires: moments(self.expires), sla: moments(self.sla) };
        let patch = JobPatch { priority: self.priority.map(priority), limits, routing: self.routing.clone() };
        let answer = walk.real.handle.reprioritize(id.clone(), patch.clone(), &store::Actor::default()).await;
        walk.answered("patch", answer, |model| model.patch(id.code, &patch))
    }
}

impl Queue {
    pub fn patch(&mut self, id: Code, patch: &JobPatch) -> Reprioritized {
        let now = self.now;
        if !self.jobs.contains_key(&id) {
            return Reprioritized::UnknownJob;
        }
        self.lapse(id);
        match self.jobs[&id].state {
            state @ (State::Completed | State::Cancelled) => return Reprioritized::WrongState(state),
            State::Dead if patch.priority.is_some() => return Reprioritized::WrongState(State::Dead),
            _ => {}
        }
        let mut errors = untimely_changes(&patch.limits, now);
        if errors.is_empty() {
            errors.extend(self.ends_within_delay(id, &patch.limits));
        }
        if !errors.is_empty() {
            return Reprioritized::Untimely(errors);
        }
        let (own, routing) = (&self.jobs[&id], self.jobs[&id].routing.patched(&patch.routing));
        let expires = patch.limits.expires.map_or(own.expires, |expires| expires.map(|moment| instant(moment, now)));
        if !self.leaves_assignees(id, &routing) {
            return Reprioritized::NoAssigneeLeft;
        }
        let named = patch.routing.assignees.iter().flatten().flatten();
        let named: Vec<_> = named.map(|worker| known(&WORKERS, worker.as_str())).collect();
        if !self.leaves_workers(id, &routing, expires, &named) {
            return Reprioritized::TooFewWorkers;
        }
        self.breach(id);
        let before = self.jobs[&id].priority;
        let is_changed = self.change_limits(id, &patch.limits);
        let lines = self.jobs[&id].routing.lines();
        let is_for_others = self.change_routing(id, &patch.routing) | self.offer_again(id, &named);
        self.change_lines(id, &lines);
        let is_moved = patch.priority.is_some_and(|priority| priority.get() != before);
        if let Some(priority) = patch.priority.filter(|_| is_moved) {
            self.change_place(id, priority.get());
        }
        if is_changed || is_for_others || is_moved {
            self.tell("changed", id, "", "");
        }
        let job = &self.jobs[&id];
        Reprioritized::Changed { state: job.state, priority: priority(job.priority), route: job.route() }
    }
}
