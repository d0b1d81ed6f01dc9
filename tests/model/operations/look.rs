//! What lookers are shown. Nothing changes.

use intray::{
    job::{JobId, Line},
    store::{Cursor, Fault, Held, HeldLock, JobFilter, JobSelection, Mine},
};

use super::prelude::*;
use crate::{
    fixtures::{CLIENTS, LOCKS, SKILLS, STAMPS, WORKERS, known, locks, name, skill},
    reference::{Caller, Gate},
    work::line,
};

#[derive(Debug, Clone)]
pub enum Look {
    Queue,
    Job(Which),
    List { state: State, client: usize, worker: Option<usize>, breached: bool, limit: u32 },
    Line { line: Line, limit: u32 },
    Lines,
    Holders { limit: u32 },
    Reservations(usize),
    Locks { lock: Option<usize>, limit: u32 },
    Batch(Nth),
    Batches { limit: u32 },
    Results { batch: Nth, limit: u32 },
    Members(Nth, State),
}

impl Operation for Look {
    const OFTEN: Often = Often { everything: 8, few_jobs: 6, desk: 4, routing: 6, many: 1 };

    fn draw(_: Theme) -> BoxedStrategy<Self> {
        prop_oneof![
            Just(Self::Queue),
            which(State::Reserved).prop_map(Self::Job),
            (select(&State::ALL), 0..3_usize, weighted(0.2, 0..3_usize), proptest::bool::weighted(0.3), 1..4_u32)
                .prop_map(|(state, client, worker, breached, limit)| Self::List {
                    state,
                    client,
                    worker,
                    breached,
                    limit
                }),
            (line(), 1..4_u32).prop_map(|(line, limit)| Self::Line { line, limit }),
            Just(Self::Lines),
            (1..4_u32).prop_map(|limit| Self::Holders { limit }),
            (0..3_usize).prop_map(Self::Reservations),
            (weighted(0.4, 0..3_usize), 1..4_u32).prop_map(|(lock, limit)| Self::Locks { lock, limit }),
            nth().prop_map(Self::Batch),
            (1..4_u32).prop_map(|limit| Self::Batches { limit }),
            (nth(), 1..4_u32).prop_map(|(batch, limit)| Self::Results { batch, limit }),
            (nth(), select(&State::ALL)).prop_map(|(batch, state)| Self::Members(batch, state)),
        ]
        .boxed()
    }

    async fn run(&self, walk: &mut Walk<'_>) -> Verdict {
        match self {
            Self::Queue => queue(walk).await,
            Self::Job(which) => one(walk, &walk.which(*which)).await,
            Self::List { state, client, worker, breached, limit } => {
                list(walk, (*state, *breached), CLIENTS[*client], *worker, *limit).await
            }
            Self::Line { line, limit } => {
                in_line(walk, line, *limit).await?;
                mine(walk, &caller_of(line), *limit).await
            }
            Self::Lines => lines(walk).await,
            Self::Holders { limit } => holders(walk, *limit).await,
            Self::Reservations(worker) => reservations(walk, WORKERS[*worker]).await,
            Self::Locks { lock, limit } => held_locks(walk, *lock, *limit).await,
            Self::Batch(nth) => batch(walk, &walk.nth_batch(*nth)).await,
            Self::Batches { limit } => batches(walk, *limit).await,
            Self::Results { batch, limit } => results(walk, &walk.nth_batch(*batch), *limit).await,
            Self::Members(batch, state) => members(walk, &walk.nth_batch(*batch), *state).await,
        }
    }
}

async fn queue(walk: &Walk<'_>) -> Verdict {
    let info = walk.real.handle.queue(&walk.real.queue).await.map_err(broken)?;
    same("there is such a queue", &info.is_some(), &walk.model.registered.is_some())?;
    info.map_or(Ok(()), |info| same_debug("the queue's counts", &info, &walk.model.info(&info)))
}

async fn one(walk: &Walk<'_>, id: &JobId) -> Verdict {
    let job = walk.real.handle.job(id.clone()).await.map_err(broken)?;
    same_debug("a job", &job, &walk.model.job_shown(id))
}

/// Page by page.
async fn pages<T>(
    mut page: impl AsyncFnMut(Option<Cursor>) -> Result<(Vec<T>, Option<Cursor>), Fault>,
) -> Result<Vec<T>, String> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let (more, next) = page(after).await.map_err(broken)?;
        found.extend(more);
        after = next;
        if after.is_none() {
            return Ok(found);
        }
    }
}

