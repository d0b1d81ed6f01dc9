//! The table of all metrics at `/metrics`: name, type, labels and help. `docs/metrics.md` has the same table. Labels are queues,
//! routes and scripts, and never jobs, workers or addresses.

mod process;

use std::{collections::HashMap, sync::OnceLock};

pub use prometheus::proto::MetricFamily;
use prometheus::{
    GaugeVec as Gauge, HistogramOpts, HistogramVec as Histogram, IntCounterVec as Counter, Opts, TextEncoder,
    core::{Collector, MetricVec, MetricVecBuilder},
};

pub use self::process::process;

/// From a pipelined script to the longest wait.
const DURATION_BUCKETS_SECONDS: [f64; 14] =
    [0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 30.0];
/// From 0.1 seconds to a week, for the time that people take.
const WAIT_BUCKETS_SECONDS: [f64; 12] =
    [0.1, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3_600.0, 14_400.0, 86_400.0, 259_200.0, 604_800.0];
const GROUP_BUCKETS: [f64; 9] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];

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

/// What the table says of a metric; its name ends with its unit.
#[derive(Debug)]
pub struct MetricDescription {
    pub name: &'static str,
    pub kind: MetricKind,
    pub labels: &'static [&'static str],
    pub help: &'static str,
}

impl From<&MetricDescription> for Opts {
    fn from(metric: &MetricDescription) -> Self {
        Self::new(metric.name, metric.help)
    }
}

impl From<&MetricDescription> for HistogramOpts {
    fn from(metric: &MetricDescription) -> Self {
        let buckets = match metric.name {
            "intray_script_group_jobs" => &GROUP_BUCKETS[..],
            "intray_wait_seconds" | "intray_held_seconds" => &WAIT_BUCKETS_SECONDS,
            _ => &DURATION_BUCKETS_SECONDS,
        };
        Self::new(metric.name, metric.help).buckets(buckets.to_vec())
    }
}

/// A metric of the table.
pub struct Metric<F> {
    description: MetricDescription,
    create: fn(&MetricDescription) -> prometheus::Result<F>,
    shared: OnceLock<F>,
}

impl<B: MetricVecBuilder + 'static> Metric<MetricVec<B>> {
    /// The series of this process with these label values. [`gather`] shows it from now on.
    ///
    /// # Panics
    /// When the number of values is not that of the labels.
    pub fn of(&self, values: &[&str]) -> B::M {
        let create = || {
            let family = self.create();
            prometheus::register(Box::new(family.clone())).expect("names of metrics are unique");
            family
        };
        self.shared.get_or_init(create).with_label_values(values)
    }

    /// Removes the series whose label has a value that is not kept: names from a file that is read again come and go.
    pub fn retain(&self, label: &str, keeps: impl Fn(&str) -> bool) {
        let Some(family) = self.shared.get() else { return };
        for series in family.collect().iter().flat_map(|family| family.get_metric()) {
            let labels: HashMap<_, _> = series.get_label().iter().map(|pair| (pair.name(), pair.value())).collect();
            if labels.get(label).is_some_and(|value| !keeps(value)) {
                // Another call may have removed it.
                let _ = family.remove(&labels);
            }
        }
    }

    /// The metric without any series, apart from those of [`of`](Self::of) and not shown by [`gather`].
    ///
    /// # Panics
    /// When the table is wrong; a test creates all metrics.
    pub fn create(&self) -> MetricVec<B> {
        (self.create)(&self.description).expect("names of metrics and labels are valid")
    }
}

macro_rules! metrics {
    ($($id:ident: $kind:ident = $name:literal, $labels:expr, $help:literal;)*) => {
        $(#[doc = $help] pub static $id: Metric<$kind> = Metric {
            description: MetricDescription { name: $name, kind: MetricKind::$kind, labels: &$labels, help: $help },
            create: |metric| $kind::new(metric.into(), metric.labels),
            shared: OnceLock::new(),
        };)*

        /// All metrics, in the order of the page.
        pub static ALL: &[&MetricDescription] = &[$(&$id.description),*];

        #[test]
        fn every_metric_can_be_created() {
            $(drop($id.create());)*
        }
    };
}

