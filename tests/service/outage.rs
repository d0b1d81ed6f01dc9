//! Redis away, slow, read-only, full: an answer within two seconds that says what is true, and recovery without a restart.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::world::{Answer, Client, Fault, Held, World, assert_holds, eventually, id_of};

/// What the contract promises, and a little for a machine that is busy with other stories.
const PROMISED: Duration = Duration::from_millis(2_500);

/// One call of each kind.
fn calls(held: &Held) -> Vec<(&'static str, String, Value)> {
    let settle = json!({ "reservation": held.reservation });
    vec![
        ("POST", "/jobs".into(), json!({ "payload": "new" })),
        ("POST", "/jobs".into(), json!([{ "payload": "a" }, { "payload": "b", "queue": "other" }])),
        ("POST", "/jobs/reserve".into(), json!({})),
        ("POST", "/jobs/reserve".into(), json!({ "queues": ["default", "other"], "worker": "bob" })),
        ("POST", "/jobs/extend".into(), settle.clone()),
        ("POST", "/jobs/complete".into(), settle.clone()),
        ("POST", "/jobs/abandon".into(), settle.clone()),
        ("POST", "/jobs/fail".into(), settle),
        ("POST", "/jobs/release".into(), json!({ "id": held.id })),
        ("POST", "/jobs/requeue".into(), json!({ "queue": "default" })),
        ("PATCH", "/queues/default".into(), json!({ "paused": true })),
        ("PATCH", format!("/jobs/{}", held.id), json!({ "priority": 1 })),
        ("DELETE", format!("/jobs/{}?force=true", held.id), Value::Null),
        ("DELETE", "/queues/default?state=all".into(), Value::Null),
        ("POST", "/queues/default/sweep".into(), json!({})),
        ("GET", format!("/jobs/{}", held.id), Value::Null),
        ("GET", "/queues".into(), Value::Null),
        ("GET", "/queues/default".into(), Value::Null),
        ("GET", "/queues/default/jobs".into(), Value::Null),
        ("GET", "/queues/default/workers".into(), Value::Null),
        ("GET", "/workers/ann/reservations".into(), Value::Null),
    ]
}

async fn call(client: &Client, method: &str, path: &str, body: &Value) -> (Answer, Duration) {
    let request = client.request(method, path);
    let request = if body.is_null() { request } else { request.json(body.to_string()) };
    let begin = Instant::now();
    let answer = request.send().await;
    (answer, begin.elapsed())
}

/// Every call is refused in time; an array says it per item. Answers what was said of effects.
async fn all_are_unavailable(client: &Client, held: &Held) -> Vec<Value> {
    let mut tasks = tokio::task::JoinSet::new();
    for (method, path, body) in calls(held) {
        let client = client.clone();
        tasks.spawn(async move {
            let (answer, took) = call(&client, method, &path, &body).await;
            let slow = (took > PROMISED).then(|| format!("{method} {path} took {took:?}"));
            if body.is_array() {
                assert_holds(&answer.is(200)["jobs"][0]["error"], json!({ "status": 503 }));
                return (slow, answer.json()["jobs"][1]["error"]["applied"].clone());
            }
            assert_eq!(answer.status, 503, "{method} {path}: {}", answer.text());
            let problem = answer.refused("unavailable");
            let header: u64 = answer.header("retry-after").expect("a header").parse().expect("seconds");
            assert_eq!(header, problem["retry_after_ms"].as_u64().expect("ms").div_ceil(1_000));
            (slow, problem["applied"].clone())
        });
    }
    let (slow, said): (Vec<_>, Vec<_>) = tasks.join_all().await.into_iter().unzip();
    let slow: Vec<_> = slow.into_iter().flatten().collect();
    assert!(slow.is_empty(), "an answer within two seconds: {slow:#?}");
    said
}

/// The service is well again soon, by itself.
async fn recovers(client: &Client) {
    let begin = Instant::now();
    let mut in_a_row = 0;
    eventually("the service is well again", async || {
        let answer = client.post("/jobs/reserve", json!({ "queues": ["nothing"] })).await;
        let is_well = answer.status == 200 && client.get("/readyz").await.status == 200;
        in_a_row = if is_well { in_a_row + 1 } else { 0 };
        (in_a_row > 8).then_some(())
    })
    .await;
    assert!(begin.elapsed() < Duration::from_secs(5), "it took {:?}", begin.elapsed());
}

#[tokio::test]
async fn a_frozen_redis_is_said_to_be_slow_and_the_call_may_have_had_an_effect() {
    let w = World::start().await;
    w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    w.engine.freeze();
    let said = all_are_unavailable(&w, &held).await;
    assert!(said.contains(&json!("unknown")), "{said:?}");
    let second = all_are_unavailable(&w, &held).await;
    assert_eq!(second.len(), said.len());
    let ready = w.get("/readyz").await;
    assert_eq!(ready.status, 503, "{}", ready.text());
    assert_eq!(w.get("/livez").await.status, 200);
    assert_eq!(w.get("/metrics").await.status, 200);
    w.engine.thaw();
    recovers(&w).await;
    w.check().await;
}

