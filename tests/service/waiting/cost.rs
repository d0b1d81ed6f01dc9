//! What waiters cost: connections, commands in Redis, and time of other callers.

use std::{collections::BTreeSet, time::Duration};

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::refused_writes::scripts;
use crate::world::{Client, World, waiters::MAX_WAIT_MS};

/// How many commands Redis has run, this one included.
async fn commands(w: &World) -> u64 {
    w.engine.info_number("stats", "total_commands_processed").await
}

#[tokio::test]
async fn instance_uses_one_pubsub_connection_for_all_waiters() {
    let w = World::start().await;
    let (_second, other) = w.start_instance().await;
    let mut listeners = Vec::new();
    for client in [&*w, &other] {
        for n in 0..40 {
            drop(client.start_reserve(json!({ "queues": [format!("q{n}"), "default"] })));
            listeners.push(client.listen(&format!("?queue=q{n},another{n}")).await);
        }
    }
    sleep(Duration::from_millis(200)).await;
    let clients: String = w.engine.run("CLIENT LIST").await;
    let listening = clients.lines().filter(|line| !line.contains(" sub=0 ")).count();
    assert_eq!(listening, 2, "one per instance: {clients}");
    assert!(clients.lines().count() <= 12, "{clients}");
    w.check().await;
}

#[tokio::test]
async fn sleeping_waiters_cost_redis_almost_nothing() {
    let w = World::start_process().await;
    let waiters = w.start_waits(vec![json!({}); 300]).await;
    sleep(Duration::from_millis(200)).await;
    let before = commands(&w).await;
    sleep(Duration::from_secs(6)).await;
    let ran = commands(&w).await - before;
    assert!(ran <= 20 * 6, "{ran} commands in six seconds, without any change");
    assert!(waiters.iter().all(|waiter| !waiter.is_answered()));
    w.enqueue_many((0..300).map(|n| json!({ "payload": n }))).await;
    let mut served = BTreeSet::new();
    for waiter in waiters {
        served.insert(waiter.job().await.id);
    }
    assert_eq!(served.len(), 300);
    w.check().await;
}

#[tokio::test]
async fn wait_for_a_list_that_is_dear_rests_between_looks() {
    const EVENTS: u64 = 100;
    let w = World::start().await;
    w.update_settings(json!({ "browse": true })).await;
    let others: Vec<_> = (0..15).map(|n| format!("another-{n}")).chain(["ann".to_owned()]).collect();
    let for_others = |n: u64| json!({ "payload": n, "excluded": others });
    w.enqueue_many((0..100).map(for_others)).await;
    let list = "/queues/default/jobs?mine=true&worker=ann";
    assert_eq!(w.get(list).await.is(200)["next"], Value::Null, "it is read whole");
    let begun = Instant::now();
    for _ in 0..10 {
        w.get(list).await.is(200);
    }
    let took = begun.elapsed() / 10;

    let client = (*w).clone();
    let waiting = tokio::spawn(async move { client.get(&format!("{list}&wait_ms=30000")).await.is(200) });
    sleep(10 * took).await;
    let (before, begun) = (scripts(&w).await, Instant::now());
    for n in 0..EVENTS {
        w.enqueue_with(for_others(1_000 + n)).await;
    }
    let looks = (scripts(&w).await - before).saturating_sub(EVENTS);
    let possible = begun.elapsed().div_duration_f64(took);
    assert!(looks >= 1 && looks as f64 <= possible / 2.0, "{looks} of {took:?}, {possible:.0} fit");
    w.enqueue_with(json!({ "payload": "for ann" })).await;
    assert_eq!(waiting.await.expect("no panic")["jobs"].as_array().map(Vec::len), Some(1));
    w.check().await;
}