metrics! {
    HTTP_REQUEST_DURATION_SECONDS: Histogram = "http_request_duration_seconds", ["method", "route", "status"],
        "from the head of a request to the head of its answer, including waits";
    JOBS: Gauge = "intray_jobs", ["queue", "state"],
        "jobs now; every instance shows the same, so take the max";
    OLDEST_WAITING_SECONDS: Gauge = "intray_oldest_waiting_seconds", ["queue"],
        "age of the oldest job at the front, looking at one job per priority, or 0; every instance shows the same, so take the max";
    TRANSITIONS_TOTAL: Counter = "intray_transitions_total", ["queue", "transition"],
        "transitions that this instance made; sum over the instances; `lost` has no queue";
    WAIT_SECONDS: Histogram = "intray_wait_seconds", ["queue"],
        "from the time a job began to wait until its first reservation";
    HELD_SECONDS: Histogram = "intray_held_seconds", ["queue"],
        "from the reservation of a job to its completion";
    WAITERS: Gauge = "intray_waiters", [],
        "calls that wait for a job at this instance; sum over the instances";
    SCRIPT_DURATION_SECONDS: Histogram = "intray_script_duration_seconds", ["script"],
        "duration of a script's call, seen from the instance";
    SCRIPT_FAULTS_TOTAL: Counter = "intray_script_faults_total", ["script"],
        "script calls that failed or had no answer in time";
    SCRIPT_GROUP_JOBS: Histogram = "intray_script_group_jobs", ["script"],
        "items that went to Redis in one call";
    DURABILITY_WAIT_SECONDS: Histogram = "intray_durability_wait_seconds", [],
        "how long changes waited for replicas or the disk, with `--durability`";
    SWEEP_DURATION_SECONDS: Histogram = "intray_sweep_duration_seconds", [],
        "duration of one round of the background task";
    SWEEP_LAG_SECONDS: Histogram = "intray_sweep_lag_seconds", [],
        "how late overdue and due jobs were found";
    REDIS_EMPTIED_TOTAL: Counter = "intray_redis_emptied_total", [],
        "how often Redis came back without its data";
    REDIS_UNFIT: Gauge = "intray_redis_unfit", ["check"],
        "1 while Redis fails a check that it passed before, such as `eviction` or `append-only`";
    CLOCK_OFFSET_SECONDS: Gauge = "intray_clock_offset_seconds", [],
        "by how much this machine's clock is ahead of Redis's";
    REDIS_FAILOVERS_TOTAL: Counter = "intray_redis_failovers_total", [],
        "how often sentinels have named another primary";
    REDIS_MISSING_BYTES: Gauge = "intray_redis_missing_bytes", [],
        "at least this much of the previous primary's data is missing from the primary; NaN: unknown";
    REDIS_MEMORY_RATIO: Gauge = "intray_redis_memory_ratio", [],
        "memory in use as a fraction of Redis's `maxmemory`, of the fullest server; NaN: no limit, or unknown";
    DEFAULT_RETENTION_SECONDS: Gauge = "intray_default_retention_seconds", [],
        "how long queues without their own `retention_ms` keep ended jobs: 604800, less while memory is short";
    DATA_ROOM_BYTES: Gauge = "intray_data_room_bytes", [],
        "how much more the disk of a private server can take before growth is refused; negative: it is refused";
    REDIS_CONNECTIONS: Gauge = "intray_redis_connections", [],
        "connections to Redis that are open";
    REDIS_CONNECTIONS_MAX: Gauge = "intray_redis_connections_max", [],
        "the maximum number of connections to Redis";
    CONNECTIONS_CUT_TOTAL: Counter = "intray_connections_cut_total", [],
        "callers' connections closed to make room for others";
    WEBHOOK_DELIVERIES_TOTAL: Counter = "intray_webhook_deliveries_total", ["webhook", "outcome"],
        "attempts of this instance to deliver an event; `taken`, `retried` (it is tried again) or `failed` (it is not)";
    WEBHOOK_WAITING: Gauge = "intray_webhook_waiting", ["webhook"],
        "deliveries that will be tried; every instance shows the same, so take the max";
    WEBHOOK_OLDEST_SECONDS: Gauge = "intray_webhook_oldest_seconds", ["webhook"],
        "age of the oldest delivery that waits, or 0; every instance shows the same, so take the max";
    WEBHOOK_LOST_TOTAL: Counter = "intray_webhook_lost_total", ["webhook"],
        "transitions that were deleted before a webhook could read them; every instance shows the same, so take the max";
    AUTH_FAILURES_TOTAL: Counter = "intray_auth_failures_total", ["reason"],
        "calls refused for their key or token";
    BUILD_INFO: Gauge = "intray_build_info", ["version", "commit"],
        "always 1; the labels name the version, and the commit of a release";
    ALLOCATED_BYTES: Gauge = "intray_allocated_bytes", [],
        "memory in use as counted by the allocator";
}

/// The Prometheus text of the metrics that this process has recorded.
pub fn gather() -> String {
    rendered(prometheus::gather())
}

/// The Prometheus text; families without a series are left out.
pub fn rendered(mut families: Vec<MetricFamily>) -> String {
    families.retain(|family| !family.get_metric().is_empty());
    TextEncoder.encode_to_string(&families).expect("families with series can be encoded")
}
