//! The HTTP interface: requests become calls of the store, outcomes become answers, and every refusal is a problem (RFC
//! 9457).

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
use tokio_util::sync::CancellationToken;

pub use self::middleware::{
    client_ip::Clients,
    policy::{DeskSources, Origins, Policy},
};
use self::{
    handlers::{
        actions, batches, bulk, events, history, job_lists, jobs, me, memory, queue_actions, queues, recent_events,
        reserve, settle::settle, sheets, tokens, webhooks, worker_summary, workers as people,
    },
    middleware::{
        auth::AuthContext,
        body_budget::MemoryPool,
        stack::{
            AppStack, authenticated, holdings, operators, producers, public, readers, token_makers, viewers, workers,
        },
    },
    request::rules::PayloadLimit,
    response::problem::{Problem, ProblemType},
    site::{
        assets::{self, Demo},
        desk::DeskPage,
        health::{self, Readiness},
        metrics::{self, MetricsPage},
        packages,
    },
    state::{App, Parts},
};
use crate::{
    access::{Access, StoreRate},
    sheets::Sheets,
    store::{Abandon, Complete, Extend, Fail, HandOver, Queues, Reopen},
    waiting::Waiting,
    webhooks::Dispatcher,
};

/// The routes, each with the role that it is for.
type Routes = Router<AppStack<App>>;

/// All routes of the service. Cancelling `leaving` makes `/readyz` fail.
pub fn router(
    queues: Queues,
    (waiting, dispatcher): (Waiting, Dispatcher),
    access: Access,
    policy: Policy,
    clients: Clients,
    leaving: CancellationToken,
) -> Router {
    let app = Parts {
        readiness: Readiness::new(queues.clone(), leaving.clone()),
        figures: MetricsPage::new(queues.clone(), waiting.clone(), dispatcher.clone()),
        stored: StoreRate::default(),
        max_payload: PayloadLimit(policy.max_payload),
        demo: Demo(policy.demo),
        desk: DeskPage::new(&policy.desk),
        access: access.clone(),
        sheets: Sheets::new(queues.clone()),
        queues,
        waiting,
        dispatcher,
        leaving,
    };
    let app = App(app.into());
    let pages = if policy.demo { pages().merge(demo()) } else { pages() };
    let routes = for_producers()
        .merge(for_workers())
        .merge(for_operators())
        .merge(pages)
        .route("/me", get(authenticated(me::me)));
    let memory = MemoryPool::new(access.clone());
    whole(routes).with_state(AppStack::new(app, AuthContext { access, clients, memory }, policy))
}

/// Fallbacks: unknown paths are public, and the methods of a route are for operators to learn.
fn whole(routes: Routes) -> Routes {
    routes.fallback(public(no_such_route)).method_not_allowed_fallback(operators(no_such_method))
}

fn for_producers() -> Routes {
    let job = get(readers(jobs::inspect)).delete(producers(jobs::cancel));
    let batch = get(readers(batches::inspect)).delete(producers(batches::cancel));
    Router::new()
        .route("/jobs", post(producers(jobs::enqueue)))
        .route("/jobs/{id}", job.patch(operators(jobs::patch)))
        .route("/batches", post(producers(batches::create)).get(readers(batches::list)))
        .route("/batches/{id}", batch)
        .route("/batches/{id}/jobs", post(producers(batches::append)))
        .route("/batches/{id}/seal", post(producers(batches::seal)))
        .route("/batches/{id}/results", get(readers(batches::results)))
        // Producers and askers may read the feed of results only, and workers the jobs that are for them; the handler checks that.
        .route("/queues/{queue}/jobs", get(authenticated(job_lists::jobs)))
        .route("/queues/{queue}/form", get(authenticated(queues::form)))
        .route("/tokens", post(token_makers(tokens::mint)))
}

