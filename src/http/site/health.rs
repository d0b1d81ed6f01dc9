//! Probes and the contract.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    Extension,
    extract::{RawQuery, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::{
    http::middleware::origin::UnknownHost,
    store::{Check, OF_QUEUES, Queues, reason_without_place},
};

/// Redis is asked at most once in this time, however many probes call.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// `GET /livez`
pub async fn livez() -> &'static str {
    "ok"
}

/// `GET /openapi.yaml`
pub async fn openapi() -> Response {
    let head = [(header::CONTENT_TYPE, "application/yaml"), (header::CACHE_CONTROL, "no-cache")];
    (head, include_str!("../../../openapi.yaml")).into_response()
}

/// `GET /readyz`
pub async fn readyz(
    State(readiness): State<Readiness>,
    stranger: Option<Extension<UnknownHost>>,
    RawQuery(query): RawQuery,
) -> (StatusCode, String) {
    // Unknown parameters and any value are accepted, because a probe must not fail for them.
    let verbose = query.is_some_and(|query| query.split('&').any(|pair| pair.split('=').next() == Some("verbose")));
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

/// Whether this instance accepts work.
#[derive(Clone)]
pub struct Readiness {
    queues: Queues,
    leaving: CancellationToken,
    last: Arc<Mutex<Option<LastChecks>>>,
}

struct LastChecks {
    at: Instant,
    checks: Vec<Check>,
}

impl Readiness {
    pub fn new(queues: Queues, leaving: CancellationToken) -> Self {
        Self { queues, leaving, last: Arc::default() }
    }

    async fn checks(&self) -> Vec<Check> {
        // Locked while Redis is asked, so that concurrent probes share one check.
        let mut last = self.last.lock().await;
        let mut checks = match &*last {
            Some(looked) if looked.at.elapsed() < CHECK_INTERVAL => looked.checks.clone(),
            _ => {
                let mut checks = self.queues.ready().await;
                checks.iter_mut().for_each(hide_address);
                *last = Some(LastChecks { at: Instant::now(), checks: checks.clone() });
                checks
            }
        };
        let problem = self.leaving.is_cancelled().then(|| "this instance is shutting down".to_owned());
        checks.push(Check { name: "serving", problem, is_warning: false });
        checks
    }
}

/// Probes are public: they learn that Redis is down, that the queues have moved or that slots are missing, not its address or the names of queues, which
/// are in the log and in `intray check`.
fn hide_address(check: &mut Check) {
    let Some(problem) = &mut check.problem else { return };
    if let Some(reason) = reason_without_place(problem) {
        reason.clone_into(problem);
        return;
    }
    match check.name {
        "redis" => *problem = "Redis does not answer".to_owned(),
        "slots" => problem.truncate(problem.find(OF_QUEUES).unwrap_or(problem.len())),
        _ => {}
    }
}
