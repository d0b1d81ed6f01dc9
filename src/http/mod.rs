//! HTTP and nothing else: requests become calls of the store, outcomes become answers, and every refusal a problem.

mod act;
mod acting;
mod answer;
mod app;
mod batches;
mod bulk;
mod deliver;
mod events;
mod extract;
mod fields;
mod front;
mod gather;
mod guard;
mod guide;
mod headers;
mod history;
mod host;
mod incoming;
mod items;
mod json;
mod lasting;
mod listing;
mod me;
mod meant;
mod memory;
mod ndjson;
mod new_job;
mod observe;
mod operator;
mod origin;
mod outgoing;
mod packages;
mod pages;
mod path;
mod peers;
mod people;
mod place;
mod problem;
mod producer;
mod purse;
mod query;
mod reading;
mod recent;
mod rules;
mod scrape;
mod settle;
mod shapes;
mod task;
#[cfg(test)]
mod tests;
mod time;
mod tokens;
mod web;
mod worker;

use axum::{
    Router,
    http::{Method, Uri},
    routing::{get, post},
};
use metrics_exporter_prometheus::PrometheusHandle;
use tokio_util::sync::CancellationToken;

use self::{
    app::{App, Demo, Parts, PayloadLimit},
    front::{Front, anyone, holdings, operators, producers, readers, somebody, viewers, workers},
    guard::Door,
    pages::Readiness,
    problem::{Failure, Problem},
    purse::Bodies,
    scrape::Figures,
    settle::settle,
};
pub use self::{origin::Origins, peers::Peers};
use crate::{
    access::Access,
    store::{Abandon, Complete, Extend, Fail, Queues},
    waiting::Waiting,
};

/// What an operator decides about requests.
#[derive(Debug, Clone)]
pub struct Policy {
    /// Names besides the loopback ones, without ports; `*` for any. Without access control, or where some are given, a
    /// `Host` must be one of these.
    pub allowed_hosts: Vec<String>,
    pub cors: Origins,
    /// Headers that pages of these may send, besides those that calls have; in lower case.
    pub cors_headers: Vec<String>,
    /// Bytes in a payload or a result.
    pub max_payload: usize,
    pub demo: bool,
}

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
fn whole(routes: Router<Front>) -> Router<Front> {
    routes.fallback(anyone(no_such_route)).method_not_allowed_fallback(operators(no_such_method))
}

fn for_producers() -> Router<Front> {
    let job = get(readers(producer::inspect)).delete(producers(producer::cancel));
    let batch = get(readers(batches::inspect)).delete(producers(batches::cancel));
    Router::new()
        .route("/jobs", post(producers(producer::enqueue)))
        .route("/jobs/{id}", job.patch(operators(producer::reprioritize)))
        .route("/batches", post(producers(batches::create)).get(readers(batches::list)))
        .route("/batches/{id}", batch)
        .route("/batches/{id}/jobs", post(producers(batches::append)))
        .route("/batches/{id}/seal", post(producers(batches::seal)))
        .route("/batches/{id}/results", get(readers(batches::results)))
        // The feed of results; the other lists are not for producers, which the handler sees to.
        .route("/queues/{queue}/jobs", get(readers(listing::jobs)))
        .route("/tokens", post(producers(tokens::mint)))
}

fn for_workers() -> Router<Front> {
    Router::new()
        .route("/jobs/reserve", post(workers(worker::reserve)))
        .route("/workers/{worker}/reservations", get(holdings(worker::reservations)))
        // The reservation is the credential, and a beacon can send no other.
        .route("/jobs/extend", post(anyone(settle::<Extend>)))
        .route("/jobs/complete", post(anyone(settle::<Complete>)))
        .route("/jobs/abandon", post(anyone(settle::<Abandon>)))
        .route("/jobs/fail", post(anyone(settle::<Fail>)))
}

fn for_operators() -> Router<Front> {
    let queue = get(viewers(operator::queue)).patch(operators(acting::configure));
    Router::new()
        .route("/jobs/{id}/events", get(viewers(events::of_job)))
        .route("/jobs/release", post(operators(acting::release)))
        .route("/jobs/requeue", post(operators(bulk::requeue)))
        .route("/jobs/reprioritize", post(operators(bulk::reprioritize)))
        .route("/queues", get(viewers(operator::queues)))
        .route("/queues/{queue}", queue.delete(operators(bulk::purge)))
        .route("/queues/{queue}/sweep", post(operators(acting::sweep)))
        .route("/queues/{queue}/workers", get(viewers(operator::workers)))
        .route("/queues/{queue}/events", get(viewers(recent::recent)))
        .route("/queues/{queue}/history", get(viewers(history::history)))
        .route("/queues/{queue}/locks", get(viewers(operator::locks)))
        .route("/workers", get(viewers(people::people)))
        .route("/events", get(viewers(events::events)))
        .route("/redis", get(viewers(memory::redis)))
        .route("/metrics", get(viewers(scrape::metrics)))
}

/// The pages are no secret; what they show is asked for with a key.
fn pages() -> Router<Front> {
    Router::new()
        .route("/livez", get(anyone(pages::livez)))
        .route("/readyz", get(anyone(pages::readyz)))
        .route("/openapi.yaml", get(anyone(pages::openapi)))
        .route("/client.js", get(anyone(web::module)))
        .route("/client.d.ts", get(anyone(web::module)))
        .route("/client.tgz", get(anyone(packages::npm)))
        .route("/python/", get(anyone(packages::python)))
        .route("/python/{wheel}", get(anyone(packages::wheel)))
        .route("/", get(anyone(web::home)))
        .merge(without_slash("/python"))
        .merge(folder("/docs"))
        .merge(folder("/console"))
}

/// Pages of a folder in `web/`.
fn folder(path: &str) -> Router<Front> {
    let page = || get(anyone(web::page));
    without_slash(path).route(&format!("{path}/"), page()).route(&format!("{path}/{{*file}}"), page())
}

fn without_slash(path: &str) -> Router<Front> {
    Router::new().route(path, get(anyone(web::into_folder)))
}

async fn no_such_route(uri: Uri) -> Problem {
    Problem::no_such_route(&uri)
}

async fn no_such_method(method: Method) -> Problem {
    Problem::new(Failure::MethodNotAllowed, format!("{method} is not a method of this route"))
}
