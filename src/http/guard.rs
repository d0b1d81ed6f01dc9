//! Who may call what: the one table, the layer that keeps it, and what handlers ask when the queue is in the body.

use std::time::{Duration, Instant};

use axum::{
    extract::{FromRequestParts, MatchedPath, Request, State},
    http::{HeaderMap, Method, header, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::{
    peers::Peers,
    problem::{Aim, Failure, Problem},
    purse::{Bodies, Purse},
};
use crate::{
    access::{Access, Caller, Pass, Refusal, Who},
    job::{BatchId, JobId, Name, QueueName, limits},
};

const NOT_VALID: &str = "the key or token is not valid, or not any more";

/// What the layer goes by.
#[derive(Clone)]
pub(super) struct Door {
    pub access: Access,
    pub peers: Peers,
    pub bodies: Bodies,
}

/// Every route and whom it is for. What does not stand here is for operators.
const TABLE: &[(&str, &str, Who)] = &[
    ("POST", "/jobs", Who::Producer),
    ("GET", "/jobs/{id}", Who::Producer),
    ("DELETE", "/jobs/{id}", Who::Producer),
    ("PATCH", "/jobs/{id}", Who::Operator),
    ("POST", "/batches", Who::Producer),
    ("GET", "/batches", Who::Producer),
    ("GET", "/batches/{id}", Who::Producer),
    ("DELETE", "/batches/{id}", Who::Producer),
    ("POST", "/batches/{id}/jobs", Who::Producer),
    ("POST", "/batches/{id}/seal", Who::Producer),
    ("GET", "/batches/{id}/results", Who::Producer),
    ("POST", "/tokens", Who::Producer),
    ("POST", "/jobs/reserve", Who::Worker),
    // The reservation is the credential, and a beacon can send no other.
    ("POST", "/jobs/extend", Who::Anyone),
    ("POST", "/jobs/complete", Who::Anyone),
    ("POST", "/jobs/abandon", Who::Anyone),
    ("POST", "/jobs/fail", Who::Anyone),
    ("GET", "/workers/{worker}/reservations", Who::Worker),
    ("POST", "/jobs/release", Who::Operator),
    ("POST", "/jobs/requeue", Who::Operator),
    ("GET", "/queues", Who::Operator),
    ("GET", "/queues/{queue}", Who::Operator),
    ("PATCH", "/queues/{queue}", Who::Operator),
    ("DELETE", "/queues/{queue}", Who::Operator),
    ("POST", "/queues/{queue}/sweep", Who::Operator),
    // The feed of results; the other lists are for operators, which the handler sees to.
    ("GET", "/queues/{queue}/jobs", Who::Producer),
    ("GET", "/queues/{queue}/workers", Who::Operator),
    ("GET", "/queues/{queue}/locks", Who::Operator),
    ("GET", "/events", Who::Operator),
    ("GET", "/metrics", Who::Operator),
    ("GET", "/livez", Who::Anyone),
    ("GET", "/readyz", Who::Anyone),
    ("GET", "/openapi.yaml", Who::Anyone),
    ("GET", "/client.js", Who::Anyone),
    ("GET", "/client.d.ts", Who::Anyone),
    ("GET", "/docs", Who::Anyone),
    ("GET", "/docs/", Who::Anyone),
    ("GET", "/docs/{*file}", Who::Anyone),
    ("GET", "/", Who::Anyone),
    // The pages are no secret; what they show is asked for with a key.
    ("GET", "/console", Who::Anyone),
    ("GET", "/console/", Who::Anyone),
    ("GET", "/console/{*file}", Who::Anyone),
    ("GET", "/demo", Who::Anyone),
    ("GET", "/demo/", Who::Anyone),
    ("GET", "/demo/{*file}", Who::Anyone),
];

/// Whom a route is for.
pub(super) fn who(method: &Method, route: &str) -> Who {
    let method = if *method == Method::HEAD { "GET" } else { method.as_str() };
    let row = TABLE.iter().find(|(m, r, _)| *m == method && *r == route);
    row.map_or(Who::Operator, |(_, _, who)| *who)
}

/// The layer. A path that is no route is nobody's secret; a method that a route does not have is an operator's to learn.
pub(super) async fn check(State(door): State<Door>, mut request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().map(|route| who(request.method(), route.as_str()));
    let who = route.unwrap_or(Who::Anyone);
    if who == Who::Anyone && !knows(&door.access, request.headers()) {
        return hear(&door, request, next).await;
    }
    if who != Who::Anyone {
        match admit(&door.access, request.headers(), who) {
            Ok(pass) => drop(request.extensions_mut().insert(pass)),
            Err((why, problem)) => {
                metrics::counter!("intray_auth_failures_total", "reason" => why).increment(1);
                return problem.into_response();
            }
        }
    }
    request.extensions_mut().insert(Purse::of_known(&door.bodies));
    next.run(request).await
}

/// A call for which no credential is needed, by somebody who has shown none. Who hits nothing again and again is told so.
async fn hear(door: &Door, mut request: Request, next: Next) -> Response {
    let peer = door.peers.of(&request);
    request.extensions_mut().insert(Purse::of_stranger(&door.bodies, peer, &door.peers));
    let response = next.run(request).await;
    let Some(Aim { missed: missed @ 1.., hit }) = response.extensions().get().copied() else { return response };
    match door.peers.missed(peer, missed, Instant::now()) {
        Some(retry_after_ms) if !hit => Problem::too_many_misses(retry_after_ms).into_response(),
        _ => response,
    }
}

/// Whether a credential was shown that is one. Without access control nobody needs to.
fn knows(access: &Access, headers: &HeaderMap) -> bool {
    !access.is_on() || bearer(headers).is_ok_and(|credential| access.knows(credential))
}

/// A refusal comes with the word by which it is counted, never with what was sent.
fn admit(access: &Access, headers: &HeaderMap, who: Who) -> Result<Pass, (&'static str, Problem)> {
    let is_missing = !headers.contains_key(header::AUTHORIZATION);
    let word = if is_missing { "missing" } else { "malformed" };
    let credential = if access.is_on() { bearer(headers).map_err(|problem| (word, problem))? } else { "" };
    let pass = access.admit(credential).map_err(|refusal| match refusal {
        Refusal::Bad(why) => (why.word(), unauthorized(NOT_VALID)),
        Refusal::TooMany { retry_after_ms } => ("rate_limited", Problem::rate_limited(retry_after_ms)),
    })?;
    if pass.caller.role.may(who) {
        return Ok(pass);
    }
    let role = pass.caller.role.word();
    Err(("forbidden", Problem::forbidden(format!("this is not for a {role}"))))
}

/// RFC 6750, section 2.1: the only place where a credential may stand. One in an address would get into logs.
fn bearer(headers: &HeaderMap) -> Result<&str, Problem> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let missing = || unauthorized("send a key or a token as Authorization: Bearer");
    let value = values.next().ok_or_else(missing)?;
    if values.next().is_some() || value.len() > limits::AUTHORIZATION {
        return Err(unauthorized("there must be one Authorization of at most 8 KiB"));
    }
    let (scheme, credential) = value.to_str().ok().and_then(|text| text.split_once(' ')).ok_or_else(missing)?;
    let credential = credential.trim_matches(' ');
    if scheme.eq_ignore_ascii_case("bearer") && !credential.is_empty() { Ok(credential) } else { Err(missing()) }
}

/// For whoever has waited: what came meanwhile is for those only whose key or token still counts.
///
/// # Errors
/// A problem, when it does not.
pub fn still(pass: &Pass, waited: Duration) -> Result<(), Problem> {
    if waited.is_zero() || pass.is_valid() { Ok(()) } else { Err(unauthorized(NOT_VALID)) }
}

fn unauthorized(detail: &'static str) -> Problem {
    Problem::new(Failure::Unauthorized, detail)
}

/// # Errors
/// A problem, when the queue is not the caller's business. It does not tell whether there is one.
pub fn queue(caller: &Caller, queue: &QueueName) -> Result<(), Problem> {
    if caller.sees(queue) { Ok(()) } else { Err(Problem::forbidden(format!("this is not for the queue {queue}"))) }
}

/// # Errors
/// The problem that a job is which does not exist, when it is not the caller's business.
pub fn job(caller: &Caller, id: &JobId) -> Result<(), Problem> {
    if caller.sees(&id.queue) { Ok(()) } else { Err(Problem::unknown_job()) }
}

/// # Errors
/// The problem that a batch is which does not exist, when it is not the caller's business.
pub fn batch(caller: &Caller, id: &BatchId) -> Result<(), Problem> {
    if caller.sees(&id.queue) { Ok(()) } else { Err(Problem::unknown_batch()) }
}

/// # Errors
/// A problem, when the caller is some other worker than the named one.
pub fn worker(caller: &Caller, named: Option<&Name>) -> Result<(), Problem> {
    match (&caller.worker, named) {
        (Some(own), Some(named)) if own != named => Err(Problem::forbidden("the token is another worker's")),
        _ => Ok(()),
    }
}

/// The layer has put it there.
impl<S: Sync> FromRequestParts<S> for Pass {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parts.extensions.get::<Self>().cloned().ok_or_else(|| {
            tracing::error!("a route for nobody in particular asks who calls");
            Problem::internal()
        })
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        Pass::from_request_parts(parts, state).await.map(|pass| pass.caller)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_contract_and_the_table_say_the_same() {
        let document: serde_json::Value =
            serde_saphyr::from_str(include_str!("../../openapi.yaml")).expect("openapi.yaml is YAML");
        for (path, item) in document["paths"].as_object().expect("paths") {
            for (method, operation) in
                item.as_object().expect("operations").iter().filter(|(key, _)| *key != "parameters")
            {
                let method = method.to_uppercase();
                let row = TABLE.iter().find(|(m, p, _)| *m == method && p == path);
                let (.., who) = row.unwrap_or_else(|| panic!("nobody says who may call {method} {path}"));
                let roles = &operation["security"][0]["bearer"];
                let said = match roles[0].as_str() {
                    Some("worker") => Who::Worker,
                    Some("producer") => Who::Producer,
                    Some("operator") => Who::Operator,
                    _ => {
                        assert_eq!(operation["security"], serde_json::json!([]), "{method} {path}");
                        Who::Anyone
                    }
                };
                assert_eq!(said, *who, "{method} {path}");
            }
        }
    }

    #[test]
    fn every_route_is_in_the_table() {
        let routes = include_str!("mod.rs").split(".route(").skip(1);
        let paths: Vec<_> = routes.filter_map(|rest| rest.split('"').nth(1)).collect();
        assert!(paths.len() > 20, "{paths:?}");
        for path in paths {
            assert!(TABLE.iter().any(|(_, route, _)| *route == path), "nobody says who may call {path}");
        }
        assert_eq!(who(&Method::PUT, "/jobs"), Who::Operator, "what is not said is for operators");
        assert_eq!(who(&Method::GET, "/new"), Who::Operator);
        assert_eq!(who(&Method::HEAD, "/livez"), Who::Anyone);
    }

    #[test]
    fn a_credential_is_one_bearer() {
        let found = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::AUTHORIZATION, value.parse().expect("a header"));
            }
            bearer(&headers).map(str::to_owned).ok()
        };
        for right in ["Bearer abc", "bearer abc", "BEARER   abc "] {
            assert_eq!(found(&[right]).as_deref(), Some("abc"), "{right}");
        }
        let (fits, long) = (format!("Bearer {}", "x".repeat(8_185)), format!("Bearer {}", "x".repeat(8_186)));
        assert!(found(&[&fits]).is_some());
        for wrong in
            [&[][..], &[""], &["abc"], &["Bearer"], &["Bearer "], &["Basic abc"], &["Bearer a", "Bearer a"], &[&long]]
        {
            assert_eq!(found(wrong), None, "{wrong:?}");
        }
    }
}
