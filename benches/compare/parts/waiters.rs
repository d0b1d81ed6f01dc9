//! Callers that wait: the cost of each, and how soon a job reaches one of them.

use std::time::{Duration, Instant};

use tokio::{sync::mpsc, task::JoinSet};

use crate::{meter::Meter, numbers::percentile, rig::Rig, size::Size, table::Table};

use super::Found;

/// Before the first of them times out.
const LONGEST: Duration = Duration::from_secs(29);

pub async fn run(size: Size) -> Found {
    let mut table = Table::new(&[
        "who wait",
        "KiB each",
        "Redis commands/s",
        "% of a core",
        "script µs/job",
        "ratio",
        "to a waiter p50 ms",
        "p99 ms",
        "worst ms",
    ]);
    let counts = size.of(&[1, 100][..], &[1, 100, 1_000, 10_000], &[1, 100, 1_000, 10_000]);
    let mut smallest = None;
    for count in counts.iter().copied() {
        let [each, commands, core, script, p50, p99, worst] = of(count, size).await;
        let ratio = script / *smallest.get_or_insert(script);
        table.row(count, [each, commands, core, script, ratio, p50, p99, worst]);
    }
    Found::of(table)
}

async fn of(count: u64, size: Size) -> [f64; 7] {
    let (rig, start) = (Rig::start(), Instant::now());
    let mut producer = rig.client().await;
    let alone = rig.resident();
    let (sender, mut served) = mpsc::unbounded_channel();
    // They end with it, before the service does.
    let mut waiting = JoinSet::new();
    for _ in 0..count {
        let (mut client, sender) = (rig.client().await, sender.clone());
        waiting.spawn(async move {
            loop {
                let answer = client.post("/jobs/reserve", r#"{"wait_ms":30000}"#).await;
                let _ = sender.send((Instant::now(), answer.starts_with(r#"{"jobs":[{"#)));
            }
        });
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    // One-time costs of the first callers are not counted.
    let each = match count {
        0..100 => f64::NAN,
        _ => rig.resident().saturating_sub(alone) as f64 / count as f64 / 1_024.0,
    };
    let watched = size.of(Duration::from_millis(500), Duration::from_secs(5), Duration::from_secs(5));
    let meter = Meter { server: Some(rig.service()), engine: Some(&rig.engine) };
    let before = meter.read();
    tokio::time::sleep(watched).await;
    let idle = meter.since(&before);
    // Otherwise the earlier ones ask again already.
    let is_idle = start.elapsed() < LONGEST;

    let (before, mut took) = (meter.read(), Vec::new());
    for n in 0..size.of(20, 500, 1_000) {
        if start.elapsed() > LONGEST {
            break;
        }
        let put = Instant::now();
        producer.post("/jobs", &format!(r#"{{"payload":{n}}}"#)).await;
        // A caller whose wait timed out waits again.
        let mut served_at = None;
        while served_at.is_none() {
            let (at, with_job) = served.recv().await.expect("a waiter");
            served_at = with_job.then_some(at);
        }
        took.extend(served_at.map(|at| at.duration_since(put).as_secs_f64() * 1e3));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let used = meter.since(&before);
    took.sort_by(f64::total_cmp);
    let [p50, p99, worst] = [0.5, 0.99, 1.0].map(|share| percentile(&took, share));
    waiting.abort_all();
    let while_idle = |used: f64| if is_idle { used / idle.seconds } else { f64::NAN };
    let (commands, core) = (while_idle(idle.commands + idle.scripts), while_idle(idle.server / 1e4));
    [each, commands, core, used.script_us / took.len() as f64, p50, p99, worst]
}
