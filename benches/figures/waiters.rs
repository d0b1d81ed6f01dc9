//! Ten thousand people who wait with an open page: what each costs, and how soon a job reaches one of them.

use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::rig::Rig;

const WAITERS: u64 = 10_000;
const JOBS: usize = 300;
const WATCHED: Duration = Duration::from_secs(5);

pub async fn run() {
    let rig = Rig::start();
    let alone = rig.resident();
    let (sender, mut served) = mpsc::unbounded_channel();
    for _ in 0..WAITERS {
        let (mut client, sender) = (rig.client().await, sender.clone());
        tokio::spawn(async move {
            let answer = client.post("/jobs/reserve", r#"{"wait_ms":30000}"#).await;
            let _ = sender.send((Instant::now(), answer.starts_with(r#"{"jobs":[{"#)));
        });
    }
    tokio::time::sleep(Duration::from_secs(3)).await;
    let each = (rig.resident() - alone) as f64 / WAITERS as f64 / 1_024.0;
    let (before, cpu) = (rig.commands(), rig.cpu());
    tokio::time::sleep(WATCHED).await;
    let commands = (rig.commands() - before) as f64 / WATCHED.as_secs_f64();
    let idle = (rig.cpu().0 - cpu.0) / WATCHED.as_secs_f64() / 10_000.0;
    println!("{WAITERS} idle waiters: {each:.1} KiB each, {commands:.1} Redis commands/s, {idle:.1} % of a core");

    let (mut producer, mut took) = (rig.client().await, Vec::with_capacity(JOBS));
    for n in 0..JOBS {
        let start = Instant::now();
        producer.post("/jobs", &format!(r#"{{"payload":{n}}}"#)).await;
        let (at, with_job) = served.recv().await.expect("a waiter");
        assert!(with_job, "somebody was answered without a job: the waiters' time was up");
        took.push(at.duration_since(start));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    took.sort();
    let at = |share: f64| took[(JOBS as f64 * share) as usize].as_secs_f64() * 1e3;
    println!("from enqueue to a waiter: p50 {:.2} ms, p99 {:.2} ms, worst {:.2} ms", at(0.5), at(0.99), at(0.999));
}