#[tokio::test]
async fn a_redis_that_is_gone_is_said_to_be_gone_and_nothing_has_happened() {
    let mut w = World::plan().durable().start().await;
    let id = w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    w.engine.kill();
    all_are_unavailable(&w, &held).await;
    let said = all_are_unavailable(&w, &held).await;
    assert!(said.iter().all(|applied| applied == &json!(false)), "once it is known to be gone: {said:?}");
    w.engine.revive().await;
    recovers(&w).await;
    assert_holds(&w.job(&id).await, json!({ "state": "reserved", "reserved": { "worker": "ann" } }));
    w.extend(&held).await.is(200);
    w.complete(&held).await.is(200);
    w.check().await;
}

#[tokio::test]
async fn connections_that_break_are_replaced() {
    let w = World::plan().behind_a_proxy().start().await;
    for n in 0..5 {
        w.enqueue(n).await;
        w.proxy().cut();
        recovers(&w).await;
    }
    let waiting = w.queue().await["counts"]["waiting"].clone();
    w.proxy().now(Fault::Refuse);
    w.proxy().cut();
    let held = Held {
        id: "default-7ZZZZZZZZZZZZZZZZZZZZZZZZZ".into(),
        reservation: "default-7ZZZZZZZZZZZZZZZZZZZZZZZZZ.7ZZZZZZZZZZZZZZZZZZZZZZZZZ".into(),
        said: Value::Null,
    };
    all_are_unavailable(&w, &held).await;
    w.proxy().now(Fault::None);
    recovers(&w).await;
    assert_eq!((&w.queue().await["counts"]["waiting"], &waiting), (&json!(5), &json!(5)));
    w.check().await;
}

