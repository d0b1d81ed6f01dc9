//! The middleware stack, outermost first. It wraps each handler and not the router, because the role of a route stands
//! next to its handler, and because each layer around a router allocates a service and a future for every request.

use std::{convert::Infallible, panic::AssertUnwindSafe, sync::Arc, time::Instant};

use axum::{
    extract::{MatchedPath, Request},
    handler::Handler,
    http::{HeaderValue, Method, header},
    response::{IntoResponse, Response},
};
use futures_util::{FutureExt, future::BoxFuture};
use intray_metrics::HTTP_REQUEST_DURATION_SECONDS;
use tower::{Layer, ServiceExt, service_fn};
use tower_http::cors::CorsLayer;

use crate::{
    access::RequiredRole,
    http::{
        middleware::{
            audit::AuditEntry,
            auth::{self, AuthContext},
            client_ip::ClientIp,
            origin,
            policy::Policy,
        },
        names::REQUEST_ID,
        response::problem::Problem,
    },
    job::ids::random_code,
};

/// The state of the routes. Only [`RoleGuarded`] handlers accept it, so a handler without a role, or without this
/// stack, does not compile.
#[derive(Clone)]
pub struct AppStack<S>(Arc<StackParts<S>>);

struct StackParts<S> {
    state: S,
    auth_context: AuthContext,
    policy: Policy,
    cors: Option<CorsLayer>,
}

/// A handler with the role that it requires.
#[derive(Clone)]
pub struct RoleGuarded<H> {
    role: RequiredRole,
    handler: H,
}

/// No credential is needed.
pub fn public<H>(handler: H) -> RoleGuarded<H> {
    RoleGuarded { role: RequiredRole::Public, handler }
}

/// Any valid credential.
pub fn authenticated<H>(handler: H) -> RoleGuarded<H> {
    RoleGuarded { role: RequiredRole::Authenticated, handler }
}

pub fn workers<H>(handler: H) -> RoleGuarded<H> {
    RoleGuarded { role: RequiredRole::Worker, handler }
}

/// Workers and viewers.
pub fn holdings<H>(handler: H) -> RoleGuarded<H> {
    RoleGuarded { role: RequiredRole::WorkerOrViewer, handler }
}

/// Producers and askers.
pub fn producers<H>(handler: H) -> RoleGuarded<H> {
    RoleGuarded { role: RequiredRole::Producer, handler }
}

/// Producers, but no askers.
pub fn token_makers<H>(handler: H) -> RoleGuarded<H> {
    RoleGuarded { role: RequiredRole::TokenMaker, handler }
}

/// Producers, askers and viewers.
pub fn readers<H>(handler: H) -> RoleGuarded<H> {
    RoleGuarded { role: RequiredRole::ProducerOrViewer, handler }
}

pub fn viewers<H>(handler: H) -> RoleGuarded<H> {
    RoleGuarded { role: RequiredRole::Viewer, handler }
}

pub fn operators<H>(handler: H) -> RoleGuarded<H> {
    RoleGuarded { role: RequiredRole::Operator, handler }
}

impl<T: 'static, S: Clone + Send + Sync + 'static, H: Handler<T, S>> Handler<(RoleGuarded<()>, T), AppStack<S>>
    for RoleGuarded<H>
{
    type Future = BoxFuture<'static, Response>;

    fn call(self, request: Request, stack: AppStack<S>) -> Self::Future {
        let info = RequestInfo::of(&request);
        // Every answer is recorded, refusals of the inner layers too.
        match &stack.0.cors {
            None => Box::pin(stack.catch_panic(self, request).map(|response| info.record(response))),
            Some(cors) => Box::pin(stack.with_cors(cors, self, request).map(|response| info.record(response))),
        }
    }
}

