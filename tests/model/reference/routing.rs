//! Who may have a job: its lines, the rule that keeps a worker from it, the fallback to everybody, and hand-overs.

use std::collections::BTreeSet;

use intray::{
    job::{Code, EligibilityRule, Line, Millis, Name, Skill, State},
    store::{self, RoutingPatch},
};

use super::{Job, Queue};
use crate::fixtures::{SKILLS, WORKERS, known, name, skill};

/// As the producer said, and what has come of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Routing {
    pub assignees: Vec<&'static str>,
    pub excluded: Vec<&'static str>,
    pub skill: Option<&'static str>,
    pub fallback_ms: Option<u32>,
    /// Known once the job was ready.
    pub fallback_at: Option<u64>,
    pub fell_back: bool,
    pub handed: Option<HandedTo>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandedTo {
    pub line: Line,
    pub until: u64,
    pub from: &'static str,
    pub at: u64,
    pub note: Option<String>,
}

/// Who asks for a job.
#[derive(Debug, Clone)]
pub struct Caller {
    /// "": the caller has no name.
    pub worker: &'static str,
    pub skills: Vec<&'static str>,
}

/// What a caller who is given nothing was passed over for.
#[derive(Debug, Clone, Default)]
pub struct Passed {
    pub skipped: bool,
    /// Not for this caller.
    pub barred: bool,
    /// By a full gate.
    pub held_up: bool,
    /// "" is everybody's.
    pub lines: BTreeSet<String>,
}

fn known_names(names: &[Name]) -> Vec<&'static str> {
    names.iter().map(|name| known(&WORKERS, name.as_str())).collect()
}

fn known_skill(skill: &Skill) -> &'static str {
    known(&SKILLS, skill.as_str())
}

impl Routing {
    pub fn of(routing: &store::Routing) -> Self {
        Self {
            assignees: known_names(&routing.assignees),
            excluded: known_names(&routing.excluded),
            skill: routing.skill.as_ref().map(known_skill),
            fallback_ms: routing.fallback_ms,
            ..Self::default()
        }
    }

    /// The lines in which the job waits; none: it is for everybody.
    pub fn lines(&self) -> BTreeSet<String> {
        let own = || match (&self.assignees[..], self.skill) {
            ([], skill) => skill.map(|skill| format!("+{skill}")).into_iter().collect(),
            (assignees, _) => assignees.iter().map(|name| format!("@{name}")).collect(),
        };
        match &self.handed {
            Some(handed) => BTreeSet::from([handed.line.to_string()]),
            None if self.fell_back => BTreeSet::new(),
            None => own(),
        }
    }

    /// Why this caller may not have it: the first rule that applies.
    pub fn bars(&self, caller: &Caller) -> Option<EligibilityRule> {
        let Caller { worker, skills } = caller;
        if self.excluded.contains(worker) || worker.is_empty() && !self.excluded.is_empty() {
            return Some(EligibilityRule::Excluded);
        }
        let has = |skill: &str| skills.contains(&skill);
        match self.handed.as_ref().map(|handed| &handed.line) {
            Some(Line::Worker(to)) if to.as_str() != *worker => return Some(EligibilityRule::Assignees),
            Some(Line::Skill(skill)) if !has(skill.as_str()) => return Some(EligibilityRule::Skill),
            Some(_) => {}
            None if self.fell_back || self.assignees.is_empty() || self.assignees.contains(worker) => {}
            None => return Some(EligibilityRule::Assignees),
        }
        let lacks = !self.fell_back && self.skill.is_some_and(|skill| !has(skill));
        lacks.then_some(EligibilityRule::Skill)
    }

    fn restart_fallback(&mut self, now: u64) {
        let is_for_some = !self.assignees.is_empty() || self.skill.is_some();
        let ms = self.fallback_ms.filter(|_| is_for_some);
        (self.fallback_at, self.fell_back) = (ms.map(|ms| now + u64::from(ms)), false);
    }

    /// None of these may have it.
    pub fn excludes_all(&self, names: &[&str]) -> bool {
        !names.is_empty() && names.iter().all(|name| self.excluded.contains(name))
    }