#[tokio::test]
async fn a_second_after_its_return_every_call_is_served() {
    let mut w = World::plan().durable().start().await;
    // All that the service keeps open is open.
    for n in 0..10 {
        w.enqueue(n).await;
    }
    for kind in ["killed", "frozen"] {
        if kind == "killed" {
            w.engine.kill();
            w.put(json!({ "payload": "no" })).await.refused("unavailable");
            w.engine.revive().await;
        } else {
            w.engine.freeze();
            w.put(json!({ "payload": "no" })).await.refused("unavailable");
            w.engine.thaw();
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        for n in 0..10 {
            let answer = w.put(json!({ "payload": [kind, n] })).await;
            assert_eq!(answer.status, 201, "{kind}, call {n}: {}", answer.text());
        }
    }
    w.check().await;
}

#[tokio::test]
async fn a_crowd_that_meets_a_frozen_redis_is_answered_in_time_and_leaves_no_queue_behind() {
    let w = World::start().await;
    w.enqueue(1).await;
    w.engine.freeze();
    let mut crowd = tokio::task::JoinSet::new();
    for n in 0..200 {
        let client = (*w).clone();
        crowd.spawn(async move { call(&client, "POST", "/jobs", &json!({ "payload": n + 10 })).await });
    }
    for (answer, took) in crowd.join_all().await {
        assert_eq!(answer.status, 503);
        assert!(took < PROMISED, "{took:?}");
    }
    w.engine.thaw();
    recovers(&w).await;
    w.check().await;
}

#[tokio::test]
async fn a_redis_that_became_a_replica_takes_nothing_and_the_service_says_so_until_it_is_a_master_again() {
    let w = World::start().await;
    let id = w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    w.enqueue(2).await;
    let _: String = w.engine.run("REPLICAOF 127.0.0.1 1").await;
    for (method, path, body) in calls(&held).into_iter().filter(|(method, ..)| *method != "GET") {
        let (answer, took) = call(&w, method, &path, &body).await;
        let problem =
            if body.is_array() { answer.is(200)["jobs"][0]["error"].clone() } else { answer.refused("unavailable") };
        assert_holds(&problem, json!({ "status": 503, "applied": false }));
        assert!(took < PROMISED, "{took:?}");
    }
    eventually("readiness goes", async || (w.get("/readyz?verbose").await.status == 503).then_some(())).await;
    let _: String = w.engine.run("REPLICAOF NO ONE").await;
    recovers(&w).await;
    assert_eq!(w.state(&id).await, "reserved");
    w.complete(&held).await.is(200);
    w.check().await;
}

#[tokio::test]
async fn a_full_redis_takes_no_new_job_and_everything_else_goes_on() {
    let w = World::start().await;
    w.set(json!({ "worker_limit": 0 })).await;
    w.enqueue_many((0..8).map(|n| json!({ "payload": n, "max_attempts": if n == 3 { 1 } else { 0 } }))).await;
    let held = w.reserve_all(json!({ "worker": "ann", "limit": 5 })).await;
    let before: Vec<u8> = w.engine.run("DUMP intray:{default}:jobs").await;
    let _: String = w.engine.run("CONFIG SET maxmemory 1").await;

    for job in [
        json!({ "payload": "no" }),
        json!({ "payload": "x".repeat(100_000) }),
        json!({ "payload": 1, "queue": "unheard-of" }),
    ] {
        let refusal = w.put(job).await;
        assert_eq!(refusal.status, 507, "{}", refusal.text());
        refusal.refused("storage-full");
    }
    let array = w.post("/jobs", json!([{ "payload": "a" }, { "payload": "b" }])).await.is(200);
    assert!(array["jobs"].as_array().expect("jobs").iter().all(|entry| entry["error"]["status"] == 507), "{array}");
    let after: Vec<u8> = w.engine.run("DUMP intray:{default}:jobs").await;
    assert_eq!(before, after, "nothing was stored");

    let large = w.complete_with(&held[0], "x".repeat(5_000)).await;
    assert_eq!(large.status, 507, "{}", large.text());
    assert_eq!(w.extend(&held[0]).await.is(200)["state"], "reserved", "the reservation is as it was");
    assert_eq!(w.complete_with(&held[0], "x".repeat(4_000)).await.is(200)["state"], "completed");
    assert_eq!(w.abandon(&held[1]).await.is(200)["state"], "waiting");
    assert_eq!(w.fail(&held[2]).await.is(200)["state"], "waiting");
    assert_eq!(w.fail(&held[3]).await.is(200)["state"], "dead");
    assert_eq!(w.abandon_for(&held[4], 1_000).await.is(200)["state"], "delayed");
    let taken = w.reserve_as("bob").await;
    assert_eq!(w.release(&taken.id).await, 1);
    let taken = w.reserve_as("bob").await;
    w.pass(300_000);
    let swept = w.sweep().await;
    assert_eq!((&swept["expired"], &swept["due"]), (&json!(1), &json!(1)));
    assert_eq!(w.complete(&taken).await.is(200)["late"], true);
    assert_eq!(w.requeue_all().await, 1);
    w.cancel(&id_of(&w.get("/queues/default/jobs").await.is(200)["jobs"][0])).await.is(200);
    w.prioritize(&id_of(&w.get("/queues/default/jobs").await.is(200)["jobs"][0]), 1).await.is(200);
    let mut left = 0;
    while !w.ask(json!({})).await.is(200)["jobs"].as_array().expect("jobs").is_empty() {
        left += 1;
    }
    assert!(left > 0);
    assert_eq!(w.delete("/queues/default?state=all&force=true").await.is(200)["more"], false);

    let _: String = w.engine.run("CONFIG SET maxmemory 0").await;
    w.enqueue("yes").await;
    w.check().await;
}

#[tokio::test]
async fn the_background_task_survives_an_outage() {
    let mut w = World::plan().durable().sweeping_every(20).start().await;
    let id = w.enqueue(1).await;
    w.reserve().await;
    w.engine.kill();
    w.put(json!({ "payload": 2 })).await.refused("unavailable");
    w.engine.revive().await;
    w.pass(300_000);
    eventually("the job is back", async || {
        let answer = w.get(&format!("/jobs/{id}")).await;
        (answer.status == 200 && answer.json()["state"] == "waiting").then_some(())
    })
    .await;
    w.check().await;
}

#[tokio::test]
async fn a_redis_that_forgot_the_scripts_is_told_them_again() {
    let w = World::start().await;
    let id = w.enqueue(1).await;
    let held = w.reserve().await;
    for step in 0..4 {
        let _: String = w.engine.run("SCRIPT FLUSH").await;
        match step {
            0 => drop(w.enqueue(2).await),
            1 => drop(w.extend(&held).await.is(200)),
            2 => drop(w.complete(&held).await.is(200)),
            _ => assert_eq!(w.state(&id).await, "completed"),
        }
    }
    w.check().await;
}

#[tokio::test]
async fn a_broken_key_is_a_fault_of_its_queue_and_of_no_other() {
    let w = World::start().await;
    let _: String = w.engine.run("SET intray:{default}:inbound nonsense").await;
    let fault = w.put(json!({ "payload": 1 })).await;
    assert_eq!(fault.status, 500, "{}", fault.text());
    let problem = fault.refused("internal");
    assert!(!problem.to_string().contains("WRONGTYPE"), "what is inside stays inside: {problem}");
    w.enqueue_as(json!({ "queue": "other", "payload": 1 })).await;
    let _: u64 = w
        .engine
        .run("DEL intray:{default}:inbound intray:{default}:jobs intray:{default}:dedupe intray:{default}:turns")
        .await;
    w.enqueue(1).await;
}
