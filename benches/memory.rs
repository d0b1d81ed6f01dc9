//! Bytes of Redis per waiting job with a 200-byte payload, deduplicated; what is left of jobs after their retention; and
//! how reserve fares with a million waiting against a thousand.

mod rig;

use std::time::{Duration, Instant};

use rig::{Rig, field, payload};

const JOBS: u64 = 100_000;
const MANY: u64 = 1_000_000;
const CHUNK: u64 = 1_000;

fn main() {
    let rig = Rig::start();
    fill(&rig, "warm", 0, CHUNK);
    let before = rig.used_memory();
    fill(&rig, "measured", 0, JOBS);
    let per_job = (rig.used_memory() - before) as f64 / JOBS as f64;
    println!("{per_job:.0} bytes per waiting job (200-byte payload, {JOBS} jobs, events included)");

    fill(&rig, "few", 0, 1_000);
    fill(&rig, "many", 0, MANY);
    let (few, many) = (cost(&rig, "few"), cost(&rig, "many"));
    println!(
        "reserve and abandon: {few:.1} µs of Redis with 1,000 waiting, {many:.1} µs with {MANY}: {:.2} x",
        many / few
    );
    println!("longest scripts so far:\n{}", longest(&rig));
}

fn fill(rig: &Rig, queue: &str, from: u64, count: u64) {
    let mut client = rig.client();
    for start in (from..from + count).step_by(CHUNK as usize) {
        let jobs: Vec<_> = (start..start + CHUNK.min(count))
            .map(|n| format!(r#"{{"queue":"{queue}","payload":{}}}"#, payload(n)))
            .collect();
        client.post("/jobs", &format!("[{}]", jobs.join(",")));
    }
}

/// Redis's time for a pair of calls, alone on its connection.
fn cost(rig: &Rig, queue: &str) -> f64 {
    const PAIRS: u32 = 5_000;
    let mut client = rig.client();
    let mut before = rig.cpu().1;
    let start = Instant::now();
    for i in 0..PAIRS + 500 {
        if i == 500 {
            before = rig.cpu().1;
        }
        let job = client.post("/jobs/reserve", &format!(r#"{{"queues":["{queue}"]}}"#));
        let reservation = field(job, "reservation").to_owned();
        client.post("/jobs/abandon", &format!(r#"{{"reservation":"{reservation}"}}"#));
    }
    assert!(start.elapsed() < Duration::from_secs(120));
    (rig.cpu().1 - before) / f64::from(PAIRS)
}

fn longest(rig: &Rig) -> String {
    let latency = rig.redis("INFO commandstats");
    latency.lines().filter(|line| line.contains("eval")).collect::<Vec<_>>().join("\n")
}
