//! Waiting while Redis answers, and takes no writes: too few replicas, a master that was demoted, a disk that is full.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::world::{
    World, eventually,
    waiters::{PROMPT_LIMIT, Waiter},
};

/// How long Redis refuses: some rests long.
const SPELL: Duration = Duration::from_secs(3);

/// How to have Redis refuse writes, and take them again.
const REFUSALS: [(&str, &str, &str); 2] = [
    ("NOREPLICAS", "CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0"),
    ("READONLY", "REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"),
];

/// A figure of `INFO`.
async fn figure(w: &World, section: &str, name: &str) -> u64 {
    let info: String = w.engine.run(&format!("INFO {section}")).await;
    let line = info.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("=0,");
    let digits = line.trim_start_matches([':', '=']).split([',', '\r']).next().unwrap_or_default();
    digits.parse().unwrap_or_else(|_| panic!("{name}: {line}"))
}

async fn scripts(w: &World) -> u64 {
    figure(w, "commandstats", "cmdstat_fcall:calls").await
}

fn complaints(w: &World) -> Vec<String> {
    w.service.output().lines().filter(|line| line.contains("a script failed")).map(str::to_owned).collect()
}

#[tokio::test]
async fn who_waits_rests_while_redis_refuses_writes_and_has_the_job_as_soon_as_it_does_not() {
    for (code, refuse, take) in REFUSALS {
        let w = World::start().await;
        // Some wait for what is not there, some for a job that they may not have yet.
        let mut there = vec![w.enqueue(1).await, w.enqueue_with(json!({ "queue": "more", "payload": 1 })).await];
        let sleeper = w.start_wait(json!({ "queues": ["none"] })).await;
        let _: String = w.engine.run(refuse).await;
        let trying = [w.start_reserve(json!({})), w.start_reserve(json!({ "queues": ["none", "more"] }))];
        let late = w.start_reserve(json!({ "queues": ["none"] }));
        sleep(Duration::from_millis(500)).await;
        let before = (scripts(&w).await, figure(&w, "stats", "total_connections_received").await);
        sleep(SPELL).await;
        let after = (scripts(&w).await, figure(&w, "stats", "total_connections_received").await);
        let (ran, connected, said) = (after.0 - before.0, after.1 - before.1, complaints(&w));
        eprintln!("{code}: {ran} scripts, {connected} connections, {} lines", said.len());
        assert!(ran < 100, "{code}: {ran} scripts in {SPELL:?} for four who wait");
        assert!(connected <= 20, "{code}: {connected} new connections");
        assert!((1..15).contains(&said.len()), "{code}: {} lines: {said:#?}", said.len());
        assert!(said.iter().any(|line| line.contains(code)), "{said:#?}");
        assert!(said.iter().any(|line| times(line) > 1), "each says how often: {said:#?}");
        let all = w.service.output();
        assert!(!all.contains("Redis is lost"), "{code}: it is there, and refuses: {all}");
        assert!(trying.iter().chain([&sleeper, &late]).all(|waiter| !waiter.is_answered()), "they go on waiting");

        let _: String = w.engine.run(take).await;
        let since = Instant::now();
        let mut had = has_it_soon(trying, since).await;
        had.sort();
        there.sort();
        assert_eq!(had, there, "{code}");
        eventually("Redis takes jobs", async || {
            let jobs = json!([{ "queue": "none", "payload": 1 }, { "queue": "none", "payload": 2 }]);
            let answer = w.post("/jobs", jobs).await;
            (answer.json()["jobs"][1]["state"] == "waiting").then_some(())
        })
        .await;
        has_it_soon([sleeper, late], Instant::now()).await;
        w.check().await;
    }
}

fn times(line: &str) -> u64 {
    let times = line.split("times=").nth(1).and_then(|rest| rest.split(' ').next());
    times.map_or(0, |times| times.parse().expect("a number"))
}

/// Each of them has a job within a second, or what a busy machine makes of it.
async fn has_it_soon(waiters: impl IntoIterator<Item = Waiter>, since: Instant) -> Vec<String> {
    let mut jobs = Vec::new();
    for waiter in waiters {
        let (held, at) = waiter.job_at().await;
        assert!(at.saturating_duration_since(since) < PROMPT_LIMIT * 2, "{:?}", at - since);
        jobs.push(held.id);
    }
    jobs
}

/// One tries for all of them.
#[tokio::test]
async fn a_crowd_that_comes_while_redis_refuses_writes_costs_hardly_more_than_one() {
    const CROWD: usize = 60;
    let w = World::start().await;
    w.enqueue_many((0..CROWD).map(|n| json!({ "payload": n }))).await;
    let (_, refuse, take) = REFUSALS[0];
    let _: String = w.engine.run(refuse).await;
    let crowd: Vec<_> = (0..CROWD).map(|_| w.start_reserve(json!({}))).collect();
    sleep(Duration::from_millis(1_500)).await;
    let before = w.script_runs("reserve").await;
    sleep(SPELL).await;
    let ran = w.script_runs("reserve").await - before;
    eprintln!("{ran} tries by a crowd of {CROWD}");
    assert!(ran <= 20, "{ran} tries in {SPELL:?}");
    assert!(complaints(&w).len() < 15, "{:#?}", complaints(&w));
    let _: String = w.engine.run(take).await;
    let mut had = has_it_soon(crowd, Instant::now()).await;
    had.sort();
    had.dedup();
    assert_eq!(had.len(), CROWD, "each has another");
    w.check().await;
}
