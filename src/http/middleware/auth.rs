//! Who is let in, and what handlers ask when the queue is in the body.

use std::time::{Duration, Instant};

use axum::{
    extract::{FromRequestParts, Request},
    http::{HeaderMap, header, request::Parts},
    response::Response,
};

use crate::{
    access::{Access, AccessDenied, Caller, InvalidCredential, Pass, RequiredRole},
    http::{
        middleware::{
            body_budget::{Bodies, Purse},
            client_ip::{Peer, Peers},
        },
        response::problem::{Aim, Failure, Problem},
    },
    job::{BatchId, JobId, Name, QueueName, limits},
    shares::RequestConnection,
};

const NOT_VALID: &str = "the key or token is not valid, or not any more";
const ENDED: &str = "the key is past its end";

/// What is gone by.
pub struct Door {
    pub access: Access,
    pub peers: Peers,
    pub bodies: Bodies,
}

/// What a request was let in with.
#[derive(Clone)]
pub struct Admission {
    /// `None` where no credential is asked for.
    pub pass: Option<Pass>,
    pub purse: Purse,
}

/// Lets a request in, or says why not. For a call that needs no credential, by somebody who has shown none, it answers by
/// whom: that one is to be judged by what comes of it.
///
/// # Errors
/// A problem, when the caller may not do this.
pub fn check(door: &Door, who: RequiredRole, request: &mut Request) -> Result<Option<Peer>, Problem> {
    let known = if who == RequiredRole::Public { known(&door.access, request.headers()) } else { Some(None) };
    let stranger = known.is_none().then(|| door.peers.of(request));
    let pass = match who {
        RequiredRole::Public => None,
        RequiredRole::Authenticated
        | RequiredRole::Worker
        | RequiredRole::WorkerOrViewer
        | RequiredRole::Producer
        | RequiredRole::ProducerOrViewer
        | RequiredRole::Viewer
        | RequiredRole::Operator => Some(admit(&door.access, request.headers(), who)?),
    };
    // The connection is asked for here alone, and with one thing more the map of them would grow for each request.
    let connection = request.extensions_mut().remove::<RequestConnection>();
    let caller = pass.as_ref().map(|pass| &pass.caller);
    if let (Some(RequestConnection(connection)), Some(caller), true) = (connection, caller, door.access.is_on())
        && !connection.charge(&door.access.payer(caller), &|| door.access.has_partitions())
    {
        return Err(Problem::too_many_connections());
    }
    let purse = match stranger {
        Some(peer) => Purse::of_stranger(&door.bodies, peer, &door.peers),
        None => Purse::of_known(&door.bodies, caller.cloned().or(known.flatten()).filter(|_| door.access.is_on())),
    };
    request.extensions_mut().insert(Admission { pass, purse });
    Ok(stranger)
}

/// Who hits nothing again and again is told so, in place of an answer.
///
/// # Errors
/// The problem that it is.
pub fn judge(door: &Door, peer: Peer, response: Response) -> Result<Response, Problem> {
    let Some(Aim { missed: missed @ 1.., hit }) = response.extensions().get().copied() else { return Ok(response) };
    match door.peers.missed(peer, missed, Instant::now()) {
        Some(retry_after_ms) if !hit => Err(Problem::too_many_misses(retry_after_ms)),
        _ => Ok(response),
    }
}

/// Whose credential was shown, if it is one. Without access control there are none, and all are known.
fn known(access: &Access, headers: &HeaderMap) -> Option<Option<Caller>> {
    if !access.is_on() {
        return Some(None);
    }
    bearer(headers).ok().and_then(|credential| access.identify(credential)).map(Some)
}

/// A refusal is counted by a word, never with what was sent.
fn admit(access: &Access, headers: &HeaderMap, who: RequiredRole) -> Result<Pass, Problem> {
    identify(access, headers, who).map_err(|(why, problem)| {
        metrics::counter!("intray_auth_failures_total", "reason" => why).increment(1);
        problem
    })
}

fn identify(access: &Access, headers: &HeaderMap, who: RequiredRole) -> Result<Pass, (&'static str, Problem)> {
    let is_missing = !headers.contains_key(header::AUTHORIZATION);
    let word = if is_missing { "missing" } else { "malformed" };
    let credential = if access.is_on() { bearer(headers).map_err(|problem| (word, problem))? } else { "" };
    let pass = access.authenticate(credential).map_err(|refusal| match refusal {
        AccessDenied::Bad(InvalidCredential::Ended) => (InvalidCredential::Ended.word(), unauthorized(ENDED)),
        AccessDenied::Bad(why) => (why.word(), unauthorized(NOT_VALID)),
        AccessDenied::TooMany { retry_after_ms } => ("rate_limited", Problem::rate_limited(retry_after_ms)),
    })?;
    if who.allows(pass.caller.role) {
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
    if caller.may_see(queue) { Ok(()) } else { Err(Problem::forbidden(format!("this is not for the queue {queue}"))) }
}

/// # Errors
/// The problem that a job is which does not exist, when it is not the caller's business.
pub fn job(caller: &Caller, id: &JobId) -> Result<(), Problem> {
    if caller.may_see(&id.queue) { Ok(()) } else { Err(Problem::unknown_job()) }
}

/// # Errors
/// The problem that a batch is which does not exist, when it is not the caller's business.
pub fn batch(caller: &Caller, id: &BatchId) -> Result<(), Problem> {
    if caller.may_see(&id.queue) { Ok(()) } else { Err(Problem::unknown_batch()) }
}

/// # Errors
/// A problem, when the caller is some other worker than the named one.
pub fn worker(caller: &Caller, named: Option<&Name>) -> Result<(), Problem> {
    match (&caller.worker, named) {
        (Some(own), Some(named)) if own != named => Err(Problem::forbidden("the token is another worker's")),
        _ => Ok(()),
    }
}

/// [`check`] has put it there.
impl<S: Sync> FromRequestParts<S> for Pass {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parts.extensions.get::<Admission>().and_then(|admission| admission.pass.clone()).ok_or_else(|| {
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