async fn list(
    walk: &Walk<'_>,
    (state, breached): (State, bool),
    client: &str,
    worker: Option<usize>,
    limit: u32,
) -> Verdict {
    let worker = worker.map_or("", |n| WORKERS[n]);
    let found = pages(async |after| {
        let selection = JobSelection { client: name(client), ..JobSelection::default() };
        let filter = JobFilter {
            state,
            selection,
            worker: name(worker),
            search: None,
            breached,
            line: None,
            mine: None,
            after,
            limit,
        };
        let page = walk.real.handle.jobs(&walk.real.queue, filter).await?;
        Ok((page.jobs, page.next))
    });
    let found: Vec<_> = found.await?.iter().map(|job| job.id.code).collect();
    let mut expected = listed(walk, state);
    let jobs = &walk.model.jobs;
    expected.retain(|id| !breached || jobs[id].breached);
    expected.retain(|id| client.is_empty() || jobs[id].client == client);
    expected.retain(|id| worker.is_empty() || jobs[id].hold.is_some() && jobs[id].worker() == worker);
    same(&format!("the list of the {}", state.word()), &found, &expected)
}

/// In the order of their list. Those of a batch that have ended are in its results instead.
fn listed(walk: &Walk<'_>, state: State) -> Vec<Code> {
    let jobs = &walk.model.jobs;
    let mut listed = walk.model.in_sets(state);
    listed.retain(|id| !matches!(state, State::Completed | State::Cancelled) || jobs[id].batch.is_none());
    listed.sort_by_key(|id| jobs[id].parked_at.map(Gate::key));
    listed
}

async fn in_line(walk: &Walk<'_>, line: &Line, limit: u32) -> Verdict {
    let found = pages(async |after| {
        let (state, selection) = (State::Waiting, JobSelection::default());
        let line = Some(line.clone());
        let filter =
            JobFilter { state, selection, worker: None, search: None, breached: false, line, mine: None, after, limit };
        let page = walk.real.handle.jobs(&walk.real.queue, filter).await?;
        Ok((page.jobs, page.next))
    });
    let found: Vec<_> = found.await?.iter().map(|job| job.id.code.as_str().to_owned()).collect();
    let rows = walk.model.line_rows().into_iter().filter(|(name, ..)| *name == line.to_string());
    same(&format!("the jobs in {line}"), &found, &rows.map(|(.., id)| id).collect())
}

/// One who may look into the line, and into others.
fn caller_of(line: &Line) -> Caller {
    match line {
        Line::Worker(name) => Caller { worker: known(&WORKERS, name.as_str()), skills: SKILLS[..1].to_vec() },
        Line::Skill(skill) => Caller { worker: WORKERS[0], skills: vec![known(&SKILLS, skill.as_str())] },
    }
}

async fn mine(walk: &Walk<'_>, caller: &Caller, limit: u32) -> Verdict {
    let worker = name(caller.worker).expect("a worker");
    let skills: Vec<_> = caller.skills.iter().map(|word| skill(word)).collect();
    let found = pages(async |after| {
        let (state, selection) = (State::Waiting, JobSelection::default());
        let mine = Some(Mine { worker: worker.clone(), skills: skills.clone() });
        let filter =
            JobFilter { state, selection, worker: None, search: None, breached: false, line: None, mine, after, limit };
        let page = walk.real.handle.jobs(&walk.real.queue, filter).await?;
        Ok((page.jobs, page.next))
    });
    let found: Vec<_> = found.await?.iter().map(|job| job.id.code).collect();
    same(&format!("the list of {}", caller.worker), &found, &walk.model.mine(caller))
}

