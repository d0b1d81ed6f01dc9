//! Mints tokens, each for one worker.

use std::time::Duration;

use axum::extract::State;

use crate::{
    access::{Access, Caller, Pattern},
    http::{
        handlers::routing::read_skills,
        request::{body::JsonBody, fields::JsonFields, query::NoQuery, rules},
        response::{
            json::JsonResponse,
            problem::{Problem, ProblemType},
            shapes,
        },
    },
    job::{Name, Skill, limits},
};

/// `POST /tokens`
pub async fn mint(
    State(access): State<Access>,
    caller: Caller,
    _: NoQuery,
    body: JsonBody,
) -> Result<JsonResponse<shapes::TokenBody>, Problem> {
    let NewToken { worker, queues, skills, ttl } = read(body.fields()?)?;
    if let Some(beyond) = queues.iter().find(|queue| !caller.covers(queue)) {
        return Err(Problem::forbidden(format!("this is not for the queue {}", beyond.as_str())));
    }
    let unsigned = || Problem::new(ProblemType::NotFound, "this service has no --token-secret to sign tokens with");
    let signer = access.signer().ok_or_else(unsigned)?;
    let token = signer.sign(&worker, &queues, &skills, ttl, caller.until).ok_or_else(Problem::internal)?;
    let answer = shapes::TokenBody { token: token.token, expires_at: token.expires_at };
    Ok(JsonResponse(answer))
}

struct NewToken {
    worker: Name,
    queues: Vec<Pattern>,
    skills: Vec<Skill>,
    ttl: Duration,
}

fn read(mut fields: JsonFields<'_>) -> Result<NewToken, Problem> {
    let worker = fields.require("worker", rules::parsed(Name::of_worker));
    if !fields.has("queues") {
        fields.reject::<()>("queues", "is required");
    }
    let queues = fields.list("queues", 1..=limits::TOKEN_QUEUES, rules::parsed(Pattern::parse));
    let skills = read_skills(&mut fields).unwrap_or_default();
    let ttl = fields.take("ttl_ms", rules::whole(limits::TOKEN_MS)).unwrap_or(limits::TOKEN_DEFAULT_MS);
    let ttl = Duration::from_millis(ttl.into());
    fields.finish(worker.zip(queues).map(|(worker, queues)| NewToken { worker, queues, skills, ttl }))
}
