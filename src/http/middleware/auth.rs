//! Authentication and roles, and the access rules for queues that are named in a body.

use std::time::{Duration, Instant};

use axum::{
    extract::{FromRequestParts, Request},
    http::{HeaderMap, header, request::Parts},
    response::Response,
};

use crate::{
    access::{Access, AccessDenied, Caller, InvalidCredential, Pass, RequiredRole, Role},
    http::{
        middleware::{
            body_budget::{BodyBudget, MemoryPool},
            client_ip::{ClientIp, Clients},
        },
        response::problem::{Attempts, Problem, ProblemType},
    },
    job::{BatchId, JobId, Name, QueueName, limits},
    shares::RequestConnection,
};

const NOT_VALID: &str = "the key or token is not valid, or no longer valid";
/// What a token for one job is refused with, where it asks for more.
pub const FOR_ONE_JOB: &str = "the token is for one job";
const ENDED: &str = "the key is past its end";

/// Everything an authorization decision depends on.
pub struct AuthContext {
    pub access: Access,
    pub clients: Clients,
    pub memory: MemoryPool,
}

/// The result of an authorization, which the handler's extractors read.
#[derive(Clone)]
pub struct AuthOutcome {
    /// `None` on public routes.
    pub pass: Option<Pass>,
    pub budget: BodyBudget,
}

/// Authorizes a request. For a public route that was called without a valid credential it returns the client's address,
/// whose failed attempts are limited.
///
/// # Errors
/// A problem, when the caller may not call this route.
pub fn check(
    context: &AuthContext,
    required_role: RequiredRole,
    request: &mut Request,
) -> Result<Option<ClientIp>, Problem> {
    let identify_optional =
        if required_role == RequiredRole::Public { known(&context.access, request.headers()) } else { Some(None) };
    let client = identify_optional.is_none().then(|| context.clients.of(request));
    let pass = match required_role {
        RequiredRole::Public => None,
        RequiredRole::Authenticated
        | RequiredRole::Worker
        | RequiredRole::WorkerOrViewer
        | RequiredRole::Producer
        | RequiredRole::TokenMaker
        | RequiredRole::ProducerOrViewer
        | RequiredRole::Viewer
        | RequiredRole::Operator => {
            // Counts refusals by reason; the credential itself is never recorded.
            Some(identify(&context.access, request.headers(), required_role).map_err(|(why, problem)| {
                intray_metrics::AUTH_FAILURES_TOTAL.of(&[why]).inc();
                problem
            })?)
        }
    };
    // Removed, because only this function needs it: one more entry would make the request's map grow.
    let connection = request.extensions_mut().remove::<RequestConnection>();
    let caller = pass.as_ref().map(|pass| &pass.caller);
    if let (Some(RequestConnection(connection)), Some(caller), true) = (connection, caller, context.access.is_on())
        && !connection.charge(&context.access.payer(caller), &|| context.access.has_partitions())
    {
        return Err(Problem::too_many_connections());
    }
    let budget = match client {
        Some(client) => BodyBudget::anonymous(&context.memory, client, &context.clients),
        None => BodyBudget::authenticated(
            &context.memory,
            caller.cloned().or(identify_optional.flatten()).filter(|_| context.access.is_on()),
        ),
    };
    request.extensions_mut().insert(AuthOutcome { pass, budget });
    Ok(client)
}

/// Replaces the answer when a client has made too many failed attempts.
///
/// # Errors
/// `429` with the time after which the client may try again.
pub fn throttle_failures(context: &AuthContext, client: ClientIp, response: Response) -> Result<Response, Problem> {
    let Some(Attempts { missed: missed @ 1.., any_valid: hit }) = response.extensions().get().copied() else {
        return Ok(response);
    };
    match context.clients.record_failure(client, missed, Instant::now()) {
        Some(retry_after_ms) if !hit => Err(Problem::too_many_failures(retry_after_ms)),
        _ => Ok(response),
    }
}

/// The caller of a public route: the outer `None` is a client without a valid credential, the inner one a service
/// without access control.
fn known(access: &Access, headers: &HeaderMap) -> Option<Option<Caller>> {
    if !access.is_on() {
        return Some(None);
    }
    bearer(headers).ok().and_then(|credential| access.identify(credential)).map(Some)
}

