//! Who may have a job by its own rule: its lines, what keeps a worker from it, the fallback to everybody, and hand-overs.

use std::collections::BTreeSet;

use intray::{
    job::{EligibilityRule, Line, Millis, Name, Skill},
    store::{self, RoutingPatch},
};

use super::Job;
use crate::fixtures::{SKILLS, WORKERS, known, name, skill};

/// The end of a hand-over whose job is in hand.
pub const NEVER: u64 = (1 << 48) - 1;

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
    /// The equal jobs of its batch, of which each worker has one at most; 0: it is no such job.
    pub overlap: u8,
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

pub fn known_names(names: &[Name]) -> Vec<&'static str> {
    names.iter().map(|name| known(&WORKERS, name.as_str())).collect()
}

pub fn known_skill(skill: &Skill) -> &'static str {
    known(&SKILLS, skill.as_str())
}

impl Routing {
    pub fn of(routing: &store::Routing) -> Self {
        Self {
            assignees: known_names(&routing.assignees),
            excluded: known_names(&routing.excluded),
            skill: routing.skill.as_ref().map(known_skill),
            fallback_ms: routing.fallback_ms,
            overlap: routing.overlap,
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

    /// Why this caller may not have it by its own rule: the first that applies.
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

    pub fn restart_fallback(&mut self, since: u64) {
        let is_for_some = !self.assignees.is_empty() || self.skill.is_some();
        let ms = self.fallback_ms.filter(|_| is_for_some);
        (self.fallback_at, self.fell_back) = (ms.map(|ms| since + u64::from(ms)), false);
    }

    /// It stays with its assignees: no other ever has it, or only late.
    pub fn is_bound(&self) -> bool {
        !self.assignees.is_empty() && self.fallback_ms.is_none()
    }

    /// As a call changes it.
    pub fn patched(&self, patch: &RoutingPatch) -> Self {
        let mut routing = self.clone();
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
        routing
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

    /// When time next does something by it. What was handed over is not taken out of the hands of who has it.
    pub fn alarm(&self, is_held: bool) -> Option<u64> {
        let until = self.handed.as_ref().map(|handed| if is_held { NEVER } else { handed.until });
        let times = [self.fallback_at.filter(|_| !self.fell_back), until];
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
    /// All lines but the one of everybody.
    pub fn lines(&self) -> BTreeSet<String> {
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
