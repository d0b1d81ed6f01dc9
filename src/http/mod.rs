//! HTTP and nothing else: requests become calls of the store, outcomes become answers, and every refusal a problem.

mod handlers;
mod middleware;
mod names;
mod request;
mod response;
mod site;
mod state;
#[cfg(test)]
mod tests;

use axum::{
    Router,
    http::{Method, Uri},
    routing::{get, post},
};
use metrics_exporter_prometheus::PrometheusHandle;
use tokio_util::sync::CancellationToken;

pub use self::middleware::{
    client_ip::Peers,
    policy::{Origins, Policy},
};
use self::{
    handlers::{
        batches, bulk, events, history, job_lists, jobs, me, memory, queue_actions, queues, recent_events, reserve,
        settle::settle, tokens, workers as people,
    },
    middleware::{
        auth::Door,
        body_budget::Bodies,
        stack::{Front, anyone, holdings, operators, producers, readers, somebody, viewers, workers},
    },
    request::rules::PayloadLimit,
    response::problem::{Failure, Problem},
    site::{
        assets::{self, Demo},
        health::{self, Readiness},
        metrics::{self, Figures},
        packages,
    },
    state::{App, Parts},
};
use crate::{
    access::Access,
    store::{Abandon, Complete, Extend, Fail, Queues},
    waiting::Waiting,
};

/// The routes, each with the role that it is for.
type Routes = Router<Front<App>>;

/// The service as HTTP has it. `leaving` takes the readiness away.
pub fn router(
    queues: Queues,
    waiting: Waiting,
    access: Access,
    policy: Policy,
    peers: Peers,
    metrics: PrometheusHandle,
    leaving: CancellationToken,
) -> Router {
    let app = Parts {
        readiness: Readiness::new(queues.clone(), leaving.clone()),
        figures: Figures::new(queues.clone(), waiting.clone(), metrics),
        max_payload: PayloadLimit(policy.max_payload),
        demo: Demo(policy.demo),
        access: access.clone(),
        queues,
        waiting,
        leaving,
    };
    let app = App(app.into());
    let pages = if policy.demo { pages().merge(folder("/demo")) } else { pages() };
    let routes =
        for_producers().merge(for_workers()).merge(for_operators()).merge(pages).route("/me", get(somebody(me::me)));
    let bodies = Bodies::new(access.clone());
    whole(routes).with_state(Front::new(app, Door { access, peers, bodies }, policy))
}

/// What a path that is no route is told, and a method that a route does not have: the one is nobody's secret, the other an
/// operator's to learn.
fn whole(routes: Routes) -> Routes {
    routes.fallback(anyone(no_such_route)).method_not_allowed_fallback(operators(no_such_method))
}

fn for_producers() -> Routes {
    let job = get(readers(jobs::inspect)).delete(producers(jobs::cancel));
    let batch = get(readers(batches::inspect)).delete(producers(batches::cancel));
    Router::new()
        .route("/jobs", post(producers(jobs::enqueue)))
        .route("/jobs/{id}", job.patch(operators(jobs::reprioritize)))
        .route("/batches", post(producers(batches::create)).get(readers(batches::list)))
        .route("/batches/{id}", batch)
        .route("/batches/{id}/jobs", post(producers(batches::append)))
        .route("/batches/{id}/seal", post(producers(batches::seal)))
        .route("/batches/{id}/results", get(readers(batches::results)))
        // The feed of results; the other lists are not for producers, which the handler sees to.
        .route("/queues/{queue}/jobs", get(readers(job_lists::jobs)))
        .route("/tokens", post(producers(tokens::mint)))
}

fn for_workers() -> Routes {
    Router::new()
        .route("/jobs/reserve", post(workers(reserve::reserve)))
        .route("/workers/{worker}/reservations", get(holdings(reserve::reservations)))
        // The reservation is the credential, and a beacon can send no other.
        .route("/jobs/extend", post(anyone(settle::<Extend>)))
        .route("/jobs/complete", post(anyone(settle::<Complete>)))
        .route("/jobs/abandon", post(anyone(settle::<Abandon>)))
        .route("/jobs/fail", post(anyone(settle::<Fail>)))
}

fn for_operators() -> Routes {
    let queue = get(viewers(queues::queue)).patch(operators(queue_actions::configure));
    Router::new()
        .route("/jobs/{id}/events", get(viewers(events::of_job)))
        .route("/jobs/release", post(operators(queue_actions::release)))
        .route("/jobs/requeue", post(operators(bulk::requeue)))
        .route("/jobs/reprioritize", post(operators(bulk::reprioritize)))
        .route("/queues", get(viewers(queues::queues)))
        .route("/queues/{queue}", queue.delete(operators(bulk::purge)))
        .route("/queues/{queue}/sweep", post(operators(queue_actions::sweep)))
        .route("/queues/{queue}/workers", get(viewers(queues::workers)))
        .route("/queues/{queue}/events", get(viewers(recent_events::recent)))
        .route("/queues/{queue}/history", get(viewers(history::history)))
        .route("/queues/{queue}/locks", get(viewers(queues::locks)))
        .route("/workers", get(viewers(people::people)))
        .route("/events", get(viewers(events::events)))
        .route("/redis", get(viewers(memory::redis)))
        .route("/metrics", get(viewers(metrics::metrics)))
}

/// The pages are no secret; what they show is asked for with a key.
fn pages() -> Routes {
    Router::new()
        .route("/livez", get(anyone(health::livez)))
        .route("/readyz", get(anyone(health::readyz)))
        .route("/openapi.yaml", get(anyone(health::openapi)))
        .route("/client.js", get(anyone(assets::module)))
        .route("/client.d.ts", get(anyone(assets::module)))
        .route("/client.tgz", get(anyone(packages::npm)))
        .route("/python/", get(anyone(packages::python)))
        .route("/python/{wheel}", get(anyone(packages::wheel)))
        .route("/", get(anyone(assets::home)))
        .merge(without_slash("/python"))
        .merge(folder("/docs"))
        .merge(folder("/console"))
}

/// Pages of a folder in `web/`.
fn folder(path: &str) -> Routes {
    let page = || get(anyone(assets::page));
    without_slash(path).route(&format!("{path}/"), page()).route(&format!("{path}/{{*file}}"), page())
}

fn without_slash(path: &str) -> Routes {
    Router::new().route(path, get(anyone(assets::into_folder)))
}

async fn no_such_route(uri: Uri) -> Problem {
    Problem::no_such_route(&uri)
}

async fn no_such_method(method: Method) -> Problem {
    Problem::new(Failure::MethodNotAllowed, format!("{method} is not a method of this route"))
}