fn identify(
    access: &Access,
    headers: &HeaderMap,
    required_role: RequiredRole,
) -> Result<Pass, (&'static str, Problem)> {
    let is_missing = !headers.contains_key(header::AUTHORIZATION);
    let word = if is_missing { "missing" } else { "malformed" };
    let credential = if access.is_on() { bearer(headers).map_err(|problem| (word, problem))? } else { "" };
    let pass = access.authenticate(credential).map_err(|refusal| match refusal {
        AccessDenied::Bad(InvalidCredential::Ended) => (InvalidCredential::Ended.word(), unauthorized(ENDED)),
        AccessDenied::Bad(why) => (why.word(), unauthorized(NOT_VALID)),
        AccessDenied::TooMany { retry_after_ms } => ("rate_limited", Problem::rate_limited(retry_after_ms)),
    })?;
    if !required_role.allows(pass.caller.role) {
        return Err(("forbidden", Problem::forbidden(not_for(pass.caller.role, required_role))));
    }
    if pass.caller.job.is_some() && !required_role.allows_one_job() {
        return Err(("forbidden", Problem::forbidden(FOR_ONE_JOB)));
    }
    Ok(pass)
}

fn not_for(role: Role, required_role: RequiredRole) -> &'static str {
    match role {
        Role::Asker if required_role == RequiredRole::TokenMaker => {
            "an asker's key makes no tokens, because it could answer its own question with one"
        }
        Role::Asker => "this is not for an asker",
        Role::Worker => "this is not for a worker",
        Role::Producer => "this is not for a producer",
        Role::Viewer => "this is not for a viewer",
        Role::Operator => "this is not for an operator",
    }
}

/// Reads the bearer token from `Authorization` only (RFC 6750, section 2.1): one in a URL would end up in logs.
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

/// Runs a call that may wait, until its credential ends: nothing is handed to a caller whose credential is no longer valid, and the
/// caller learns it then. What the call has got is dropped, which takes new reservations back.
///
/// # Errors
/// A problem, when the credential has ended.
pub async fn while_valid<T>(pass: &Pass, wait: Duration, call: impl Future<Output = T>) -> Result<T, Problem> {
    if wait.is_zero() {
        return Ok(call.await);
    }
    tokio::select! {
        outcome = call => revalidate(pass).map(|()| outcome),
        () = pass.ended() => Err(unauthorized(NOT_VALID)),
    }
}

/// Checks the credential of a call that lasts again.
///
/// # Errors
/// A problem, when the credential is no longer valid.
pub fn revalidate(pass: &Pass) -> Result<(), Problem> {
    if pass.is_valid() { Ok(()) } else { Err(unauthorized(NOT_VALID)) }
}

fn unauthorized(detail: &'static str) -> Problem {
    Problem::new(ProblemType::Unauthorized, detail)
}

/// # Errors
/// A problem, when the caller may not see the queue, whether or not it exists.
pub fn queue(caller: &Caller, queue: &QueueName) -> Result<(), Problem> {
    if caller.may_see(queue) { Ok(()) } else { Err(Problem::forbidden(format!("this is not for the queue {queue}"))) }
}

/// # Errors
/// The same problem as for a job that does not exist, when the caller may not see its queue.
pub fn job(caller: &Caller, id: &JobId) -> Result<(), Problem> {
    if caller.may_see(&id.queue) { Ok(()) } else { Err(Problem::unknown_job()) }
}

/// # Errors
/// The same problem as for a batch that does not exist, when the caller may not see its queue.
pub fn batch(caller: &Caller, id: &BatchId) -> Result<(), Problem> {
    if caller.may_see(&id.queue) { Ok(()) } else { Err(Problem::unknown_batch()) }
}

/// # Errors
/// A problem, when the caller's token is for another worker.
pub fn worker(caller: &Caller, named: Option<&Name>) -> Result<(), Problem> {
    match (&caller.worker, named) {
        (Some(own), Some(named)) if own != named => Err(Problem::forbidden("the token is another worker's")),
        _ => Ok(()),
    }
}

/// [`check`] inserts it.
impl<S: Sync> FromRequestParts<S> for Pass {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parts.extensions.get::<AuthOutcome>().and_then(|admission| admission.pass.clone()).ok_or_else(|| {
            tracing::error!("a public route extracts the caller: give the route a role");
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
    fn credential_is_a_single_bearer_token() {
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
