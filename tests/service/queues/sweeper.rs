//! The sweeper delays no other work, costs almost nothing where nothing is due, and misses nothing.

use intray::{job::QueueName, store::Queues};
use serde_json::{Value, json};

use crate::world::{Client, RETENTION_MS, World, assert_events, calls::calls_of, eventually};

/// The queues of the scripts that a server ran, in order.
async fn ran(w: &World) -> Vec<String> {
    let log: Vec<redis::Value> = w.engine.run("SLOWLOG GET -1").await;
    let mut entries: Vec<(u64, Vec<String>)> = log.iter().map(entry).collect();
    entries.sort();
    let queue_of = |words: &Vec<String>| {
        let name = words.get(3)?.strip_prefix("intray:{")?.split_once('}')?.0.to_owned();
        ["FCALL", "EVALSHA", "EVAL"].contains(&words[0].as_str()).then_some(name)
    };
    entries.iter().filter_map(|(_, words)| queue_of(words)).collect()
}

fn entry(entry: &redis::Value) -> (u64, Vec<String>) {
    let redis::Value::Array(parts) = entry else { panic!("{entry:?}") };
    let number = redis::from_redis_value(parts[0].clone()).expect("a number");
    let words: Vec<Vec<u8>> = redis::from_redis_value(parts[3].clone()).expect("words");
    (number, words.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect())
}

async fn log_all(w: &World) {
    for words in ["SLOWLOG RESET", "CONFIG SET slowlog-max-len 100000", "CONFIG SET slowlog-log-slower-than 0"] {
        let _: String = w.engine.run(words).await;
    }
}

/// Enqueues and completes jobs.
async fn work_off(client: &Client, queue: &str, jobs: usize) {
    client.configure(queue, json!({ "worker_limit": 0 })).await;
    let new = (0..jobs).map(|n| json!({ "queue": queue, "payload": n }));
    client.enqueue_many(new).await;
    let mut done = 0;
    while done < jobs {
        let held = client.reserve_all(json!({ "queues": [queue], "limit": 100 })).await;
        let all: Vec<_> = held.iter().map(|held| json!({ "reservation": held.reservation })).collect();
        client.post("/jobs/complete", Value::Array(all)).await.is(200);
        done += held.len();
    }
}

#[tokio::test]
async fn removal_of_many_jobs_delays_no_other_queue() {
    let mut w = World::start().await;
    let small: Vec<_> = (0..5).map(|n| format!("small-{n}")).collect();
    for _ in 0..3 {
        work_off(&w, "big", 1_000).await;
    }
    for queue in &small {
        w.enqueue_with(json!({ "queue": queue, "payload": 1 })).await;
        w.reserve_with(json!({ "queues": [queue] })).await;
    }
    w.advance_clock(RETENTION_MS + 1);
    log_all(&w).await;
    w.set_flag("--sweep-interval-ms", "20");
    let (_second, _client) = w.start_instance().await;
    // Reads Redis directly, because the service would run scripts of its own.
    let card = async |queue: &str, set: &str| w.engine.run::<u64>(&format!("ZCARD intray:{{{queue}}}:2:{set}")).await;
    eventually("all ended jobs are removed", async || (card("big", "ended").await == 0).then_some(())).await;
    for queue in &small {
        eventually("the lease is expired", async || (card(queue, "reserved").await == 0).then_some(())).await;
    }
    let all = ran(&w).await;
    let last_of_small = small.iter().map(|queue| all.iter().position(|ran| ran == queue).expect("swept")).max();
    let before = all[..last_of_small.expect("five")].iter().filter(|ran| *ran == "big").count();
    let in_all = all.iter().filter(|ran| *ran == "big").count();
    // One look and one step of each queue, in any order.
    assert!(before <= 2 && in_all >= 15, "{before} of {in_all} scripts of the big queue ran before the others' turn");
    w.check().await;
}

#[tokio::test]
async fn idle_queue_is_looked_at_without_a_sweep() {
    const QUEUES: u64 = 200;
    const SCRIPTS: [&str; 2] = ["fcall", "evalsha"];
    let mut w = World::start_process().await;
    for n in 0..QUEUES {
        let queue = format!("q-{n}");
        w.enqueue_with(json!({ "queue": queue, "payload": 1 })).await;
        if n % 2 == 0 {
            // Something is due far in the future.
            w.reserve_with(json!({ "queues": [queue] })).await;
        }
    }
    w.set_flag("--sweep-interval-ms", "20");
    // Metrics of the instance would run scripts themselves.
    let calls = async || {
        let mut calls = w.engine.calls().await;
        // Health checks repeat, however long this takes.
        calls.retain(|name, _| !["ping", "info"].contains(&name.as_str()));
        let scripts = calls_of(&calls, &SCRIPTS);
        (scripts, calls.into_values().sum::<u64>() - scripts)
    };
    let (scripts_before, calls_before) = calls().await;
    let (_second, second) = w.start_instance().await;
    let (scripts, calls) = eventually("every queue is looked at", async || {
        let (scripts, all) = calls().await;
        let scripts = scripts - scripts_before;
        (scripts >= QUEUES).then_some((scripts, all - calls_before))
    })
    .await;
    // The scripts counted so far include those of the start, so a last queue may be looked at a moment later.
    eventually("every queue is looked at", async || (second.script_runs("due").await >= QUEUES).then_some(())).await;
    // Nothing is due. Each queue is still swept once in ten minutes, at a random time, and this test may take long.
    let sweeps = second.script_runs("sweep").await;
    assert!(sweeps * 4 <= QUEUES, "{sweeps} of {QUEUES} idle queues are swept");
    // Eight commands a look; two hundred for the start of an instance and its connections.
    assert!(calls <= scripts * 8 + sweeps * 60 + 200, "{calls} commands in {scripts} looks");
    w.check().await;
}