/// How long something takes.
async fn timed<T>(call: impl Future<Output = T>) -> Duration {
    let begin = Instant::now();
    call.await;
    begin.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// The median times of enqueue and of complete in a busy queue, and of an enqueue to a service without load meanwhile.
async fn medians(w: &Client, unloaded: &Client, what: &str) -> [Duration; 3] {
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for n in 0..150 {
        let job = json!({ "queue": "busy", "payload": [what, n], "priority": 0 });
        times[0].push(timed(w.enqueue_with(job)).await);
        let held = w.reserve_with(json!({ "queues": ["busy"] })).await;
        times[1].push(timed(async { w.complete(&held).await.is(200) }).await);
        times[2].push(timed(unloaded.enqueue(json!([what, n]))).await);
    }
    times.map(median)
}

/// Five times what it takes alone, or an enqueue to a service without load at the same time: a busy machine slows that too.
fn assert_not_slowed(what: &str, alone: Duration, loaded: Duration, unloaded: Duration) {
    eprintln!("{what}: median {alone:?} alone, {loaded:?} with others, and {unloaded:?} without load meanwhile");
    assert!(loaded < alone.max(unloaded) * 5 + Duration::from_millis(5), "{what}: {alone:?} alone, now {loaded:?}");
}

#[tokio::test]
async fn waiters_elsewhere_do_not_slow_a_busy_queue() {
    let w = World::start_process().await;
    let (_second, other) = w.start_instance().await;
    let jobs = (0..100).map(|n| json!({ "queue": "busy", "payload": n, "delay_ms": 60_000 }));
    let ids = w.enqueue_many(jobs).await;
    let unloaded = World::start_process().await;
    medians(&w, &unloaded, "warm").await;
    let alone = medians(&w, &unloaded, "alone").await;
    let waiters = w.start_waits(vec![json!({}); 100]).await;
    let watchers: Vec<_> = ids.iter().map(|id| other.long_poll(&format!("/jobs/{id}"))).collect();
    sleep(Duration::from_millis(300)).await;
    let loaded = medians(&w, &unloaded, "loaded").await;
    for (nth, what) in ["enqueue", "complete"].into_iter().enumerate() {
        assert_not_slowed(what, alone[nth], loaded[nth], loaded[2]);
    }
    assert!(waiters.iter().chain(&watchers).all(|waiter| !waiter.is_answered()));
    w.check().await;
}

/// Two hundred waiters at both instances get jobs from a fast producer.
#[tokio::test]
async fn two_hundred_waiters_do_not_slow_the_producer() {
    let w = World::start_process().await;
    let (_second, other) = w.start_instance().await;
    let unloaded = World::start_process().await;
    let mut found = Vec::new();
    for with in [false, true] {
        let mut waiters = Vec::new();
        if with {
            for (client, place) in [(&*w, "here"), (&other, "there")] {
                let request = |n| json!({ "worker": format!("{place}-{n}"), "wait_ms": MAX_WAIT_MS });
                waiters.extend(client.start_waits((0..100).map(request).collect()).await);
            }
        }
        let (mut enqueues, mut quiet, mut completes) = (Vec::new(), Vec::new(), Vec::new());
        for n in 0..200 {
            enqueues.push(timed(w.enqueue(json!([with, n]))).await);
            quiet.push(timed(unloaded.enqueue(json!([with, n]))).await);
        }
        let mut held: Vec<_> = Vec::new();
        for waiter in waiters {
            held.push(waiter.job().await);
        }
        while held.len() < 200 {
            held.extend(w.reserve_all(json!({ "limit": 100 })).await);
        }
        let ids: BTreeSet<_> = held.iter().map(|held| &held.id).collect();
        assert_eq!(ids.len(), 200, "each job once");
        for held in &held {
            completes.push(timed(async { w.complete(held).await.is(200) }).await);
        }
        found.push([median(enqueues), median(completes), median(quiet)]);
    }
    let [without, with] = found[..] else { unreachable!("both were done") };
    for (nth, what) in ["enqueue", "complete"].into_iter().enumerate() {
        assert_not_slowed(what, without[nth], with[nth], with[2]);
    }
    let counts: Value = w.queue().await["counts"].clone();
    assert_eq!(counts["completed"], 400);
    w.check().await;
}
