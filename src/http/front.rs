//! What every request passes on its way to its handler, and its answer on the way back, from top to bottom. It lies around
//! each handler and not around the router, because whom a route is for stands beside its handler, and because each layer
//! around a router costs every request a box for itself and one for what it waits for.

use std::{convert::Infallible, panic::AssertUnwindSafe, sync::Arc};

use axum::{
    extract::Request,
    handler::Handler,
    response::{IntoResponse, Response},
};
use futures_util::{FutureExt, future::BoxFuture};
use tower::{Layer, ServiceExt, service_fn};
use tower_http::cors::CorsLayer;

use super::{
    Policy,
    app::App,
    guard::{self, Door},
    observe::{Figures, Sight},
    origin,
    problem::Problem,
};
use crate::access::Who;

/// What the routes are given: a handler that does not say whom it is for does not fit, and nor does one that is not watched.
#[derive(Clone)]
pub struct Front(Arc<Parts>);

struct Parts {
    app: App,
    door: Door,
    policy: Policy,
    cors: Option<CorsLayer>,
    figures: Figures,
}

/// A handler, and whom it is for.
#[derive(Clone)]
pub struct For<H> {
    who: Who,
    handler: H,
}

/// No credential is asked for.
pub fn anyone<H>(handler: H) -> For<H> {
    For { who: Who::Anyone, handler }
}

pub fn workers<H>(handler: H) -> For<H> {
    For { who: Who::Worker, handler }
}

pub fn producers<H>(handler: H) -> For<H> {
    For { who: Who::Producer, handler }
}

pub fn operators<H>(handler: H) -> For<H> {
    For { who: Who::Operator, handler }
}

impl<T: 'static, H: Handler<T, App>> Handler<(For<()>, T), Front> for For<H> {
    type Future = BoxFuture<'static, Response>;

    fn call(self, request: Request, front: Front) -> Self::Future {
        Box::pin(front.answer(self, request))
    }
}

impl Front {
    pub fn new(app: App, door: Door, policy: Policy) -> Self {
        let (cors, figures) = (origin::cors(&policy.cors), Figures::default());
        Self(Arc::new(Parts { app, door, policy, cors, figures }))
    }

    /// A refusal further in has an id, is counted, and a page may read it.
    async fn answer<T: 'static, H: Handler<T, App>>(self, to: For<H>, request: Request) -> Response {
        let sight = Sight::of(&request);
        let mut response = match &self.0.cors {
            None => self.guarded(to, request).await,
            // In a box: where pages of others may not call, this is no part of what a request costs.
            Some(cors) => Box::pin(self.for_pages(cors, to, request)).await,
        };
        self.0.figures.note(sight, &mut response);
        response
    }

    /// Tells browsers which pages may read the answer. A preflight ends here.
    async fn for_pages<T: 'static, H: Handler<T, App>>(
        &self,
        cors: &CorsLayer,
        to: For<H>,
        request: Request,
    ) -> Response {
        let call = async |request| Ok::<_, Infallible>(self.guarded(to.clone(), request).await);
        match cors.layer(service_fn(call)).oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }

    /// Whatever breaks further in is an answer, and breaks nothing else.
    async fn guarded<T: 'static, H: Handler<T, App>>(&self, to: For<H>, request: Request) -> Response {
        match AssertUnwindSafe(self.admitted(to, request)).catch_unwind().await {
            Ok(answer) => answer.into_response(),
            Err(_) => {
                tracing::error!("a handler panicked");
                Problem::internal().into_response()
            }
        }
    }

    /// Only who is asked by a right name, from a right page and with a right credential gets to the handler.
    async fn admitted<T: 'static, H: Handler<T, App>>(
        &self,
        For { who, handler }: For<H>,
        mut request: Request,
    ) -> Result<Response, Problem> {
        let Parts { app, door, policy, .. } = &*self.0;
        origin::check(policy, !door.access.is_on(), who, &mut request)?;
        let stranger = guard::check(door, who, &mut request)?;
        let response = handler.call(request, app.clone()).await;
        match stranger {
            Some(peer) => guard::judge(door, peer, response),
            None => Ok(response),
        }
    }
}
