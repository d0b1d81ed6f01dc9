//! Bytes of Redis per waiting job with a 200-byte payload, deduplicated; what is left of jobs after their retention; and
//! how reserve fares with a million waiting against a thousand.

use std::time::{Duration, Instant};

use super::{
    client::{field, payload},
    rig::Rig,
};

const JOBS: u64 = 100_000;
const MANY: u64 = 1_000_000;
const CHUNK: u64 = 1_000;

pub async fn run() {
    let rig = Rig::start();
    rig.redis("CONFIG SET slowlog-log-slower-than 5000");
    fill(&rig, "warm", 0, CHUNK).await;
    let before = rig.used_memory();
    fill(&rig, "measured", 0, JOBS).await;
    let per_job = (rig.used_memory() - before) as f64 / JOBS as f64;
    println!("{per_job:.0} bytes per waiting job (200-byte payload, {JOBS} jobs, events included)");

    fill(&rig, "few", 0, 1_000).await;
    fill(&rig, "many", 0, MANY).await;
    let (few, many) = (cost(&rig, "few").await, cost(&rig, "many").await);
    println!(
        "reserve and abandon: {few:.1} µs of Redis with 1,000 waiting, {many:.1} µs with {MANY}: {:.2} x",
        many / few
    );
    let slow = rig.redis("SLOWLOG LEN");
    println!(
        "scripts over 5 ms, of all the above: {}",
        slow.lines().next().unwrap_or_default().trim_start_matches(':')
    );
}

async fn fill(rig: &Rig, queue: &str, from: u64, count: u64) {
    let mut client = rig.client().await;
    for start in (from..from + count).step_by(CHUNK as usize) {
        let jobs: Vec<_> = (start..start + CHUNK.min(count))
            .map(|n| format!(r#"{{"queue":"{queue}","payload":{}}}"#, payload(n)))
            .collect();
        client.post("/jobs", &format!("[{}]", jobs.join(","))).await;
    }
}

/// Redis's time for a pair of calls, alone on its connection.
async fn cost(rig: &Rig, queue: &str) -> f64 {
    const PAIRS: u32 = 5_000;
    let mut client = rig.client().await;
    let mut before = rig.cpu().1;
    let start = Instant::now();
    for i in 0..PAIRS + 500 {
        if i == 500 {
            before = rig.cpu().1;
        }
        let job = client.post("/jobs/reserve", &format!(r#"{{"queues":["{queue}"]}}"#)).await;
        let reservation = field(job, "reservation").to_owned();
        client.post("/jobs/abandon", &format!(r#"{{"reservation":"{reservation}"}}"#)).await;
    }
    assert!(start.elapsed() < Duration::from_secs(120));
    (rig.cpu().1 - before) / f64::from(PAIRS)
}
