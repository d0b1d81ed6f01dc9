//! What lookers are shown. Nothing changes.

mod batches;
mod holds;
mod jobs;

use intray::{
    job::{JobId, Line},
    store::{Cursor, Eligible, Fault},
};

use super::{prelude::*, reserve::skills};
use crate::{
    fixtures::{CLIENTS, WORKERS, name, skill},
    reference::Caller,
    work::line,
};

#[derive(Debug, Clone)]
pub enum Look {
    Queue,
    Job(Which),
    Eligible { job: Which, worker: usize, skills: Vec<&'static str> },
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
    const MUST_BE_MET: &'static [&'static str] = &["eligible Yes"];

    fn draw(_: Theme) -> BoxedStrategy<Self> {
        prop_oneof![
            Just(Self::Queue),
            which(State::Reserved).prop_map(Self::Job),
            (which(State::Waiting), 0..3_usize, skills()).prop_map(|(job, worker, skills)| Self::Eligible {
                job,
                worker,
                skills
            }),
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
            Self::Eligible { job, worker, skills } => {
                eligible(walk, &walk.which(*job), Caller { worker: WORKERS[*worker], skills: skills.clone() }).await
            }
            Self::List { state, client, worker, breached, limit } => {
                jobs::list(walk, (*state, *breached), CLIENTS[*client], *worker, *limit).await
            }
            Self::Line { line, limit } => {
                jobs::in_line(walk, line, *limit).await?;
                jobs::mine(walk, &jobs::caller_of(line), *limit).await
            }
            Self::Lines => jobs::lines(walk).await,
            Self::Holders { limit } => holds::holders(walk, *limit).await,
            Self::Reservations(worker) => holds::reservations(walk, WORKERS[*worker]).await,
            Self::Locks { lock, limit } => holds::locked(walk, *lock, *limit).await,
            Self::Batch(nth) => batches::batch(walk, &walk.nth_batch(*nth)).await,
            Self::Batches { limit } => batches::batches(walk, *limit).await,
            Self::Results { batch, limit } => batches::results(walk, &walk.nth_batch(*batch), *limit).await,
            Self::Members(batch, state) => jobs::members(walk, &walk.nth_batch(*batch), *state).await,
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

/// Whether a link to this job can be made for a worker.
async fn eligible(walk: &mut Walk<'_>, id: &JobId, caller: Caller) -> Verdict {
    let worker = name(caller.worker).ok_or("a worker")?;
    let skills: Vec<_> = caller.skills.iter().map(|text| skill(text)).collect();
    let answer = walk.real.handle.eligible(id, &worker, &skills).await;
    walk.answered("eligible", answer, |model| model.eligible(id.code, &caller))
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

fn sorted<T: Ord>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut items: Vec<_> = items.collect();
    items.sort();
    items
}

impl Queue {
    fn eligible(&self, id: Code, caller: &Caller) -> Eligible {
        if !self.jobs.contains_key(&id) {
            return Eligible::UnknownJob;
        }
        match self.state_by_time(id) {
            state @ (State::Dead | State::Completed | State::Cancelled) => Eligible::Ended(state),
            State::Waiting | State::Blocked | State::Delayed | State::Reserved => {
                self.bars(id, caller).map_or(Eligible::Yes, Eligible::No)
            }
        }
    }
}
