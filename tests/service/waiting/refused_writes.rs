//! Waiting while Redis answers but refuses writes: too few replicas, a demoted primary.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::world::{
    Took, World,
    calls::calls_of,
    eventually,
    waiters::{PROMPT_LIMIT, Waiter},
};

/// How long Redis refuses writes: longer than the pause between retries.
const REFUSAL: Duration = Duration::from_secs(3);

/// The error, the command that makes Redis refuse writes, and the command that ends it.
const REFUSALS: [(&str, &str, &str); 2] = [
    ("NOREPLICAS", "CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0"),
    ("READONLY", "REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"),
];

async fn connections(w: &World) -> u64 {
    w.engine.info_number("stats", "total_connections_received").await
}

/// How many scripts Redis has run.
pub(super) async fn scripts(w: &World) -> u64 {
    calls_of(&w.engine.calls().await, &["fcall"])
}

fn complaints(w: &World) -> Vec<String> {
    w.service.output().lines().filter(|line| line.contains("a script failed")).map(str::to_owned).collect()
}

#[tokio::test]
async fn waiters_retry_rarely_while_redis_refuses_writes() {
    for (code, refuse, take) in REFUSALS {
        let w = World::start_process().await;
        // Some waiters have no job in their queues, others a job that they cannot reserve yet.
        let mut there = vec![w.enqueue(1).await, w.enqueue_with(json!({ "queue": "more", "payload": 1 })).await];
        let sleeper = w.start_wait(json!({ "queues": ["none"] })).await;
        let _: String = w.engine.run(refuse).await;
        let trying = [w.start_reserve(json!({})), w.start_reserve(json!({ "queues": ["none", "more"] }))];
        let late = w.start_reserve(json!({ "queues": ["none"] }));
        sleep(Duration::from_millis(500)).await;
        let before = (scripts(&w).await, connections(&w).await);
        sleep(REFUSAL).await;
        let after = (scripts(&w).await, connections(&w).await);
        let (ran, connected, logged) = (after.0 - before.0, after.1 - before.1, complaints(&w));
        eprintln!("{code}: {ran} scripts, {connected} connections, {} lines", logged.len());
        assert!(ran < 100, "{code}: {ran} scripts in {REFUSAL:?} for four waiters");
        assert!(connected <= 20, "{code}: {connected} new connections");
        assert!((1..15).contains(&logged.len()), "{code}: {} lines: {logged:#?}", logged.len());
        assert!(logged.iter().any(|line| line.contains(code)), "{logged:#?}");
        assert!(logged.iter().any(|line| times(line) > 1), "repeated errors are counted: {logged:#?}");
        let all = w.service.output();
        assert!(!all.contains("Redis is lost"), "{code}: Redis is reachable:  {all}");
        assert!(trying.iter().chain([&sleeper, &late]).all(|waiter| !waiter.is_answered()), "they still wait");

        let _: String = w.engine.run(take).await;
        let since = Instant::now();
        let mut served = all_served_soon(trying, since).await;
        served.sort();
        there.sort();
        assert_eq!(served, there, "{code}");
        eventually("Redis accepts jobs", async || {
            let jobs = json!([{ "queue": "none", "payload": 1 }, { "queue": "none", "payload": 2 }]);
            let answer = w.post("/jobs", jobs).await;
            (answer.json()["jobs"][1]["state"] == "waiting").then_some(())
        })
        .await;
        all_served_soon([sleeper, late], Instant::now()).await;
        w.check().await;
    }
}

fn times(line: &str) -> u64 {
    let times = line.split("times=").nth(1).and_then(|rest| rest.split(' ').next());
    times.map_or(0, |times| times.parse().expect("a number"))
}

/// Each waiter gets a job within a second, with a margin for a busy machine.
async fn all_served_soon(waiters: impl IntoIterator<Item = Waiter>, since: Instant) -> Vec<String> {
    let mut jobs = Vec::new();
    for waiter in waiters {
        let (held, at) = waiter.job_at().await;
        Took::between(since, at).assert_within(PROMPT_LIMIT * 2, "the answer");
        jobs.push(held.id);
    }
    jobs
}

/// One waiter retries for all of them.
#[tokio::test]
async fn crowd_during_refused_writes_costs_as_little_as_one() {
    const CROWD: usize = 60;
    let w = World::start_process().await;
    w.enqueue_many((0..CROWD).map(|n| json!({ "payload": n }))).await;
    let (_, refuse, take) = REFUSALS[0];
    let _: String = w.engine.run(refuse).await;
    let crowd: Vec<_> = (0..CROWD).map(|_| w.start_reserve(json!({}))).collect();
    sleep(Duration::from_millis(1_500)).await;
    let before = w.script_runs("reserve").await;
    sleep(REFUSAL).await;
    let ran = w.script_runs("reserve").await - before;
    eprintln!("{ran} tries by a crowd of {CROWD}");
    assert!(ran <= 20, "{ran} tries in {REFUSAL:?}");
    assert!(complaints(&w).len() < 15, "{:#?}", complaints(&w));
    let _: String = w.engine.run(take).await;
    let mut served = all_served_soon(crowd, Instant::now()).await;
    served.sort();
    served.dedup();
    assert_eq!(served.len(), CROWD, "each has a job of its own");
    w.check().await;
}
