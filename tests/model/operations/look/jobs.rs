//! Lists of jobs: of a state, a line, a worker or a batch.

use intray::{
    job::Line,
    store::{JobFilter, JobSelection, Mine},
};

use super::{super::prelude::*, pages, sorted};
use crate::{
    fixtures::{SKILLS, STAMPS, WORKERS, known, name, skill},
    reference::{Caller, Gate, Job},
};

/// The first of a state.
fn all(state: State, limit: u32) -> JobFilter {
    let selection = JobSelection::default();
    let (worker, search, line, mine, after) = (None, None, None, None, None);
    let (for_worker, breached) = (false, false);
    JobFilter { state, selection, worker, for_worker, search, breached, line, mine, after, limit }
}

pub async fn list(
    walk: &Walk<'_>,
    (state, breached): (State, bool),
    client: &str,
    worker: Option<usize>,
    limit: u32,
) -> Verdict {
    let worker = worker.map_or("", |n| WORKERS[n]);
    let found = pages(async |after| {
        let selection = JobSelection { client: name(client), ..JobSelection::default() };
        let filter = JobFilter { selection, worker: name(worker), breached, after, ..all(state, limit) };
        let page = walk.real.handle.jobs(&walk.real.queue, filter).await?;
        Ok((page.jobs, page.next))
    });
    let found: Vec<_> = found.await?.iter().map(|job| job.id.code).collect();
    let mut expected = listed(walk, state);
    let jobs = &walk.model.jobs;
    if state == State::Completed && !worker.is_empty() {
        expected.extend(completed_in_batches(walk));
    }
    expected.retain(|id| !breached || jobs[id].breached);
    expected.retain(|id| client.is_empty() || jobs[id].client == client);
    expected.retain(|id| worker.is_empty() || is_of(&jobs[id], worker));
    same(&format!("the list of the {}", state.word()), &found, &expected)
}

/// Who holds it, has completed it or had it last when it died.
fn is_of(job: &Job, worker: &str) -> bool {
    match job.state {
        State::Completed | State::Dead => job.ring.first().is_some_and(|ended| ended.worker == worker),
        State::Waiting | State::Blocked | State::Delayed | State::Reserved | State::Cancelled => {
            job.hold.is_some() && job.worker() == worker
        }
    }
}

/// Batch by batch, from the one with the latest timer on.
fn completed_in_batches(walk: &Walk<'_>) -> Vec<Code> {
    let mut batches: Vec<_> = walk.model.batches.iter().collect();
    batches.sort_by_key(|(code, batch)| std::cmp::Reverse((batch.rank(), **code)));
    let members = batches.into_iter().flat_map(|(_, batch)| &batch.members).copied();
    members.filter(|id| walk.model.jobs[id].state == State::Completed).collect()
}

/// In the order of their list. Those of a batch that have ended are in its results instead.
fn listed(walk: &Walk<'_>, state: State) -> Vec<Code> {
    let jobs = &walk.model.jobs;
    let mut listed = walk.model.in_sets(state);
    listed.retain(|id| !matches!(state, State::Completed | State::Cancelled) || jobs[id].batch.is_none());
    listed.sort_by_key(|id| jobs[id].parked_at.map(Gate::key));
    listed
}

pub async fn in_line(walk: &Walk<'_>, line: &Line, limit: u32) -> Verdict {
    let found = pages(async |after| {
        let filter = JobFilter { line: Some(line.clone()), after, ..all(State::Waiting, limit) };
        let page = walk.real.handle.jobs(&walk.real.queue, filter).await?;
        Ok((page.jobs, page.next))
    });
    let found: Vec<_> = found.await?.iter().map(|job| job.id.code.as_str().to_owned()).collect();
    let rows = walk.model.line_rows().into_iter().filter(|(name, ..)| *name == line.to_string());
    same(&format!("the jobs in {line}"), &found, &rows.map(|(.., id)| id).collect())
}

/// One who may look into the line, and into others.
pub fn caller_of(line: &Line) -> Caller {
    match line {
        Line::Worker(name) => Caller { worker: known(&WORKERS, name.as_str()), skills: SKILLS[..1].to_vec() },
        Line::Skill(skill) => Caller { worker: WORKERS[0], skills: vec![known(&SKILLS, skill.as_str())] },
    }
}

pub async fn mine(walk: &Walk<'_>, caller: &Caller, limit: u32) -> Verdict {
    let worker = name(caller.worker).expect("a worker");
    let skills: Vec<_> = caller.skills.iter().map(|word| skill(word)).collect();
    let found = pages(async |after| {
        let mine = Some(Mine { worker: worker.clone(), skills: skills.clone() });
        let filter = JobFilter { mine, after, ..all(State::Waiting, limit) };
        let page = walk.real.handle.jobs(&walk.real.queue, filter).await?;
        Ok((page.jobs, page.next))
    });
    let found: Vec<_> = found.await?.iter().map(|job| job.id.code).collect();
    same(&format!("the list of {}", caller.worker), &found, &walk.model.mine(caller))
}

pub async fn lines(walk: &Walk<'_>) -> Verdict {
    let found = walk.real.handle.lines(&walk.real.queue).await.map_err(broken)?;
    let found: Vec<_> = found.into_iter().map(|line| (line.line.to_string(), line.waiting, line.oldest_ms)).collect();
    let mut expected = Vec::<(String, u64, u64)>::new();
    for (line, _, _, id) in walk.model.line_rows() {
        let job = walk.model.jobs.iter().find(|(code, _)| code.as_str() == id).map(|(_, job)| job);
        let oldest_ms = job.map_or(0, |job| walk.model.now.saturating_sub(job.stamp / STAMPS));
        match expected.last_mut().filter(|(last, ..)| *last == line) {
            Some((_, waiting, _)) => *waiting += 1,
            None => expected.push((line, 1, oldest_ms)),
        }
    }
    same("the lines of the queue", &found, &expected)
}

pub async fn members(walk: &Walk<'_>, id: &BatchId, state: State) -> Verdict {
    let selection = JobSelection { batch: Some(id.clone()), ..JobSelection::default() };
    let filter = JobFilter { selection, ..all(state, 1_000) };
    let page = walk.real.handle.jobs(&walk.real.queue, filter).await.map_err(broken)?;
    let expected = listed(walk, state).into_iter().filter(|code| walk.model.jobs[code].batch == Some(id.code));
    same("the jobs of a batch", &sorted(page.jobs.iter().map(|job| job.id.code)), &sorted(expected))
}
