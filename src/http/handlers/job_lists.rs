//! A queue's jobs of one state: a page of them, or all as lines or as a table.

use std::time::Instant;

use axum::{extract::State, http::HeaderMap, response::Response};
use bytes::Bytes;
use tokio_util::sync::CancellationToken;

use crate::{
    access::{Pass, Role},
    http::{
        handlers::{
            export::{Columns, Form, Kind, Quiet, Walk},
            queues::{known, states},
            selection::meant,
        },
        middleware::{auth, revalidate::Lasting},
        request::{
            path::InPath,
            query::{MOST_ON_A_PAGE, Query, read_page, read_wait},
            reader, rules,
        },
        response::{counted, problem::Problem, shapes},
    },
    job::{Name, QueueName, State as JobState},
    store::{Cursor, JobFilter, Queues},
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
    let (kind, who) = (Kind::wanted(&headers), pass.caller.credential_owned());
    if kind != Kind::Page {
        let (form, filter, follows) = read_walk(kind, query, &queue)?;
        may_see(&pass, filter.state)?;
        known(&queues, &queue).await?;
        let lasting = Lasting::new(pass, leaving);
        let quiet = Quiet::since(Instant::now());
        let (who, list) = (who.clone(), waiting.list(queue.clone(), who));
        return Walk { waiting, list, queue, who, filter, form, follows, lasting, quiet, rest: Bytes::new() }
            .answer()
            .await;
    }
    let asked = (read_filter(&mut query, &queue), read_wait(&mut query));
    let (filter, wait) = query.finish(Some(asked))?;
    may_see(&pass, filter.state)?;
    known(&queues, &queue).await?;
    let seen = waiting.jobs(&queue, filter, wait, &who).await;
    auth::still(&pass, wait)?;
    let WaitedRead { what: page, turn } = seen.map_err(reader::refused)?;
    let jobs = page.jobs.iter().map(shapes::Job::new).collect();
    let (next, resume) = (page.next.clone().map(shapes::Text), page.resume.clone().map(shapes::Text));
    let forgotten = shapes::Forgotten::new(page.forgotten);
    Ok(counted::answer(turn, &shapes::JobPage { jobs, next, resume, looked: page.looked, forgotten }))
}

fn may_see(pass: &Pass, state: JobState) -> Result<(), Problem> {
    if pass.caller.role == Role::Producer && state != JobState::Completed {
        return Err(Problem::forbidden("a producer reads the results of a queue: state=completed"));
    }
    Ok(())
}

fn read_filter(query: &mut Query, queue: &QueueName) -> JobFilter {
    let word = |word: &str| JobState::parse(word).ok_or_else(|| format!("must be {}", states()));
    let (after, limit) = read_page(query, Cursor::of_jobs);
    let worker = query.take("worker", Name::of_worker);
    // Nobody has what waits.
    let usual = if worker.is_some() { JobState::Reserved } else { JobState::Waiting };
    JobFilter {
        state: query.take("state", word).unwrap_or(usual),
        selection: meant(query, queue),
        worker,
        search: query.take("search", rules::search),
        after,
        limit,
    }
}

/// What is asked of a list that is read to its end, or beyond.
fn read_walk(kind: Kind, mut query: Query, queue: &QueueName) -> Result<(Form, JobFilter, bool), Problem> {
    for of_a_page in ["limit", "wait_ms"] {
        if !query.all(of_a_page).is_empty() {
            query.blame(of_a_page, "is for a page");
        }
    }
    let filter = JobFilter { limit: MOST_ON_A_PAGE, ..read_filter(&mut query, queue) };
    let follows = query.take("follow", |word| match word {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err("must be true or false"),
    });
    let follows = follows.unwrap_or(false);
    let form = match kind {
        Kind::Table => Form::Table(Columns::read(&mut query)),
        Kind::Page | Kind::Lines => Form::Lines,
    };
    if follows && (filter.state != JobState::Completed || kind == Kind::Table) {
        query.blame("follow", "is for the lines of state=completed");
    }
    query.finish(Some((form, filter, follows)))
}
