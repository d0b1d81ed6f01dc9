//! For the service that knows its people: a token lets a page work for one of them.

use std::time::Duration;

use axum::extract::State;

use crate::{
    access::{Access, Caller, Pattern},
    http::{
        request::{extract::JsonBody, fields::Fields, query::NoQuery, rules},
        response::{
            json::Json,
            problem::{Failure, Problem},
            shapes,
        },
    },
    job::{Name, limits},
};

/// `POST /tokens`
pub async fn mint(
    State(access): State<Access>,
    caller: Caller,
    _: NoQuery,
    body: JsonBody,
) -> Result<Json<shapes::Token>, Problem> {
    let (worker, queues, ttl) = read(body.fields()?)?;
    if let Some(beyond) = queues.iter().find(|queue| !caller.covers(queue)) {
        return Err(Problem::forbidden(format!("this is not for the queue {}", beyond.as_str())));
    }
    let unsigned = || Problem::new(Failure::NotFound, "this service has no --token-secret to sign tokens with");
    let signer = access.signer().ok_or_else(unsigned)?;
    let token = signer.sign(&worker, &queues, ttl, caller.until).ok_or_else(Problem::internal)?;
    let answer = shapes::Token { token: token.token, expires_at: token.expires_at.into() };
    Ok(Json(answer))
}

fn read(mut fields: Fields<'_>) -> Result<(Name, Vec<Pattern>, Duration), Problem> {
    let worker = fields.need("worker", rules::parsed(Name::of_worker));
    if !fields.has("queues") {
        fields.blame::<()>("queues", "is required");
    }
    let queues = fields.list("queues", 1..=limits::TOKEN_QUEUES, rules::parsed(Pattern::parse));
    let ttl = fields.take("ttl_ms", rules::whole(limits::TOKEN_MS)).unwrap_or(limits::TOKEN_DEFAULT_MS);
    let ttl = Duration::from_millis(ttl.into());
    fields.finish(worker.zip(queues).map(|(worker, queues)| (worker, queues, ttl)))
}
