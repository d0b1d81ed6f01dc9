//! The middleware stack, outermost first. It wraps each handler and not the router, because the role of a route stands
//! beside its handler, and because each layer around a router allocates a service and a future for every request.

use std::{convert::Infallible, panic::AssertUnwindSafe, sync::Arc};

use axum::{
    extract::Request,
    handler::Handler,
    response::{IntoResponse, Response},
};
use futures_util::{FutureExt, future::BoxFuture};
use tower::{Layer, ServiceExt, service_fn};
use tower_http::cors::CorsLayer;

use crate::{
    access::RequiredRole,
    http::{
        middleware::{
            auth::{self, AuthContext},
            client_ip::ClientIp,
            observe::RequestInfo,
            origin,
            policy::Policy,
        },
        response::problem::Problem,
    },
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

pub fn producers<H>(handler: H) -> RoleGuarded<H> {
    RoleGuarded { role: RequiredRole::Producer, handler }
}

/// Producers and viewers.
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
        match &stack.0.cors {
            None => Box::pin(observe(info, stack.catch_panic(self, request))),
            Some(cors) => Box::pin(observe(info, stack.with_cors(cors, self, request))),
        }
    }
}

/// Measures and labels every answer, refusals of the inner layers too.
async fn observe(info: RequestInfo, response_future: impl Future<Output = Response>) -> Response {
    let mut response = response_future.await;
    info.record(&mut response);
    response
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
                    AssertUnwindSafe(handling.map(|response| stack.throttle(client, response))).catch_unwind().await
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
        RoleGuarded { role: who, handler }: RoleGuarded<H>,
        mut request: Request,
    ) -> Result<(Option<ClientIp>, H::Future), Problem> {
        let StackParts { state, auth_context, policy, .. } = &*self.0;
        origin::check(policy, !auth_context.access.is_on(), who, &mut request)?;
        let client = auth::check(auth_context, who, &mut request)?;
        Ok((client, handler.call(request, state.clone())))
    }

    fn throttle(&self, client: Option<ClientIp>, response: Response) -> Result<Response, Problem> {
        match client {
            Some(client) => auth::throttle_failures(&self.0.auth_context, client, response),
            None => Ok(response),
        }
    }
}
