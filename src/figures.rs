//! The table of all metrics at `/metrics`: name, type, labels and help. `docs/metrics.md` has the same table. Labels are queues,
//! routes and scripts, and never jobs, workers or addresses.

mod by_queue;
pub mod family;

pub use by_queue::{OTHER, QueueMetrics};

/// The type of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    Counter,
    Gauge,
    Histogram,
}

impl MetricKind {
    /// Prometheus's word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// A metric; its name ends with its unit.
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
        "from the head of a request to the head of its answer, including waits",
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
        "age of the oldest job at the front, looking at one job per priority, or 0; every instance shows the same, so take the max",
    ),
    figure(
        "intray_transitions_total",
        MetricKind::Counter,
        &["queue", "transition"],
        "transitions that this instance made; sum over the instances; `lost` has no queue",
    ),
    figure(
        "intray_wait_seconds",
        MetricKind::Histogram,
        &["queue"],
        "from the time a job began to wait until its first reservation",
    ),
    figure("intray_held_seconds", MetricKind::Histogram, &["queue"], "from the reservation of a job to its completion"),
    figure(
        "intray_waiters",
        MetricKind::Gauge,
        &[],
        "calls that wait for a job at this instance; sum over the instances",
    ),
    figure(
        "intray_script_duration_seconds",
        MetricKind::Histogram,
        &["script"],
        "duration of a script's call, seen from the instance",
    ),
    figure(
        "intray_script_faults_total",
        MetricKind::Counter,
        &["script"],
        "script calls that failed or had no answer in time",
    ),
    figure("intray_script_group_jobs", MetricKind::Histogram, &["script"], "items that went to Redis in one call"),
    figure(
        "intray_durability_wait_seconds",
        MetricKind::Histogram,
        &[],
        "how long changes waited for replicas or the disk, with `--durability`",
    ),
    figure("intray_sweep_duration_seconds", MetricKind::Histogram, &[], "duration of one round of the background task"),
    figure("intray_sweep_lag_seconds", MetricKind::Histogram, &[], "how late overdue and due jobs were found"),
    figure("intray_redis_emptied_total", MetricKind::Counter, &[], "how often Redis came back without its data"),
    figure("intray_redis_failovers_total", MetricKind::Counter, &[], "how often sentinels have named another primary"),
    figure(
        "intray_redis_missing_bytes",
        MetricKind::Gauge,
        &[],
        "at least this much of the previous primary's data is missing from the primary; NaN: unknown",
    ),
    figure(
        "intray_redis_memory_ratio",
        MetricKind::Gauge,
        &[],
        "memory in use as a fraction of Redis's `maxmemory`, of the fullest server; NaN: no limit, or unknown",
    ),
    figure(
        "intray_default_retention_seconds",
        MetricKind::Gauge,
        &[],
        "how long queues without their own `retention_ms` keep ended jobs: 604800, less while memory is short",
    ),
    figure("intray_redis_connections", MetricKind::Gauge, &[], "connections to Redis that are open"),
    figure("intray_redis_connections_max", MetricKind::Gauge, &[], "the most connections to Redis that may be open"),
    figure(
        "intray_connections_cut_total",
        MetricKind::Counter,
        &[],
        "callers' connections closed to make room for others",
    ),
    figure("intray_auth_failures_total", MetricKind::Counter, &["reason"], "calls refused for their key or token"),
    figure(
        "intray_build_info",
        MetricKind::Gauge,
        &["version", "commit"],
        "always 1; the labels name the version, and the commit of a release",
    ),
    figure("intray_allocated_bytes", MetricKind::Gauge, &[], "memory in use as counted by the allocator"),
];

/// Describes the metrics to the recorder.
pub fn describe() {
    // Metrics by queue have a registry of their own.
    for Metric { name, kind, help, .. } in ALL.iter().filter(|figure| !figure.labels.contains(&"queue")) {
        match kind {
            MetricKind::Counter => metrics::describe_counter!(*name, *help),
            MetricKind::Gauge => metrics::describe_gauge!(*name, *help),
            MetricKind::Histogram => metrics::describe_histogram!(*name, *help),
        }
    }
    metrics_process::Collector::default().describe();
}
