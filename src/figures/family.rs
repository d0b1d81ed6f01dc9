//! Metrics whose labels come and go, created by name from the table. The global recorder keeps every series for ever; these can
//! be removed.

use prometheus::{Encoder, GaugeVec, HistogramOpts, HistogramVec, IntCounterVec, Opts, TextEncoder, core::Collector};

use super::{ALL, Metric};

/// From 0.1 seconds to a week, for the time that people take.
const WAIT_BUCKETS_SECONDS: [f64; 12] =
    [0.1, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3_600.0, 14_400.0, 86_400.0, 259_200.0, 604_800.0];

fn figure(name: &str) -> &'static Metric {
    ALL.iter().find(|figure| figure.name == name).unwrap_or_else(|| panic!("{name} is not described"))
}

/// # Panics
/// When the table has no such metric; a test creates them all.
pub fn counter(name: &str) -> IntCounterVec {
    let Metric { name, help, labels, .. } = figure(name);
    IntCounterVec::new(Opts::new(*name, *help), labels).expect("names of metrics and labels are valid")
}

/// # Panics
/// When the table has no such metric; a test creates them all.
pub fn gauge(name: &str) -> GaugeVec {
    let Metric { name, help, labels, .. } = figure(name);
    GaugeVec::new(Opts::new(*name, *help), labels).expect("names of metrics and labels are valid")
}

/// # Panics
/// When the table has no such metric; a test creates them all.
pub fn histogram(name: &str) -> HistogramVec {
    let Metric { name, help, labels, .. } = figure(name);
    let options = HistogramOpts::new(*name, *help).buckets(WAIT_BUCKETS_SECONDS.to_vec());
    HistogramVec::new(options, labels).expect("names of metrics and labels are valid")
}

/// The Prometheus text; families without a series are left out.
pub fn rendered(families: &[&dyn Collector]) -> String {
    let mut all: Vec<_> = families.iter().flat_map(|family| family.collect()).collect();
    all.retain(|family| !family.get_metric().is_empty());
    let mut text = Vec::new();
    if let Err(error) = TextEncoder::new().encode(&all, &mut text) {
        tracing::error!(%error, "metrics of queues cannot be encoded");
    }
    String::from_utf8_lossy(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::MetricKind;

    #[test]
    fn every_metric_by_queue_can_be_created() {
        for figure in ALL.iter().filter(|figure| figure.labels.contains(&"queue")) {
            match figure.kind {
                MetricKind::Counter => _ = counter(figure.name),
                MetricKind::Gauge => _ = gauge(figure.name),
                MetricKind::Histogram => _ = histogram(figure.name),
            }
        }
    }
}