async fn lines(walk: &Walk<'_>) -> Verdict {
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

async fn members(walk: &Walk<'_>, id: &BatchId, state: State) -> Verdict {
    let selection = JobSelection { batch: Some(id.clone()), ..JobSelection::default() };
    let filter = JobFilter {
        state,
        selection,
        worker: None,
        search: None,
        breached: false,
        line: None,
        mine: None,
        after: None,
        limit: 1_000,
    };
    let page = walk.real.handle.jobs(&walk.real.queue, filter).await.map_err(broken)?;
    let expected = listed(walk, state).into_iter().filter(|code| walk.model.jobs[code].batch == Some(id.code));
    same("the jobs of a batch", &sorted(page.jobs.iter().map(|job| job.id.code)), &sorted(expected))
}

async fn holders(walk: &Walk<'_>, limit: u32) -> Verdict {
    let found = pages(async |after| {
        let page = walk.real.handle.workers(&walk.real.queue, after, limit).await?;
        Ok((page.held, page.next))
    });
    same_holds("who holds what", &found.await?, &holds(walk, walk.model.in_state(State::Reserved)))
}

async fn reservations(walk: &Walk<'_>, worker: &str) -> Verdict {
    let (queues, named) = ([walk.real.queue.clone()], name(worker).ok_or("a worker")?);
    let (held, now, _) = walk.real.handle.reservations(&queues, &named).await.map_err(broken)?;
    same("they are listed at", &now, &Millis(walk.model.now))?;
    same_holds("a worker's reservations", &held, &holds(walk, walk.model.held_by(worker)))
}

fn holds(walk: &Walk<'_>, codes: Vec<Code>) -> Vec<Held> {
    let held = |code| walk.model.held(&JobId { queue: walk.real.queue.clone(), code });
    codes.into_iter().map(held).collect()
}

/// In whatever order. No reservation reads with its secret.
fn same_holds(what: &str, found: &[Held], expected: &[Held]) -> Verdict {
    let as_text = |held: &Held| (format!("{held:?}"), held.reservation.secret);
    same(what, &sorted(found.iter().map(as_text)), &sorted(expected.iter().map(as_text)))
}

fn sorted<T: Ord>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut items: Vec<_> = items.collect();
    items.sort();
    items
}

async fn held_locks(walk: &Walk<'_>, lock: Option<usize>, limit: u32) -> Verdict {
    let found = pages(async |after| {
        let name = lock.and_then(|n| locks(&[LOCKS[n]]).pop());
        let page = walk.real.handle.locks(&walk.real.queue, name, after, limit).await?;
        Ok((page.locks, page.next))
    });
    let jobs = &walk.model.jobs;
    let mut expected = Vec::new();
    for held in holds(walk, walk.model.in_state(State::Reserved)) {
        let own = jobs[&held.id.code].options.locks.iter();
        for own in own.filter(|own| lock.is_none_or(|n| LOCKS[n] == **own)) {
            let blocked = jobs.values().filter(|job| job.parked_at == Some(Gate::Lock(own))).count() as u64;
            let lock = locks(&[*own]).pop().ok_or("a lock")?;
            expected.push(HeldLock { lock, held: held.clone(), blocked });
        }
    }
    same_debug("who holds which lock", &found.await?, &expected)
}

async fn batch(walk: &Walk<'_>, id: &BatchId) -> Verdict {
    let batch = walk.real.handle.batch(id).await.map_err(broken)?;
    same_debug("a batch", &batch, &walk.model.batch_shown(id))
}

async fn batches(walk: &Walk<'_>, limit: u32) -> Verdict {
    let found = pages(async |after| {
        let page = walk.real.handle.batches(&walk.real.queue, after, limit).await?;
        Ok((page.batches, page.next))
    });
    let mut codes: Vec<_> = walk.model.batches.keys().copied().collect();
    codes.sort_by_key(|code| walk.model.batches[code].rank());
    let id = |code| BatchId { queue: walk.real.queue.clone(), code };
    let expected: Vec<_> = codes.into_iter().filter_map(|code| walk.model.batch_shown(&id(code))).collect();
    same_debug("the batches of the queue", &found.await?, &expected)
}

async fn results(walk: &Walk<'_>, id: &BatchId, limit: u32) -> Verdict {
    let (mut found, mut from) = (Vec::new(), Some(0));
    while let Some(index) = from {
        let page = walk.real.handle.results(id, index, limit).await.map_err(broken)?;
        let Some(page) = page else {
            return same("there are results", &false, &walk.model.batches.contains_key(&id.code));
        };
        let results = page.results.iter();
        found.extend(results.map(|r| (r.id.code, r.state, r.result.as_ref().map(|json| json.as_str().to_owned()))));
        from = page.next;
    }
    let Some(batch) = walk.model.batches.get(&id.code) else { return Err("there should be no results".to_owned()) };
    let result = |code: &Code| (*code, walk.model.jobs[code].state, walk.model.jobs[code].result.map(str::to_owned));
    same("the results of a batch", &found, &batch.members.iter().map(result).collect())
}
