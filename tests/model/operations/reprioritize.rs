//! reprioritize: an operator gives a job another priority, or all of one state.

use intray::store::{JobPatch, JobSelection, ReprioritizeAll, ReprioritizedAll};

use super::prelude::*;
use crate::fixtures::{PRIORITIES, priority};

#[derive(Debug, Clone)]
pub struct Reprioritize {
    what: What,
    priority: u8,
}

#[derive(Debug, Clone)]
enum What {
    Job(Which),
    All(State),
}

const UNENDED: [State; 4] = [State::Waiting, State::Blocked, State::Delayed, State::Reserved];

impl Operation for Reprioritize {
    const OFTEN: Often = Often { everything: 12, few_jobs: 8, desk: 0, routing: 5, many: 1 };
    const MUST_BE_MET: &'static [&'static str] = &["reprioritize all ReprioritizedAll { changed: 2, next: None"];

    fn draw(theme: Theme) -> BoxedStrategy<Self> {
        let all = select(&UNENDED).prop_map(What::All);
        let what = match theme {
            Theme::FewJobs => which(State::Blocked).prop_map(What::Job).boxed(),
            Theme::Everything | Theme::Lists | Theme::Desk | Theme::Routing => {
                prop_oneof![2 => prop_oneof![which(State::Waiting), which(State::Blocked)].prop_map(What::Job), 1 => all].boxed()
            }
            Theme::Many => all.boxed(),
        };
        (what, select(&PRIORITIES)).prop_map(|(what, priority)| Self { what, priority }).boxed()
    }

    async fn run(&self, walk: &mut Walk<'_>) -> Verdict {
        let job = match self.what {
            What::Job(job) => job,
            What::All(state) => return self.run_all(state, walk).await,
        };
        let id = walk.which(job);
        let patch = JobPatch { priority: Some(priority(self.priority)), ..JobPatch::default() };
        let answer = walk.real.handle.reprioritize(id.clone(), patch.clone(), &store::Actor::default()).await;
        walk.answered("reprioritize", answer, |model| model.patch(id.code, &patch))
    }
}

/// Max jobs of a set that one script looks at.
const STEP: u64 = 200;

impl Reprioritize {
    async fn run_all(&self, state: State, walk: &mut Walk<'_>) -> Verdict {
        let (queue, priority) = (walk.real.queue.clone(), priority(self.priority));
        let what = ReprioritizeAll { queue, state, priority, selection: JobSelection::default(), after: None };
        let answer = walk.real.handle.reprioritize_all(what, &store::Actor::default()).await;
        let may_be_split = walk.is_short_sighted || walk.model.number(&[State::Waiting]) >= STEP;
        let by_events = if state == State::Waiting && may_be_split { Some(changed(walk)?) } else { None };
        walk.answered("reprioritize all", answer, |model| match by_events {
            Some(changed) => model.reprioritize_in_parts(&changed, self.priority),
            None => model.reprioritize_all(state, self.priority),
        })
    }
}

/// The jobs that the call has changed, in order, as the events say.
fn changed(walk: &mut Walk<'_>) -> Result<Vec<Code>, String> {
    let events = walk.real.look(&walk.last_event)?.events;
    let jobs = events.iter().filter(|event| event.kind == "changed").map(|event| Code::parse(&event.job));
    jobs.map(|code| code.ok_or("an event names no job".to_owned())).collect()
}

impl Queue {
    /// One after the other: a job that another has moved out of the state meanwhile is no longer expected.
    fn reprioritize_all(&mut self, state: State, priority: u8) -> ReprioritizedAll {
        let mut changed = 0;
        for id in self.in_sets(state) {
            if self.jobs[&id].state == state && !self.has_ended(id) && self.jobs[&id].priority != priority {
                self.reprioritize(id, priority);
                changed += 1;
            }
        }
        ReprioritizedAll { changed, next: None }
    }

    /// All that wait, by more than one script: a later one also meets jobs that a baton of an earlier one has put back into line.
    fn reprioritize_in_parts(&mut self, changed: &[Code], priority: u8) -> ReprioritizedAll {
        let mut expected = self.in_sets(State::Waiting);
        expected.retain(|id| !self.has_ended(*id) && self.jobs[id].priority != priority);
        let blocked = self.in_state(State::Blocked);
        let (those, back): (Vec<_>, Vec<_>) = changed.iter().partition(|id| expected.contains(id));
        if those != expected || back.iter().any(|id| !blocked.contains(id)) {
            self.broken = Some(format!("{changed:?} were changed, and {expected:?} are expected"));
        }
        for &id in changed {
            if self.jobs[&id].state != State::Waiting {
                self.broken = Some(format!("{} was changed and did not wait", id.as_str()));
            }
            self.reprioritize(id, priority);
        }
        ReprioritizedAll { changed: changed.len() as u64, next: None }
    }

    /// Swept or not.
    fn has_ended(&self, id: Code) -> bool {
        matches!(self.state_by_time(id), State::Completed | State::Cancelled | State::Dead)
    }

    fn reprioritize(&mut self, id: Code, priority: u8) {
        self.change_place(id, priority);
        self.tell("changed", id, "", "");
    }

    pub fn change_place(&mut self, id: Code, priority: u8) {
        let job = self.job(id);
        job.priority = priority;
        if job.place.is_some() {
            self.give_back(id);
            self.job(id).place = None;
            self.ensure_place(id, None);
        }
        self.line_changed(id);
    }

    /// A job has another place. If it is the first one parked at its gate now, and there is room, it is put back; if it
    /// is in line, a job parked at one of its gates may precede it now.
    fn line_changed(&mut self, id: Code) {
        let job = &self.jobs[&id];
        match (job.state, job.parked_at) {
            (State::Waiting, _) if job.is_for_all() => self.batons(id),
            (State::Blocked, Some(gate)) if self.first_parked(gate) == Some(id) => self.baton(gate),
            _ => {}
        }
    }
}
