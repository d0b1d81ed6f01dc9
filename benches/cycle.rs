//! Cycles a second over HTTP: enqueue, reserve, complete. A closed loop: each connection sends its next request when it has
//! its answer, so the figures say what the machine can do and not how long a queue of callers would wait.

mod rig;

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use rig::{Rig, field, payload};

const WARM_UP: Duration = Duration::from_secs(2);
const MEASURED: Duration = Duration::from_secs(8);

fn main() {
    let rig = Rig::start();
    println!("connections  cycles/s  service µs/cycle  redis µs/cycle  p50 ms  p99 ms  (a cycle is three requests)");
    for connections in [1, 16, 64, 256] {
        run(&rig, connections, &AtomicU64::new(u64::from(connections) << 40));
    }
    println!("service resident {:.1} MB", rig.resident() as f64 / 1e6);
}

fn run(rig: &Rig, connections: u32, next: &AtomicU64) {
    let (start, cycles) = (Instant::now(), AtomicU64::new(0));
    let measuring = start + WARM_UP;
    let end = measuring + MEASURED;
    let (mut latencies, mut used) = (Vec::new(), (0.0, 0.0));
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..connections).map(|_| scope.spawn(|| work(rig, next, &cycles, measuring, end))).collect();
        std::thread::sleep(measuring - Instant::now());
        let before = rig.cpu();
        std::thread::sleep(end - Instant::now());
        let after = rig.cpu();
        used = (after.0 - before.0, after.1 - before.1);
        for thread in threads {
            latencies.extend(thread.join().expect("a client"));
        }
    });
    latencies.sort_unstable();
    let n = cycles.load(Ordering::Relaxed) as f64;
    let at = |share: f64| latencies[(latencies.len() as f64 * share) as usize].as_secs_f64() * 1e3;
    println!(
        "{connections:>11}  {:>8.0}  {:>16.1}  {:>14.1}  {:>6.2}  {:>6.2}",
        n / MEASURED.as_secs_f64(),
        used.0 / n,
        used.1 / n,
        at(0.5),
        at(0.99)
    );
}

fn work(rig: &Rig, next: &AtomicU64, cycles: &AtomicU64, measuring: Instant, end: Instant) -> Vec<Duration> {
    let (mut client, mut latencies) = (rig.client(), Vec::new());
    loop {
        let start = Instant::now();
        if start >= end {
            return latencies;
        }
        let n = next.fetch_add(1, Ordering::Relaxed);
        client.post("/jobs", &format!(r#"{{"queue":"bench","payload":{}}}"#, payload(n)));
        let job = client.post("/jobs/reserve", r#"{"queues":["bench"]}"#);
        let reservation = field(job, "reservation").to_owned();
        client.post("/jobs/complete", &format!(r#"{{"reservation":"{reservation}"}}"#));
        if start >= measuring {
            cycles.fetch_add(1, Ordering::Relaxed);
            latencies.push(start.elapsed());
        }
    }
}
