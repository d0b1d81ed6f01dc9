//! For probes, monitoring and tools.

use std::{
    collections::BTreeSet,
    sync::{Arc, PoisonError},
    time::{Duration, Instant},
};

use axum::{
    Extension,
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use metrics_exporter_prometheus::PrometheusHandle;
use metrics_process::Collector;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::{host::Stranger, query::Query};
use crate::{
    access::{Caller, Pattern},
    job::{QueueName, State as JobState},
    queue::{Check, QueuePage, Queues, StateCounts},
};

/// However many probes ask, Redis is asked once in this time.
const FRESH: Duration = Duration::from_secs(1);
/// How the label of a queue begins.
const QUEUE: &str = "queue=\"";

/// `GET /livez`
pub async fn livez() -> &'static str {
    "ok"
}

/// `GET /openapi.yaml`
pub async fn openapi() -> Response {
    let yaml = HeaderValue::from_static("application/yaml");
    ([(header::CONTENT_TYPE, yaml)], include_str!("../../openapi.yaml")).into_response()
}

/// `GET /readyz`
pub async fn readyz(
    State(readiness): State<Readiness>,
    stranger: Option<Extension<Stranger>>,
    mut query: Query,
) -> (StatusCode, String) {
    let verbose = !query.all("verbose").is_empty();
    let checks = readiness.checks().await;
    let fails = |check: &Check| check.problem.is_some() && !check.is_warning;
    let line = |check: &Check| format!("{}: {}", check.name, check.problem.as_deref().unwrap_or("ok"));
    let lines: Vec<_> = checks.iter().filter(|check| verbose || fails(check)).map(line).collect();
    let ready = !checks.iter().any(fails);
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    if stranger.is_some() {
        return (status, if ready { "ok" } else { "not ready" }.to_owned());
    }
    (status, if lines.is_empty() { "ok".to_owned() } else { lines.join("\n") })
}

/// `GET /metrics`
pub async fn metrics(State(figures): State<Figures>, caller: Caller) -> Response {
    figures.look().await;
    let all = figures.metrics.render();
    let seen = if caller.covers(&Pattern::all()) { all } else { of_callers_queues(&all, &caller) };
    let text = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    ([(header::CONTENT_TYPE, text)], seen).into_response()
}

/// The figures without those of queues that are none of the caller's business.
fn of_callers_queues(all: &str, caller: &Caller) -> String {
    let queue = |line: &str| {
        let labels = line.split_once('{')?.1;
        let value = labels.strip_prefix(QUEUE).or_else(|| Some(labels.split_once(&format!(",{QUEUE}"))?.1))?;
        Some(value.split_once('"')?.0.to_owned())
    };
    let sees = |name: &str| QueueName::parse(name).is_ok_and(|queue| caller.sees(&queue));
    all.split_inclusive('\n').filter(|line| queue(line).is_none_or(|name| sees(&name))).collect()
}

/// Whether this instance should be given work.
#[derive(Clone)]
pub struct Readiness {
    queues: Queues,
    leaving: CancellationToken,
    last: Arc<Mutex<Option<Looked>>>,
}

struct Looked {
    at: Instant,
    checks: Vec<Check>,
}

impl Readiness {
    pub fn new(queues: Queues, leaving: CancellationToken) -> Self {
        Self { queues, leaving, last: Arc::default() }
    }

    async fn checks(&self) -> Vec<Check> {
        // Held while Redis is asked: a crowd of probes waits for one answer.
        let mut last = self.last.lock().await;
        let mut checks = match &*last {
            Some(looked) if looked.at.elapsed() < FRESH => looked.checks.clone(),
            _ => {
                let mut checks = self.queues.ready().await;
                checks.iter_mut().for_each(hide_place);
                *last = Some(Looked { at: Instant::now(), checks: checks.clone() });
                checks
            }
        };
        let problem = self.leaving.is_cancelled().then(|| "this instance is shutting down".to_owned());
        checks.push(Check { name: "serving", problem, is_warning: false });
        checks
    }
}

/// Anybody may probe, and learns that Redis is away; where it should be stands in the log.
fn hide_place(check: &mut Check) {
    if check.name == "redis" && check.problem.is_some() {
        check.problem = Some("Redis does not answer".to_owned());
    }
}

/// All figures; those that are not counted as things happen are looked up when somebody asks.
#[derive(Clone)]
pub struct Figures {
    queues: Queues,
    metrics: PrometheusHandle,
    process: Collector,
    /// Queues that have figures: one that goes must not keep its last ones for ever.
    shown: Arc<std::sync::Mutex<BTreeSet<QueueName>>>,
}

impl Figures {
    pub fn new(queues: Queues, metrics: PrometheusHandle) -> Self {
        Self { queues, metrics, process: Collector::default(), shown: Arc::default() }
    }

    async fn look(&self) {
        self.process.collect();
        let (open, most) = self.queues.connections();
        metrics::gauge!("intray_redis_connections").set(open as f64);
        metrics::gauge!("intray_redis_connections_max").set(most as f64);
        if let Some(bytes) = crate::memory::allocated() {
            metrics::gauge!("intray_allocated_bytes").set(bytes as f64);
        }
        let page = self.queues.queues().await;
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        // Of what is away nobody knows now, and old figures would look like new ones.
        match page {
            Ok(QueuePage { queues, unavailable, .. }) => {
                let there = queues.iter().map(|queue| queue.name.clone());
                let now: BTreeSet<_> = there.chain(unavailable.iter().cloned()).collect();
                shown.difference(&now).for_each(|gone| show(gone, |_| 0.0));
                queues.iter().for_each(|queue| show(&queue.name, |state| count(&queue.counts, state) as f64));
                unavailable.iter().for_each(|queue| show(queue, |_| f64::NAN));
                *shown = now;
            }
            Err(_) => shown.iter().for_each(|queue| show(queue, |_| f64::NAN)),
        }
    }
}

fn show(queue: &QueueName, jobs: impl Fn(JobState) -> f64) {
    for state in JobState::ALL {
        metrics::gauge!("intray_jobs", "queue" => queue.to_string(), "state" => state.word()).set(jobs(state));
    }
}

fn count(counts: &StateCounts, state: JobState) -> u64 {
    match state {
        JobState::Waiting => counts.waiting,
        JobState::Blocked => counts.blocked,
        JobState::Delayed => counts.delayed,
        JobState::Reserved => counts.reserved,
        JobState::Completed => counts.completed,
        JobState::Dead => counts.dead,
        JobState::Cancelled => counts.cancelled,
    }
}
