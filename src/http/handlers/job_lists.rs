//! The jobs of a queue in one state: one page, or all of them as lines or CSV.

use std::time::Instant;

use axum::{extract::State, http::HeaderMap, response::Response};
use tokio_util::sync::CancellationToken;

use crate::{
    access::{Caller, Pass, Role},
    http::{
        handlers::{
            export::{Columns, Export, ExportFormat, Heartbeat, ListFormat},
            queues::{require_queue, states},
            selection::read_selection,
        },
        middleware::{auth, revalidate::LongCall},
        request::{
            path::InPath,
            query::{MAX_PAGE_SIZE, Query, read_page, read_wait},
            reader, rules,
        },
        response::{counted, problem::Problem, shapes},
    },
    job::{Line, Name, QueueName, Skill, State as JobState, limits},
    store::{Cursor, JobFilter, Mine, Queues},
    waiting::{WaitedRead, Waiting},
};

/// `GET /queues/{queue}/jobs`
pub async fn jobs(
    State(queues): State<Queues>,
    State(waiting): State<Waiting>,
    State(leaving): State<CancellationToken>,
    pass: Pass,
    InPath(queue): InPath<QueueName>,
    headers: HeaderMap,
    mut query: Query,
) -> Result<Response, Problem> {
    let (kind, who) = (ListFormat::accepted(&headers), reader::who(&pass));
    if kind != ListFormat::Page {
        let (form, filter, follows) = read_walk(kind, query, &queue, &pass.caller)?;
        may_see(&pass.caller, &filter)?;
        require_queue(&queues, &queue).await?;
        let lasting = LongCall::new(pass, leaving);
        let quiet = Heartbeat::since(Instant::now());
        let (who, list) = (who.clone(), waiting.list(queue.clone(), who));
        return Export { waiting, list, queue, who, filter, form, follows, long_call: lasting, quiet }.answer().await;
    }
    let asked = (read_filter(&mut query, &queue, &pass.caller), read_wait(&mut query));
    let (filter, wait) = query.finish(Some(asked))?;
    may_see(&pass.caller, &filter)?;
    require_queue(&queues, &queue).await?;
    let seen = auth::while_valid(&pass, wait, waiting.jobs(&queue, filter, wait, &who)).await?;
    let WaitedRead { what: page, turn } = seen.map_err(reader::read_problem)?;
    let jobs = page.jobs.iter().map(shapes::JobBody::new).collect();
    let (next, resume) = (page.next.clone(), page.resume.clone());
    let forgotten = shapes::ForgottenBody::new(page.forgotten);
    Ok(counted::answer(turn, &shapes::JobPageBody { jobs, next, resume, looked: page.looked, forgotten }))
}

/// A producer reads the results of a queue, and a worker the jobs that are for them and those that they have done.
fn may_see(caller: &Caller, filter: &JobFilter) -> Result<(), Problem> {
    if caller.job.is_some() {
        return Err(Problem::forbidden(auth::FOR_ONE_JOB));
    }
    match (caller.role, &filter.mine) {
        (Role::Producer | Role::Asker, _) if filter.state != JobState::Completed => {
            Err(Problem::forbidden("a producer or an asker reads the results of a queue: state=completed"))
        }
        (Role::Worker, None) if filter.for_worker => auth::worker(caller, filter.worker.as_ref()),
        (Role::Worker, None) => Err(Problem::forbidden(
            "a worker reads the jobs that are for them, mine=true, and their own completed and dead ones, worker=NAME",
        )),
        (_, None) => Ok(()),
        (_, Some(mine)) => auth::worker(caller, Some(&mine.worker)),
    }
}

/// The parts of a filter that the list of a worker does not have.
const NOT_OF_MINE: [&str; 7] = ["client", "batch", "error", "enqueued_before", "search", "breached", "line"];

