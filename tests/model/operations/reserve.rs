//! reserve: the next job in line, one that is named, what a worker holds already, or what the same call was given before.

mod end;

use std::collections::BTreeSet;

use intray::{
    job::{QueueName, WorkerAccess},
    store::{Handout, Nonce, PassedLines, ReserveOutcome},
};
use proptest::sample::subsequence;

use self::end::End;
use super::{Unclear, prelude::*};
use crate::{
    fixtures::{SKILLS, WORKERS, name, skill},
    reference::{Asked, Caller as Who, Given, Passed},
};

/// Calls that go out together.
#[derive(Debug, Clone)]
pub struct Reserve(Vec<Ask>);

#[derive(Debug, Clone)]
struct Ask {
    worker: Option<&'static str>,
    skills: Vec<&'static str>,
    limit: u32,
    lease_ms: Option<u32>,
    id: Option<Which>,
    /// Another queue is named too, which nobody uses. Only for a call that goes out alone.
    aside: bool,
    call: Call,
    caller: Caller,
}

#[derive(Debug, Clone, Copy)]
enum Call {
    New,
    /// Worker and nonce of an earlier one.
    Again(Nth),
}

/// What becomes of the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Caller {
    Hears,
    Gone,
    /// It is not known yet.
    Unclear,
}

impl Operation for Reserve {
    const OFTEN: Often = Often { everything: 60, few_jobs: 50, desk: 50, routing: 60, many: 4 };
    const MUST_BE_MET: &'static [&'static str] = &[
        "reserve NotWaiting(Blocked",
        "reserve Paused",
        "reserve Skipped",
        "reserve Ineligible",
        "reserve HeldUp",
        "reserve NotEligible(Assignees",
        "reserve NotEligible(Skill",
        "reserve NotEligible(Excluded",
        "reserve NotEligible(Overlap",
        "reserve WorkerLimit",
        "a draft for its owner",
        "a draft for another",
        "a draft for an unnamed worker",
    ];

    fn draw(theme: Theme) -> BoxedStrategy<Self> {
        match theme {
            Theme::Everything | Theme::FewJobs | Theme::Desk => {
                few(theme, ask(Just(Vec::new()), 1..=3_u32)).prop_map(Self).boxed()
            }
            Theme::Routing | Theme::Lists => few(theme, ask(skills(), mostly_one())).prop_map(Self).boxed(),
            Theme::Many => of_many().prop_map(|ask| Self(vec![ask])).boxed(),
        }
    }

    /// They go out together, and each finds what the one before has left. In a queue that looks at a few jobs at a time
    /// each asks alone and for one, as who comes next and gets how many depends on how far a script sees.
    async fn run(&self, walk: &mut Walk<'_>) -> Verdict {
        if !walk.is_short_sighted {
            return together(walk, &self.0).await;
        }
        for ask in &self.0 {
            together(walk, &[Ask { limit: 1, ..ask.clone() }]).await?;
        }
        Ok(())
    }
}

impl Reserve {
    /// A worker who comes for one job, for so long.
    pub fn of_one(worker: &'static str, job: Code, lease_ms: u32) -> Self {
        Self(vec![Ask {
            worker: Some(worker),
            skills: Vec::new(),
            limit: 1,
            lease_ms: Some(lease_ms),
            id: Some(Which::This(job)),
            aside: false,
            call: Call::New,
            caller: Caller::Hears,
        }])
    }
}

fn ask(
    skills: impl Strategy<Value = Vec<&'static str>>,
    limit: impl Strategy<Value = u32>,
) -> impl Strategy<Value = Ask> {
    let caller = prop_oneof![6 => Just(Caller::Hears), 2 => Just(Caller::Unclear), 1 => Just(Caller::Gone)];
    let call = prop_oneof![8 => Just(Call::New), 1 => nth().prop_map(Call::Again)];
    let lease = weighted(0.4, select(&[1_000, 20_000, 60_000]));
    let who = (weighted(0.7, select(&WORKERS)), skills, proptest::bool::weighted(0.1));
    (who, limit, lease, weighted(0.15, which(State::Waiting)), call, caller).prop_map(
        |((worker, skills, aside), limit, lease_ms, id, call, caller)| Ask {
            worker,
            skills,
            limit,
            lease_ms,
            id,
            aside,
            call,
            caller,
        },
    )
}