    /// Others take the place of a worker. What was handed over to that worker is handed over to the one who does, or no longer if it
    /// is not one.
    pub fn replace_assignee(&mut self, from: &str, to: &[&'static str]) {
        let mut assignees = Vec::new();
        for name in self.assignees.iter().flat_map(|name| if *name == from { to } else { std::slice::from_ref(name) }) {
            if !assignees.contains(name) {
                assignees.push(*name);
            }
        }
        self.assignees = assignees;
        let line = if let [one] = to { name(one).map(Line::Worker) } else { None };
        self.handed = self.handed.take().and_then(|handed| Some(HandedTo { line: line?, ..handed }));
        if self.assignees.is_empty() && self.skill.is_none() {
            self.fallback_at = None;
        }
    }

    /// When time next does something by it.
    pub fn alarm(&self) -> Option<u64> {
        let times = [self.fallback_at.filter(|_| !self.fell_back), self.handed.as_ref().map(|handed| handed.until)];
        times.into_iter().flatten().min()
    }

    /// As it is stored.
    pub fn write(&self, route: &mut store::JobRoute) {
        let names = |names: &[&str]| names.iter().filter_map(|text| name(text)).collect();
        route.assignees = names(&self.assignees);
        route.excluded = names(&self.excluded);
        route.skill = self.skill.map(skill);
        (route.fallback_ms, route.fallback_at) = (self.fallback_ms, self.fallback_at.map(Millis));
        route.fell_back = self.fell_back;
        route.handed = self.handed.as_ref().map(|handed| store::HandedTo {
            line: handed.line.clone(),
            until: Millis(handed.until),
            from: name(handed.from),
            at: Millis(handed.at),
            note: handed.note.clone(),
        });
    }
}

impl Caller {
    /// Beside that of everybody.
    fn lines(&self) -> BTreeSet<String> {
        let own = (!self.worker.is_empty()).then(|| format!("@{}", self.worker));
        own.into_iter().chain(self.skills.iter().map(|skill| format!("+{skill}"))).collect()
    }

    /// The line in which the job waits for this caller; "" is everybody's.
    pub fn line_of(&self, job: &Job) -> Option<String> {
        let lines = job.routing.lines();
        if lines.is_empty() {
            return Some(String::new());
        }
        lines.intersection(&self.lines()).next().cloned()
    }
}

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
    /// The job is ready for the first time, or lives again.
    pub fn start_fallback(&mut self, id: Code) {
        let now = self.now;
        self.job(id).routing.restart_fallback(now);
    }

    /// Whether a call that names workers would leave no assignee.
    pub fn would_exclude_all(&self, id: Code, patch: &RoutingPatch) -> bool {
        let own = &self.jobs[&id].routing;
        let list = |change: &Option<Option<Vec<Name>>>, before: &Vec<&'static str>| match change {
            Some(names) => known_names(names.as_deref().unwrap_or_default()),
            None => before.clone(),
        };
        let assignees = list(&patch.assignees, &own.assignees);
        let excluded = list(&patch.excluded, &own.excluded);
        let names_workers = patch.assignees.is_some() || patch.excluded.is_some();
        names_workers && Routing { excluded, ..Routing::default() }.excludes_all(&assignees)
    }

    /// Whether anything is different by it. Who names assignees or a skill ends a hand-over. A job that was not ready yet falls back so
    /// long after it is.
    pub fn change_routing(&mut self, id: Code, patch: &RoutingPatch) -> bool {
        let now = self.now;
        let job = self.job(id);
        let before = job.routing.clone();
        let is_ready = job.place.is_some() && job.state != State::Dead;
        let routing = &mut job.routing;
        let names = |names: &Option<Vec<Name>>| known_names(names.as_deref().unwrap_or_default());
        if let Some(assignees) = &patch.assignees {
            routing.assignees = names(assignees);
        }
        if let Some(excluded) = &patch.excluded {
            routing.excluded = names(excluded);
        }
        if let Some(skill) = &patch.skill {
            routing.skill = skill.as_ref().map(known_skill);
        }
        if let Some(ms) = patch.fallback_ms {
            routing.fallback_ms = ms;
        }
        let is_for_others = patch.assignees.is_some() || patch.skill.is_some();
        if is_for_others {
            routing.handed = None;
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
        let now = self.now;
        let routing = &mut self.job(id).routing;
        let before = routing.lines();
        let is_late = routing.fallback_at.is_some_and(|at| at <= now) && !routing.fell_back;
        let is_back = routing.handed.as_ref().is_some_and(|handed| handed.until <= now);
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
            is_listed && !job.is_over(self.now) && job.routing.bars(caller).is_none()
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