/// The jobs that are for a worker. A token says who that is, and what they can do; the caller of a key says it.
fn read_mine(query: &mut Query, caller: &Caller, worker: Option<Name>, state: JobState) -> Option<Mine> {
    let is_mine = query.take("mine", rules::flag_text).unwrap_or(false);
    let skills = query.distinct("skill", limits::SKILLS, Skill::parse);
    if !is_mine {
        if !skills.is_empty() {
            query.reject("skill", "is for mine=true");
        }
        return None;
    }
    if state != JobState::Waiting {
        query.reject("state", "is waiting together with mine=true");
    }
    for name in NOT_OF_MINE {
        if !query.all(name).is_empty() {
            query.reject(name, "does not go together with mine=true");
        }
    }
    let worker = worker.or_else(|| caller.worker.clone());
    if worker.is_none() {
        query.reject("worker", "is required with mine=true, because no token says who asks");
    }
    let skills = caller.skills(Some(skills).filter(|named| !named.is_empty()));
    Some(Mine { worker: worker?, skills })
}

/// What others said of a job is not shown to a worker, so it finds no job either.
const NOT_FOR_WORKERS: [&str; 2] = ["error", "search"];

/// Whether a worker asks for the jobs that they have done.
fn read_for_worker(query: &mut Query, caller: &Caller, worker: Option<&Name>, state: JobState) -> bool {
    let is_over = matches!(state, JobState::Completed | JobState::Dead);
    let is_asked = caller.role == Role::Worker && worker.is_some() && is_over && !query.has("mine");
    for name in NOT_FOR_WORKERS {
        if is_asked && query.has(name) {
            query.all(name);
            query.reject(name, "is not for a worker");
        }
    }
    is_asked
}

fn read_filter(query: &mut Query, queue: &QueueName, caller: &Caller) -> JobFilter {
    let word = |word: &str| JobState::parse(word).ok_or_else(|| format!("must be {}", states()));
    let (after, limit) = read_page(query, Cursor::of_jobs);
    let worker = query.take("worker", Name::of_worker);
    // A waiting job has no worker.
    let usual = if worker.is_some() && !query.has("mine") { JobState::Reserved } else { JobState::Waiting };
    let state = query.take("state", word).unwrap_or(usual);
    let for_worker = read_for_worker(query, caller, worker.as_ref(), state);
    let mine = read_mine(query, caller, worker.clone(), state);
    let line = query.take("line", Line::parse);
    if line.is_some() && state != JobState::Waiting {
        query.reject("line", "is for state=waiting");
    }
    JobFilter {
        state,
        selection: read_selection(query, queue),
        worker,
        for_worker,
        search: query.take("search", rules::search),
        breached: query.take("breached", rules::flag_text).unwrap_or(false),
        line,
        mine,
        after,
        limit,
    }
}

/// The parameters of an export.
fn read_walk(
    kind: ListFormat,
    mut query: Query,
    queue: &QueueName,
    caller: &Caller,
) -> Result<(ExportFormat, JobFilter, bool), Problem> {
    for of_a_page in ["limit", "wait_ms"] {
        if !query.all(of_a_page).is_empty() {
            query.reject(of_a_page, "is for a page");
        }
    }
    let filter = JobFilter { limit: MAX_PAGE_SIZE, ..read_filter(&mut query, queue, caller) };
    let follows = query.take("follow", |word| match word {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err("must be true or false"),
    });
    let follows = follows.unwrap_or(false);
    let form = match kind {
        ListFormat::Table => ExportFormat::Table(Columns::read(&mut query)),
        ListFormat::Page | ListFormat::Lines => ExportFormat::Lines,
    };
    if follows && (filter.state != JobState::Completed || kind == ListFormat::Table) {
        query.reject("follow", "is for the lines of state=completed");
    }
    if follows && filter.worker.is_some() {
        query.reject("follow", "does not go together with worker");
    }
    query.finish(Some((form, filter, follows)))
}
