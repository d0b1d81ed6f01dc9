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

use crate::{
    access::RequiredRole,
    http::{
        middleware::{
            auth::{self, Door},
            client_ip::Peer,
            observe::{Figures, Sight},
            origin,
            policy::Policy,
        },
        response::problem::Problem,
    },
};

/// What the routes are given: a handler that does not say whom it is for does not fit, and nor does one that is not watched.
#[derive(Clone)]
pub struct Front<S>(Arc<Parts<S>>);

struct Parts<S> {
    state: S,
    door: Door,
    policy: Policy,
    cors: Option<CorsLayer>,
    figures: Figures,
}

/// A handler, and whom it is for.
#[derive(Clone)]
pub struct For<H> {
    who: RequiredRole,
    handler: H,
}

/// No credential is asked for.
pub fn anyone<H>(handler: H) -> For<H> {
    For { who: RequiredRole::Public, handler }
}

/// Any credential will do.
pub fn somebody<H>(handler: H) -> For<H> {
    For { who: RequiredRole::Authenticated, handler }
}

pub fn workers<H>(handler: H) -> For<H> {
    For { who: RequiredRole::Worker, handler }
}

/// Workers and viewers, who see what is held.
pub fn holdings<H>(handler: H) -> For<H> {
    For { who: RequiredRole::WorkerOrViewer, handler }
}

pub fn producers<H>(handler: H) -> For<H> {
    For { who: RequiredRole::Producer, handler }
}

/// Producers and viewers.
pub fn readers<H>(handler: H) -> For<H> {
    For { who: RequiredRole::ProducerOrViewer, handler }
}

pub fn viewers<H>(handler: H) -> For<H> {
    For { who: RequiredRole::Viewer, handler }
}

pub fn operators<H>(handler: H) -> For<H> {
    For { who: RequiredRole::Operator, handler }
}

impl<T: 'static, S: Clone + Send + Sync + 'static, H: Handler<T, S>> Handler<(For<()>, T), Front<S>> for For<H> {
    type Future = BoxFuture<'static, Response>;

    fn call(self, request: Request, front: Front<S>) -> Self::Future {
        let sight = Sight::of(&request);
        match &front.0.cors {
            None => Box::pin(seen(front.clone(), sight, front.guarded(self, request))),
            Some(cors) => Box::pin(seen(front.clone(), sight, front.for_pages(cors, self, request))),
        }
    }
}

/// A refusal further in has an id, is counted, and a page may read it.
async fn seen<S>(front: Front<S>, sight: Sight, answering: impl Future<Output = Response>) -> Response {
    let mut response = answering.await;
    front.0.figures.note(sight, &mut response);
    response
}

impl<S: Clone + Send + Sync + 'static> Front<S> {
    pub fn new(state: S, door: Door, policy: Policy) -> Self {
        let (cors, figures) = (origin::cors(&policy.cors, &policy.cors_headers), Figures::default());
        Self(Arc::new(Parts { state, door, policy, cors, figures }))
    }

    /// Tells browsers which pages may read the answer. A preflight ends here.
    fn for_pages<T: 'static, H: Handler<T, S>>(
        &self,
        cors: &CorsLayer,
        to: For<H>,
        request: Request,
    ) -> impl Future<Output = Response> + Send + use<T, S, H> {
        let front = self.clone();
        let call = move |request| front.guarded(to.clone(), request).map(Ok::<_, Infallible>);
        let answering = cors.layer(service_fn(call)).oneshot(request);
        answering.map(|Ok(response)| response)
    }

    /// Whatever breaks further in is an answer, and breaks nothing else. What can be seen to at once is, so that the request
    /// is no part of what is waited for, and copied with it.
    fn guarded<T: 'static, H: Handler<T, S>>(
        &self,
        to: For<H>,
        request: Request,
    ) -> impl Future<Output = Response> + Send + use<T, S, H> {
        let admitted = std::panic::catch_unwind(AssertUnwindSafe(|| self.admitted(to, request)));
        let front = self.clone();
        async move {
            let answer = match admitted {
                Ok(Ok((stranger, handling))) => {
                    AssertUnwindSafe(handling.map(|response| front.judged(stranger, response))).catch_unwind().await
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

    /// Only who is asked by a right name, from a right page and with a right credential gets to the handler.
    fn admitted<T: 'static, H: Handler<T, S>>(
        &self,
        For { who, handler }: For<H>,
        mut request: Request,
    ) -> Result<(Option<Peer>, H::Future), Problem> {
        let Parts { state, door, policy, .. } = &*self.0;
        origin::check(policy, !door.access.is_on(), who, &mut request)?;
        let stranger = auth::check(door, who, &mut request)?;
        Ok((stranger, handler.call(request, state.clone())))
    }

    fn judged(&self, stranger: Option<Peer>, response: Response) -> Result<Response, Problem> {
        match stranger {
            Some(peer) => auth::judge(&self.0.door, peer, response),
            None => Ok(response),
        }
    }
}
