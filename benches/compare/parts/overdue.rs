//! Many leases that expire at once, as when an office goes home. The sweeper returns their jobs.

use std::time::{Duration, Instant};

use crate::{
    rig::{Rig, stock},
    size::Size,
    table::Table,
};

use super::Found;

const QUEUE: &str = "overdue";
const LATEST: Duration = Duration::from_secs(60);

pub async fn run(size: Size) -> Found {
    let mut table =
        Table::new(&["overdue at once", "script µs/job", "ratio", "scripts", "longest script ms", "s until all wait"]);
    let counts = size.of(&[10, 100][..], &[100, 1_000, 10_000, 50_000], &[100, 1_000, 10_000, 100_000, 500_000]);
    let mut smallest = None;
    for count in counts.iter().copied() {
        let [per_job, scripts, longest, seconds] = of(count).await;
        table.row(count, [per_job, per_job / *smallest.get_or_insert(per_job), scripts, longest, seconds]);
    }
    Found::of(table)
}

async fn of(count: u64) -> [f64; 4] {
    let rig = Rig::start();
    stock::fill(&rig, QUEUE, count, |_| String::new()).await;
    // Longer than it takes to reserve them all on a slow machine, so that they expire together.
    let lease = Duration::from_millis(3_000 + count / 2);
    let start = Instant::now();
    stock::take(&rig, QUEUE, count, lease.as_millis() as u64).await;
    let last = Instant::now();
    assert!(start.elapsed() < lease, "all of them are out together");
    // The registry lists the queue meanwhile.
    tokio::time::sleep((start + lease - Duration::from_millis(500)).saturating_duration_since(last)).await;
    rig.engine.ask("CONFIG SET slowlog-max-len 100000");
    rig.engine.ask("CONFIG SET slowlog-log-slower-than 100");
    rig.engine.ask("SLOWLOG RESET");
    let before = rig.engine.calls();
    while out(&rig) > 0 && last.elapsed() < lease + LATEST {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let seconds = last.elapsed().as_secs_f64() - lease.as_secs_f64();
    let after = rig.engine.calls();
    let scripts = (after.scripts - before.scripts) as f64;
    [(after.script_us - before.script_us) / count as f64, scripts, longest_ms(&rig), seconds.max(0.0)]
}

/// The number of reserved jobs, read without a script.
fn out(rig: &Rig) -> u64 {
    let answer = rig.engine.ask(&format!("ZCARD intray:{{{QUEUE}}}:2:reserved"));
    answer.lines().next().and_then(|line| line.strip_prefix(':')?.parse().ok()).expect("a number")
}

/// An entry starts with its id, its time, and its duration in microseconds.
fn longest_ms(rig: &Rig) -> f64 {
    let log = rig.engine.ask("SLOWLOG GET -1");
    let lines: Vec<_> = log.lines().collect();
    let numbers = lines.windows(3).filter(|lines| lines.iter().all(|line| line.starts_with(':')));
    numbers.filter_map(|lines| lines[2][1..].parse::<f64>().ok()).fold(0.0, f64::max) / 1e3
}