/// So that the lines of several callers often have enough for all of them.
fn mostly_one() -> impl Strategy<Value = u32> {
    prop_oneof![3 => Just(1), 1 => 2..=3_u32]
}

/// What a caller can do.
pub fn skills() -> impl Strategy<Value = Vec<&'static str>> {
    subsequence(SKILLS.to_vec(), 0..=SKILLS.len()).prop_shuffle()
}

fn of_many() -> impl Strategy<Value = Ask> {
    (1..=100_u32, select(&[1_000, 60_000])).prop_map(|(limit, lease_ms)| {
        let (lease_ms, call, caller) = (Some(lease_ms), Call::New, Caller::Hears);
        Ask { worker: None, skills: Vec::new(), limit, lease_ms, id: None, aside: false, call, caller }
    })
}

async fn together(walk: &mut Walk<'_>, asks: &[Ask]) -> Verdict {
    let (mut calls, asked): (Vec<_>, Vec<_>) = asks.iter().map(|ask| ask.build(walk)).unzip();
    let is_aside = matches!(asks, [Ask { aside: true, id: None, .. }]);
    if is_aside {
        calls[0].queues.insert(0, QueueName::default());
    }
    let handle = &walk.real.handle;
    let outcomes = futures_util::future::join_all(calls.into_iter().map(|call| handle.reserve(call))).await;
    let mut ends = Vec::new();
    for ((ask, asked), outcome) in asks.iter().zip(&asked).zip(outcomes) {
        let outcome = outcome.map_err(broken)?;
        walk.note(|| format!("  {:?} is given {outcome:?}", asked.caller));
        let given = match is_aside {
            true => walk.model.reserve_with_another(asked, &order(&outcome)),
            false => walk.model.reserve(asked, &order(&outcome)),
        };
        walk.met(&format!("reserve {}", word(&given)));
        // A call for one job looks into no line.
        let own = if asked.id.is_some() { 0 } else { walk.model.waiting_for(&asked.caller) };
        ends.extend(End::of(&walk.model, &given, own, &outcome));
        match (settle(walk, given, outcome)?, ask.caller) {
            (None, _) => {}
            (Some((_, undo)), Caller::Hears) => undo.disarm(),
            (Some(unclear), Caller::Unclear | Caller::Gone) => walk.unclear.push(unclear),
        }
    }
    // The reply of the script for all of them.
    for end in ends {
        end.check(&walk.model)?;
    }
    for ask in asks {
        if ask.caller == Caller::Gone && !walk.unclear.is_empty() {
            walk.give_up(walk.unclear.len() - 1).await;
        }
    }
    Ok(())
}

impl Ask {
    fn build(&self, walk: &mut Walk<'_>) -> (store::Reserve, Asked) {
        let mut worker = self.worker.unwrap_or_default();
        let mut number = walk.fresh();
        if let Call::Again(nth) = self.call
            && let Some(&before) = nth.of(&walk.calls)
        {
            (worker, number) = before;
        }
        walk.calls.push((worker, number));
        let nonce = Nonce::derived(&[&number.to_be_bytes()]);
        let (limit, lease_ms, id) = (self.limit, self.lease_ms, self.id.map(|which| walk.which(which)));
        let code = id.as_ref().map(|id| id.code);
        let skills = self.skills.clone();
        let known_skills = skills.iter().map(|text| skill(text)).collect();
        let access = if limit % 2 == 1 { WorkerAccess::Open } else { WorkerAccess::Key("desk".into()) };
        let asked = Asked {
            caller: Who { worker, skills },
            access: access.to_string(),
            nonce: String::from_utf8_lossy(nonce.as_bytes()).into_owned(),
            limit: limit as usize,
            lease_ms,
            id: code,
        };
        let queues = vec![walk.real.queue.clone()];
        let (worker, skills) = (name(worker), known_skills);
        (store::Reserve { queues, worker, access, skills, limit, lease_ms, nonce, id }, asked)
    }
}

