//! Every figure that this service shows at `/metrics`: what it is called and what it says, once. `docs/metrics.md` has the same
//! table.
//! Queues are labels, routes and scripts too; jobs, workers and addresses never are.

mod by_queue;
pub mod family;

pub use by_queue::{OTHER, QueueMetrics};

/// What may be done with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    Counter,
    Gauge,
    Histogram,
}

impl MetricKind {
    /// As Prometheus says it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// A figure; its unit is in its name.
#[derive(Debug)]
pub struct Metric {
    pub name: &'static str,
    pub kind: MetricKind,
    pub labels: &'static [&'static str],
    pub help: &'static str,
}

const fn figure(name: &'static str, kind: MetricKind, labels: &'static [&'static str], help: &'static str) -> Metric {
    Metric { name, kind, labels, help }
}

pub const ALL: &[Metric] = &[
    figure(
        "http_request_duration_seconds",
        MetricKind::Histogram,
        &["method", "route", "status"],
        "from the head of a request to that of its answer, waits included",
    ),
    figure(
        "intray_jobs",
        MetricKind::Gauge,
        &["queue", "state"],
        "jobs now; every instance shows the same, so take the max",
    ),
    figure(
        "intray_oldest_waiting_seconds",
        MetricKind::Gauge,
        &["queue"],
        "age of the oldest of those first in line, one a priority, or 0; every instance shows the same, so take the max",
    ),
    figure(
        "intray_transitions_total",
        MetricKind::Counter,
        &["queue", "transition"],
        "what this instance brought about; sum over the instances; `lost` has no queue",
    ),
    figure(
        "intray_wait_seconds",
        MetricKind::Histogram,
        &["queue"],
        "from when a job came into line until somebody had it for the first time",
    ),
    figure("intray_held_seconds", MetricKind::Histogram, &["queue"], "from the hand-out of a job to its completion"),
    figure(
        "intray_waiters",
        MetricKind::Gauge,
        &[],
        "calls that wait for a job here, each once; sum over the instances",
    ),
    figure(
        "intray_script_duration_seconds",
        MetricKind::Histogram,
        &["script"],
        "a script's call, as the instance saw it",
    ),
    figure(
        "intray_script_faults_total",
        MetricKind::Counter,
        &["script"],
        "scripts that failed or had no answer in time",
    ),
    figure(
        "intray_script_group_jobs",
        MetricKind::Histogram,
        &["script"],
        "items that went to Redis in one call together",
    ),
    figure(
        "intray_durability_wait_seconds",
        MetricKind::Histogram,
        &[],
        "how long changes waited for replicas or the disk, where `--durability` says so",
    ),
    figure("intray_sweep_duration_seconds", MetricKind::Histogram, &[], "a round of the background task"),
    figure("intray_sweep_lag_seconds", MetricKind::Histogram, &[], "how late what was overdue or due was found"),
    figure("intray_redis_emptied_total", MetricKind::Counter, &[], "how often Redis came back without what was in it"),
    figure("intray_redis_failovers_total", MetricKind::Counter, &[], "how often sentinels have named another primary"),
    figure(
        "intray_redis_missing_bytes",
        MetricKind::Gauge,
        &[],
        "what the primary lacks of what the one before it had taken, at least; NaN: nobody knows",
    ),
    figure(
        "intray_redis_memory_ratio",
        MetricKind::Gauge,
        &[],
        "memory in use, of Redis's `maxmemory`; of several servers the fullest; NaN: there is no limit, or it is not known",
    ),
    figure(
        "intray_default_retention_seconds",
        MetricKind::Gauge,
        &[],
        "how long queues without a `retention_ms` of their own keep ended jobs: 604800, and less while memory is short",
    ),
    figure("intray_redis_connections", MetricKind::Gauge, &[], "connections to Redis that are open"),
    figure("intray_redis_connections_max", MetricKind::Gauge, &[], "as many may be open"),
    figure("intray_connections_cut_total", MetricKind::Counter, &[], "callers' connections cut to let others in"),
    figure("intray_auth_failures_total", MetricKind::Counter, &["reason"], "calls refused for their key or token"),
    figure(
        "intray_build_info",
        MetricKind::Gauge,
        &["version", "commit"],
        "1; which version this is, and of which commit a release",
    ),
    figure(
        "intray_allocated_bytes",
        MetricKind::Gauge,
        &[],
        "memory in use by the allocator's own count, where it tells",
    ),
];

/// Says them to the recorder, which tells whoever asks.
pub fn describe() {
    // Those of queues come by themselves.
    for Metric { name, kind, help, .. } in ALL.iter().filter(|figure| !figure.labels.contains(&"queue")) {
        match kind {
            MetricKind::Counter => metrics::describe_counter!(*name, *help),
            MetricKind::Gauge => metrics::describe_gauge!(*name, *help),
            MetricKind::Histogram => metrics::describe_histogram!(*name, *help),
        }
    }
    metrics_process::Collector::default().describe();
}
