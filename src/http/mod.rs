//! HTTP and nothing else: requests become calls of the store, outcomes become answers, and every refusal a problem.

mod batches;
mod deliver;
mod events;
mod extract;
mod fields;
mod gather;
mod guard;
mod headers;
mod host;
mod items;
mod observe;
mod operator;
mod origin;
mod pages;
mod peers;
mod place;
mod problem;
mod producer;
mod purse;
mod query;
mod rules;
mod shapes;
mod task;
#[cfg(test)]
mod tests;
mod time;
mod tokens;
mod web;
mod worker;

use std::{any::Any, sync::Arc};

use axum::{
    Router,
    http::{Method, Uri},
    middleware::{from_fn, from_fn_with_state},
    response::{IntoResponse, Response},
    routing::{delete, get, post},
};
use metrics_exporter_prometheus::PrometheusHandle;
use tokio_util::sync::CancellationToken;
use tower::util::{MapRequestLayer, option_layer};
use tower_http::catch_panic::CatchPanicLayer;

use self::{
    guard::Door,
    pages::{Figures, Readiness},
    problem::{Failure, Problem},
    purse::Bodies,
};
pub use self::{origin::Origins, peers::Peers};
use crate::{access::Access, queue::Queues, waiting::Waiting};

/// What an operator decides about requests.
#[derive(Debug, Clone)]
pub struct Policy {
    /// Names besides the loopback ones, without ports; `*` for any. Without access control, or where some are given, a
    /// `Host` must be one of these.
    pub allowed_hosts: Vec<String>,
    pub cors: Origins,
    /// Bytes in a payload or a result.
    pub max_payload: usize,
    pub demo: bool,
}

/// All routes, and what lies around them. `leaving` takes the readiness away.
pub fn router(
    queues: Queues,
    waiting: Waiting,
    access: Access,
    policy: Policy,
    peers: Peers,
    metrics: PrometheusHandle,
    leaving: CancellationToken,
) -> Router {
    let sized = (queues.clone(), policy.max_payload);
    let readiness = Readiness::new(queues.clone(), leaving.clone());
    let figures = Figures::new(queues.clone(), metrics);

    let routes = Router::new()
        .route("/jobs", post(producer::enqueue).with_state(sized.clone()))
        .route(
            "/jobs/{id}",
            get(producer::inspect).with_state(waiting.clone()).delete(producer::cancel).patch(producer::reprioritize),
        )
        .route("/batches", post(batches::create).with_state(sized.clone()).get(batches::list))
        .route("/batches/{id}", get(batches::inspect).with_state(waiting.clone()).delete(batches::cancel))
        .route("/batches/{id}/jobs", post(batches::append).with_state(sized.clone()))
        .route("/batches/{id}/seal", post(batches::seal))
        .route("/batches/{id}/results", get(batches::results))
        .route("/jobs/reserve", post(worker::reserve).with_state(waiting.clone()))
        .route("/jobs/extend", post(worker::extend).with_state(sized.clone()))
        .route("/jobs/complete", post(worker::complete).with_state(sized.clone()))
        .route("/jobs/abandon", post(worker::abandon).with_state(sized))
        .route("/jobs/fail", post(worker::fail))
        .route("/workers/{worker}/reservations", get(worker::reservations))
        .route("/tokens", post(tokens::mint).with_state(access.clone()))
        .route("/jobs/release", post(operator::release))
        .route("/jobs/requeue", post(operator::requeue))
        .route("/queues", get(operator::queues))
        .route("/queues/{queue}", delete(operator::purge).get(operator::queue).patch(operator::configure))
        .route("/queues/{queue}/sweep", post(operator::sweep))
        .route("/queues/{queue}/jobs", get(operator::jobs).with_state((queues.clone(), waiting.clone())))
        .route("/queues/{queue}/workers", get(operator::workers))
        .route("/queues/{queue}/locks", get(operator::locks))
        .route("/events", get(events::events).with_state((waiting, leaving.clone())))
        .route("/livez", get(pages::livez))
        .route("/readyz", get(pages::readyz).with_state(readiness))
        .route("/metrics", get(pages::metrics).with_state(figures))
        .route("/openapi.yaml", get(pages::openapi))
        .route("/client.js", get(web::module))
        .route("/client.d.ts", get(web::module))
        .route("/docs", get(web::into_folder))
        .route("/docs/", get(web::page))
        .route("/docs/{*file}", get(web::page))
        .route("/", get(move || web::home(policy.demo)))
        .route("/console", get(web::into_folder))
        .route("/console/", get(web::page))
        .route("/console/{*file}", get(web::page))
        .with_state(queues);
    let routes = if policy.demo { routes.merge(demo()) } else { routes };
    guarded(routes, Door { access, peers, bodies: Bodies::default() }, policy)
}

/// A desk to try, for those who ask for it.
fn demo() -> Router {
    Router::new()
        .route("/demo", get(web::into_folder))
        .route("/demo/", get(web::page))
        .route("/demo/{*file}", get(web::page))
}

/// What every request passes on its way in and out.
fn guarded(routes: Router, door: Door, policy: Policy) -> Router {
    let (set_id, echo_id) = observe::request_ids();
    let cors = origin::cors(&policy.cors);
    let routes = routes.fallback(no_such_route).method_not_allowed_fallback(no_such_method);
    // The first is the outermost: a refusal further in has an id, is counted, and a page may read it.
    routes.layer((
        MapRequestLayer::new(observe::drop_odd_ids),
        set_id,
        echo_id,
        from_fn(observe::observe),
        option_layer(cors),
        CatchPanicLayer::custom(panicked),
        from_fn_with_state((Arc::new(policy), door.access.clone()), origin::check),
        from_fn_with_state(door, guard::check),
    ))
}

async fn no_such_route(uri: Uri) -> Problem {
    Problem::no_such_route(&uri)
}

async fn no_such_method(method: Method) -> Problem {
    Problem::new(Failure::MethodNotAllowed, format!("{method} is not a method of this route"))
}

fn panicked(_: Box<dyn Any + Send>) -> Response {
    tracing::error!("a handler panicked");
    Problem::internal().into_response()
}