/// Compares one answer with the model's, and learns the secrets.
fn settle(walk: &mut Walk<'_>, given: Given, outcome: ReserveOutcome) -> Result<Option<Unclear>, String> {
    use ReserveOutcome::{Jobs, Nothing};
    match (given, outcome) {
        (Given::New(ids) | Given::Held(ids), Nothing { .. }) if ids.is_empty() => {}
        (Given::Skipped(expected) | Given::Ineligible(expected) | Given::HeldUp(expected), Nothing { passed, .. }) => {
            compare_passed(&passed, &expected, walk.is_short_sighted)?;
        }
        (Given::New(ids), Jobs { jobs, undo, .. }) => {
            let taken: Vec<_> = jobs.iter().map(|job| (job.reservation.job.code, job.reservation.secret)).collect();
            same("reserve hands out", &taken.iter().map(|(id, _)| *id).collect(), &ids)?;
            for (id, secret) in &taken {
                walk.model.job(*id).hold.as_mut().expect("it is held").secret = Some(*secret);
                meet_draft(walk, *id);
            }
            walk.given.extend(&taken);
            compare_handouts(walk, &jobs)?;
            return Ok(Some((taken, undo)));
        }
        (Given::Held(ids), Jobs { jobs, .. }) => {
            same("reserve gives again", &jobs.iter().map(|job| job.reservation.job.code).collect(), &ids)?;
            compare_handouts(walk, &jobs)?;
        }
        (Given::UnknownJob, ReserveOutcome::UnknownJob)
        | (Given::Paused, ReserveOutcome::QueuePaused)
        | (Given::WorkerLimit, ReserveOutcome::WorkerLimit) => {}
        (Given::NotEligible(expected), ReserveOutcome::NotEligible(rule)) => {
            same("the rule that keeps the worker from it", &rule, &expected)?;
        }
        (Given::NotWaiting(expected), ReserveOutcome::NotWaiting(state)) => {
            same("reserve finds the job in state", &state, &expected)?;
        }
        (given, outcome) => {
            return Err(format!("reserve answers\n  the model: {given:?}\n  the queue: {outcome:?}"));
        }
    }
    Ok(None)
}

/// What was met by it.
fn word(given: &Given) -> String {
    match given {
        Given::Skipped(_) => "Skipped".to_owned(),
        Given::HeldUp(_) => "HeldUp".to_owned(),
        Given::Ineligible(_) => "Ineligible".to_owned(),
        _ => format!("{given:?}"),
    }
}

/// For what the caller was passed over, and where.
fn compare_passed(found: &PassedLines, expected: &Passed, is_short_sighted: bool) -> Verdict {
    let lines = found.lines.iter().map(ToString::to_string);
    let mut lines: BTreeSet<_> = lines.chain(found.common_line.then(String::new)).collect();
    // A script that continues after another names all lines of the caller.
    if is_short_sighted && lines.is_superset(&expected.lines) {
        lines.clone_from(&expected.lines);
    }
    same(
        "reserve passes over jobs in",
        &(lines, !found.gates.is_empty()),
        &(expected.lines.clone(), expected.held_up),
    )?;
    let is_for_others = expected.skipped || expected.barred;
    same("reserve passes over jobs for others", &(found.for_others && !expected.lines.is_empty()), &is_for_others)
}

/// No reservation reads with its secret.
fn compare_handouts(walk: &Walk<'_>, jobs: &[Handout]) -> Verdict {
    for job in jobs {
        let expected = walk.model.handout(&job.reservation.job);
        same("a secret", &job.reservation.secret, &expected.reservation.secret)?;
        same_debug("a job as it is handed out", job, &expected)?;
    }
    Ok(())
}

/// A reserved job has a draft.
fn meet_draft(walk: &mut Walk<'_>, id: Code) {
    let job = &walk.model.jobs[&id];
    let Some(draft) = &job.draft else { return };
    let whom = match job.worker() {
        "" => "an unnamed worker",
        worker if worker == draft.owner => "its owner",
        _ => "another",
    };
    if job.routing.handed.is_some() {
        walk.met("a draft that was handed over");
    }
    walk.met(&format!("a draft for {whom}"));
}

fn order(outcome: &ReserveOutcome) -> Vec<Code> {
    match outcome {
        ReserveOutcome::Jobs { jobs, .. } => jobs.iter().map(|job| job.reservation.job.code).collect(),
        _ => Vec::new(),
    }
}
