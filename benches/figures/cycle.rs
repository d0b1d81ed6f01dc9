//! Cycles a second over HTTP: enqueue, reserve, complete. A closed loop: each connection sends its next request when it has
//! its answer, so the figures say what the machine can do and not how long a queue of callers would wait.

use std::{
    cell::Cell,
    time::{Duration, Instant},
};

use futures_util::future::join_all;

use super::rig::Rig;

const WARM_UP: Duration = Duration::from_secs(2);
const MEASURED: Duration = Duration::from_secs(8);

pub async fn run() {
    let rig = Rig::start();
    println!(
        "connections  cycles/s  service µs/cycle  redis µs/cycle  jobs/script  p50 ms  p99 ms  (a cycle is three requests)"
    );
    for connections in [1, 16, 64, 256] {
        measure(&rig, connections, &Cell::new(u64::from(connections) << 40)).await;
    }
    println!("service resident {:.1} MB", rig.resident() as f64 / 1e6);
}

async fn measure(rig: &Rig, connections: u32, next: &Cell<u64>) {
    let start = Instant::now();
    let (measuring, end) = (start + WARM_UP, start + WARM_UP + MEASURED);
    let used = async {
        tokio::time::sleep_until(measuring.into()).await;
        let (before, groups) = (rig.cpu(), rig.groups());
        tokio::time::sleep_until(end.into()).await;
        let (after, groups_after) = (rig.cpu(), rig.groups());
        let jobs_per_script = (groups_after.0 - groups.0) / (groups_after.1 - groups.1);
        (after.0 - before.0, after.1 - before.1, jobs_per_script)
    };
    let clients = join_all((0..connections).map(|_| work(rig, next, measuring, end)));
    let (used, latencies) = tokio::join!(used, clients);
    let mut latencies: Vec<_> = latencies.into_iter().flatten().collect();
    latencies.sort_unstable();
    let n = latencies.len() as f64;
    let at = |share: f64| latencies[(n * share) as usize].as_secs_f64() * 1e3;
    println!(
        "{connections:>11}  {:>8.0}  {:>16.1}  {:>14.1}  {:>11.1}  {:>6.2}  {:>6.2}",
        n / MEASURED.as_secs_f64(),
        used.0 / n,
        used.1 / n,
        used.2,
        at(0.5),
        at(0.99)
    );
}

/// The times of one connection's cycles.
async fn work(rig: &Rig, next: &Cell<u64>, measuring: Instant, end: Instant) -> Vec<Duration> {
    let (mut client, mut latencies) = (rig.client().await, Vec::new());
    loop {
        let start = Instant::now();
        if start >= end {
            return latencies;
        }
        let n = next.replace(next.get() + 1);
        client.cycle(n).await;
        if start >= measuring {
            latencies.push(start.elapsed());
        }
    }
}