impl<S: Clone + Send + Sync + 'static> AppStack<S> {
    pub fn new(state: S, auth_context: AuthContext, policy: Policy) -> Self {
        let cors = origin::cors(&policy.cors, &policy.cors_headers);
        Self(Arc::new(StackParts { state, auth_context, policy, cors }))
    }

    /// Adds CORS headers. A preflight ends here.
    fn with_cors<T: 'static, H: Handler<T, S>>(
        &self,
        cors: &CorsLayer,
        to: RoleGuarded<H>,
        request: Request,
    ) -> impl Future<Output = Response> + Send + use<T, S, H> {
        let stack = self.clone();
        let call = move |request| stack.catch_panic(to.clone(), request).map(Ok::<_, Infallible>);
        let response_future = cors.layer(service_fn(call)).oneshot(request);
        response_future.map(|Ok(response)| response)
    }

    /// Turns a panic of the inner layers into a `500`. Authorization runs before the future, so that the future does
    /// not hold the request.
    fn catch_panic<T: 'static, H: Handler<T, S>>(
        &self,
        to: RoleGuarded<H>,
        request: Request,
    ) -> impl Future<Output = Response> + Send + use<T, S, H> {
        let authorized = std::panic::catch_unwind(AssertUnwindSafe(|| self.authorize(to, request)));
        let stack = self.clone();
        async move {
            let answer = match authorized {
                Ok(Ok((client, handling))) => {
                    let answer = handling.map(|response| match client {
                        Some(client) => auth::throttle_failures(&stack.0.auth_context, client, response),
                        None => Ok(response),
                    });
                    AssertUnwindSafe(answer).catch_unwind().await
                }
                Ok(Err(problem)) => Ok(Err(problem)),
                Err(panicked) => Err(panicked),
            };
            match answer {
                Ok(answer) => answer.into_response(),
                Err(_) => {
                    tracing::error!("a handler panicked");
                    Problem::internal().into_response()
                }
            }
        }
    }

    /// Checks host, origin and credential, and then calls the handler.
    fn authorize<T: 'static, H: Handler<T, S>>(
        &self,
        RoleGuarded { role: required_role, handler }: RoleGuarded<H>,
        mut request: Request,
    ) -> Result<(Option<ClientIp>, H::Future), Problem> {
        let StackParts { state, auth_context, policy, .. } = &*self.0;
        origin::check(policy, !auth_context.access.is_on(), required_role, &mut request)?;
        let client = auth::check(auth_context, required_role, &mut request)?;
        Ok((client, handler.call(request, state.clone())))
    }
}

/// For each answer without a `Cache-Control` of its own.
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
/// Longer ones are replaced, not echoed into logs and answers.
const MAX_REQUEST_ID_BYTES: usize = 128;

/// What is recorded of a request before it is answered.
struct RequestInfo {
    start: Instant,
    method: &'static str,
    route: Option<MatchedPath>,
    id: Option<HeaderValue>,
}

impl RequestInfo {
    /// Keeps the caller's request id if it is printable and short, or generates one.
    fn of(request: &Request) -> Self {
        let fit = |id: &&HeaderValue| (1..=MAX_REQUEST_ID_BYTES).contains(&id.len()) && id.to_str().is_ok();
        let own = request.headers().get(REQUEST_ID).filter(fit).cloned();
        Self {
            start: Instant::now(),
            method: method_label(request.method()),
            route: request.extensions().get::<MatchedPath>().cloned(),
            id: own.or_else(|| HeaderValue::from_bytes(random_code().as_bytes()).ok()),
        }
    }

    fn route(&self) -> &str {
        self.route.as_ref().map_or("unmatched", MatchedPath::as_str)
    }

    /// Measures and logs an answered request, and adds the request id to the answer.
    fn record(self, mut response: Response) -> Response {
        let (route, method, status, took) = (self.route(), self.method, response.status(), self.start.elapsed());
        HTTP_REQUEST_DURATION_SECONDS.of(&[method, route, status.as_str()]).observe(took.as_secs_f64());
        let request_id = self.id.as_ref().and_then(|id| id.to_str().ok()).unwrap_or_default();
        let ms = took.as_secs_f64() * 1e3;
        if let Some(act) = response.extensions().get::<AuditEntry>() {
            act.log(request_id);
        }
        // The detail of a 500 promises the line of its request id.
        match status.as_u16() {
            status @ 500 => tracing::error!(method, route, status, ms, request_id, "request"),
            status => tracing::debug!(method, route, status, ms, request_id, "request"),
        }
        let headers = response.headers_mut();
        // A cache may keep an answer that does not mention caching, and give it to others (RFC 9111, section 4.2.2).
        headers.entry(header::CACHE_CONTROL).or_insert(NO_STORE);
        if let Some(id) = self.id {
            headers.insert(REQUEST_ID, id);
        }
        response
    }
}

/// Unknown methods share one label, because callers can invent any number.
fn method_label(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PATCH => "PATCH",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}
