//! Mints tokens, each for one worker.

use std::time::Duration;

use axum::extract::State;

use crate::{
    access::{Access, Caller, Pattern, TokenScope},
    http::{
        handlers::routing::read_skills,
        middleware::{
            audit::{AuditEntry, Audited},
            auth,
        },
        request::{body::JsonBody, fields::JsonFields, query::NoQuery, rules},
        response::{
            problem::{Problem, ProblemType},
            shapes,
        },
    },
    job::{JobId, Name, Skill, limits},
    store::{Eligible, Queues},
};

/// `POST /tokens`
pub async fn mint(
    State(access): State<Access>,
    State(queues): State<Queues>,
    caller: Caller,
    _: NoQuery,
    body: JsonBody,
) -> Result<Audited<shapes::TokenBody>, Problem> {
    let NewToken { worker, scope, skills, ttl } = read(body.fields()?)?;
    may_mint(&caller, &scope)?;
    let unsigned = || Problem::new(ProblemType::NotFound, "this service has no --token-secret to sign tokens with");
    let signer = access.signer().ok_or_else(unsigned)?;
    if let TokenScope::Job(job) = &scope {
        require_eligible(&queues, job, &worker, &skills).await?;
    }
    let token = signer.sign(&worker, &scope, &skills, ttl, caller.until, caller.key_name());
    let token = token.ok_or_else(Problem::internal)?;
    let answer = shapes::TokenBody { token: token.token, expires_at: token.expires_at };
    let job = if let TokenScope::Job(job) = &scope { Some(job) } else { None };
    let entry = AuditEntry::on_worker_everywhere("make-token", &worker, &caller).for_job(job);
    Ok(Audited(entry.counted(1), answer))
}

fn may_mint(caller: &Caller, scope: &TokenScope) -> Result<(), Problem> {
    match scope {
        TokenScope::Job(job) => auth::job(caller, job),
        TokenScope::Queues(queues) => match queues.iter().find(|queue| !caller.covers(queue)) {
            Some(beyond) => Err(Problem::forbidden(format!("this is not for the queue {}", beyond.as_str()))),
            None => Ok(()),
        },
    }
}

/// A token for a job that its worker could not be given would be of no use.
async fn require_eligible(queues: &Queues, job: &JobId, worker: &Name, skills: &[Skill]) -> Result<(), Problem> {
    match queues.eligible(job, worker, skills).await.map_err(Problem::from_read)? {
        Eligible::Yes => Ok(()),
        Eligible::No(rule) => Err(Problem::not_eligible(rule)),
        Eligible::Ended(state) => Err(Problem::wrong_state(state)),
        Eligible::UnknownJob => Err(Problem::unknown_job()),
    }
}

struct NewToken {
    worker: Name,
    scope: TokenScope,
    skills: Vec<Skill>,
    ttl: Duration,
}

fn read(mut fields: JsonFields<'_>) -> Result<NewToken, Problem> {
    let worker = fields.require("worker", rules::parsed(Name::of_worker));
    let scope = read_scope(&mut fields);
    let skills = read_skills(&mut fields).unwrap_or_default();
    let ttl = fields.take("ttl_ms", rules::whole(limits::TOKEN_MS)).unwrap_or(limits::TOKEN_DEFAULT_MS);
    let ttl = Duration::from_millis(ttl.into());
    fields.finish(worker.zip(scope).map(|(worker, scope)| NewToken { worker, scope, skills, ttl }))
}

fn read_scope(fields: &mut JsonFields<'_>) -> Option<TokenScope> {
    match (fields.has("queues"), fields.has("job")) {
        (true, true) => fields.reject::<()>("job", "does not go together with queues"),
        (false, false) => fields.reject("queues", "is required without a job"),
        _ => None,
    };
    let queues = fields.list("queues", 1..=limits::TOKEN_QUEUES, rules::parsed(Pattern::parse));
    let job = fields.take("job", rules::parsed(JobId::parse));
    job.map(TokenScope::Job).or(queues.map(TokenScope::Queues))
}