#[tokio::test]
async fn quiet_queue_is_looked_at_without_a_sweep() {
    const QUEUES: u64 = 100;
    let mut w = World::start_process().await;
    w.set_flag("--sweep-interval-ms", "20");
    let (_second, second) = w.start_instance().await;
    for n in 0..QUEUES {
        second.post("/jobs", json!({ "queue": format!("q-{n}"), "payload": 1 })).await.is(201);
    }
    eventually("every queue is looked at", async || (second.script_runs("due").await >= QUEUES).then_some(())).await;
    // Each queue is swept once in ten minutes, at a random time: up to one in six if this takes a minute.
    let sweeps = second.script_runs("sweep").await;
    assert!(sweeps * 3 <= QUEUES, "{sweeps} of {QUEUES} are swept");
    w.check().await;
}

#[tokio::test]
async fn busy_queue_is_swept() {
    const EACH: u64 = 256;
    let mut w = World::start_process().await;
    w.set_flag("--sweep-interval-ms", "20");
    let (_second, second) = w.start_instance().await;
    for moved in 0..EACH * 3 {
        second.post("/jobs", json!({ "queue": "busy", "payload": moved })).await.is(201);
    }
    // The sweep trims its events, although nothing is due.
    let sweeps = eventually("the queue is swept twice", async || {
        let sweeps = second.script_runs("sweep").await;
        (sweeps >= 2).then_some(sweeps)
    })
    .await;
    let looks = second.script_runs("due").await;
    assert!(sweeps <= 5, "{sweeps} sweeps and {looks} looks; one or two sweeps are random");
    w.check().await;
}

#[tokio::test]
async fn job_of_a_crashed_instance_is_swept_by_another() {
    let mut w = World::start_process().await;
    w.set_flag("--sweep-interval-ms", "100");
    let (_second, second) = w.start_instance().await;
    eventually("the second instance has swept", async || {
        (second.metric("intray_sweep_duration_seconds_count").await >= 2.0).then_some(())
    })
    .await;
    let id = w.enqueue_with(json!({ "queue": "new", "payload": 1, "lease_ms": 1_000 })).await;
    let held = w.reserve_with(json!({ "queues": ["new"], "lease_ms": 1_000 })).await;
    w.service.kill();
    let deadline = w.engine.now().await + held.number("expires_in_ms");
    let job = eventually("the job is back", async || {
        let job = second.job(&id).await;
        (job["state"] == "waiting").then_some(job)
    })
    .await;
    let late = w.engine.now().await.saturating_sub(deadline);
    // The goal is ten seconds; the rest is margin for a machine that runs other tests.
    assert!(late < 15_000, "{late} ms after the deadline: {job}");
    assert_events(&w.events_of(&id).await, &["enqueued", "reserved", "expired"]);
    w.restart().await;
    w.check().await;
}

#[tokio::test]
async fn alarms_do_not_wait_for_the_removal_of_batches() {
    let w = World::start().await;
    w.stop_clock();
    w.update_settings(json!({ "retention_ms": 10_000 })).await;
    for _ in 0..30 {
        w.create_batch(json!({ "jobs": [] })).await;
    }
    let falls_back = w.enqueue_with(json!({ "payload": 1, "assignees": ["bob"], "fallback_ms": 10_000 })).await;
    let expires = w.enqueue_with(json!({ "payload": 2, "expires_ms": 10_000 })).await;
    let breached = w.enqueue_with(json!({ "payload": 3, "sla_ms": 10_000 })).await;
    let handed = w.enqueue_with(json!({ "payload": 4 })).await;
    let held = w.reserve_with(json!({ "worker": "ann", "id": handed })).await;
    let over = json!({ "reservation": held.reservation, "to": "bob", "fallback_ms": 10_000 });
    w.post("/jobs/hand-over", over).await.is(200);
    w.advance_clock(10_000);
    let handle = Queues::new(&w.engine.url(), "intray").expect("a handle");
    assert!(handle.sweep_a_turn(&QueueName::default(), false).await.expect("swept").more);
    let ends = [(falls_back, "fallback"), (expires, "cancelled"), (breached, "sla-breached"), (handed, "fallback")];
    for (id, kind) in ends {
        assert_eq!(w.events_of(&id).await.last().map(String::as_str), Some(kind));
    }
    assert!(w.get("/batches?queue=default").await.is(200)["batches"].as_array().expect("a list").len() > 10);
}