fn for_workers() -> Routes {
    Router::new()
        .route("/me/queues", get(workers(me::queues)))
        .route("/jobs/reserve", post(workers(reserve::reserve)))
        .route("/workers/{worker}/reservations", get(holdings(reserve::reservations)))
        // The reservation is the credential, because a beacon cannot send another.
        .route("/jobs/extend", post(public(settle::<Extend>)))
        .route("/jobs/complete", post(public(settle::<Complete>)))
        .route("/jobs/abandon", post(public(settle::<Abandon>)))
        .route("/jobs/fail", post(public(settle::<Fail>)))
        .route("/jobs/hand-over", post(public(settle::<HandOver>)))
        .route("/jobs/undo", post(public(settle::<Reopen>)))
}

fn for_operators() -> Routes {
    let queue = get(viewers(queues::queue)).patch(operators(queue_actions::configure));
    Router::new()
        .route("/jobs/{id}/events", get(viewers(events::of_job)))
        .route("/jobs/release", post(operators(queue_actions::release)))
        .route("/jobs/requeue", post(operators(bulk::requeue)))
        .route("/jobs/reprioritize", post(operators(bulk::reprioritize)))
        .route("/jobs/reassign", post(operators(bulk::reassign)))
        .route("/queues", get(viewers(queues::queues)))
        .route("/queues/{queue}", queue.delete(operators(bulk::remove)))
        .route("/queues/{queue}/sweep", post(operators(queue_actions::sweep)))
        .route("/queues/{queue}/workers", get(viewers(queues::workers)))
        .route("/queues/{queue}/events", get(viewers(recent_events::recent)))
        .route("/queues/{queue}/actions", get(viewers(actions::actions)))
        .route("/queues/{queue}/history", get(viewers(history::history)))
        .route("/queues/{queue}/sheets", get(holdings(sheets::sheets)))
        .route("/queues/{queue}/locks", get(viewers(queues::locks)))
        .route("/workers", get(viewers(people::workers)))
        .route("/workers/{worker}", get(holdings(worker_summary::summary)).delete(operators(sheets::forget)))
        .route("/events", get(viewers(events::events)))
        .route("/webhooks", get(viewers(webhooks::webhooks)))
        .route("/webhooks/{name}/deliveries", get(viewers(webhooks::deliveries)))
        .route("/webhooks/{name}/redeliver", post(operators(webhooks::redeliver)))
        .route("/webhooks/{name}/test", post(operators(webhooks::test)))
        .route("/redis", get(viewers(memory::redis)))
        .route("/metrics", get(viewers(metrics::metrics)))
}

/// Pages are public; their data needs a key.
fn pages() -> Routes {
    Router::new()
        .route("/livez", get(public(health::livez)))
        .route("/readyz", get(public(health::readyz)))
        .route("/openapi.yaml", get(public(health::openapi)))
        .route("/client.js", get(public(assets::module)))
        .route("/client.d.ts", get(public(assets::module)))
        .route("/form.js", get(public(assets::module)))
        .route("/form.d.ts", get(public(assets::module)))
        .route("/form.css", get(public(assets::module)))
        .route("/client.tgz", get(public(packages::npm)))
        .route("/python/", get(public(packages::python)))
        .route("/python/{wheel}", get(public(packages::wheel)))
        .route("/", get(public(assets::home)))
        .merge(without_slash("/python"))
        .merge(folder("/docs"))
        .merge(folder("/console"))
        .merge(folder("/desk"))
}

fn demo() -> Routes {
    let moved = |path: &str| Router::new().route(path, get(public(assets::approvals)));
    folder("/demo").merge(moved("/demo/approvals")).merge(moved("/demo/approvals/"))
}

/// The pages in a folder of `web/`.
fn folder(path: &str) -> Routes {
    let page = || get(public(assets::page));
    without_slash(path).route(&format!("{path}/"), page()).route(&format!("{path}/{{*file}}"), page())
}

fn without_slash(path: &str) -> Routes {
    Router::new().route(path, get(public(assets::into_folder)))
}

async fn no_such_route(uri: Uri) -> Problem {
    Problem::no_such_route(&uri)
}

async fn no_such_method(method: Method) -> Problem {
    Problem::new(ProblemType::MethodNotAllowed, format!("{method} is not a method of this route"))
}
