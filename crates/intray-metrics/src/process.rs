//! CPU, memory and files of this process, under the names that Prometheus recommends
//! (<https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics>).

use metrics_process::collector;
use prometheus::{Gauge, IntCounter, core::Collector};

use super::rendered;

/// The Prometheus text of these metrics, without those that the system does not say.
///
/// # Panics
/// Never: the names are valid.
pub fn process() -> String {
    let now = collector::collect();
    let gauges = [
        ("process_open_fds", "Number of open file descriptors.", now.open_fds),
        ("process_max_fds", "Maximum number of open file descriptors.", now.max_fds),
        ("process_virtual_memory_bytes", "Virtual memory size in bytes.", now.virtual_memory_bytes),
        (
            "process_virtual_memory_max_bytes",
            "Maximum amount of virtual memory available in bytes.",
            now.virtual_memory_max_bytes,
        ),
        ("process_resident_memory_bytes", "Resident memory size in bytes.", now.resident_memory_bytes),
        (
            "process_start_time_seconds",
            "Start time of the process since unix epoch in seconds.",
            now.start_time_seconds,
        ),
        ("process_threads", "Number of OS threads in the process.", now.threads),
    ];
    let gauges = gauges.into_iter().filter_map(|(name, help, value)| {
        let gauge = Gauge::new(name, help).expect("a valid name");
        value.map(|value| gauge.set(value as f64)).map(|()| gauge.collect())
    });
    let help = "Total user and system CPU time spent in seconds.";
    let cpu = IntCounter::new("process_cpu_seconds_total", help).expect("a valid name");
    cpu.inc_by(now.cpu_seconds_total.unwrap_or_default() as u64);
    rendered(gauges.flatten().chain(cpu.collect()).collect())
}
