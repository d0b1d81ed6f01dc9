//! Redis down, slow, read-only or full: a true answer within two seconds, and recovery without a restart.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::world::{Answer, Client, Fault, ReservedJob, Took, World, assert_contains, eventually};

/// The bound of the contract, plus a margin for a machine that runs other tests; two such waits in a row would exceed
/// it.
const ANSWER_BOUND: Duration = Duration::from_millis(3_500);

/// One call of each kind.
fn calls(held: &ReservedJob) -> Vec<(&'static str, String, Value)> {
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

async fn call(client: &Client, method: &str, path: &str, body: &Value) -> (Answer, Took) {
    let request = client.request(method, path);
    let request = if body.is_null() { request } else { request.json(body.to_string()) };
    let begin = Instant::now();
    let answer = request.send().await;
    (answer, Took::since(begin))
}

/// Asserts that every call is refused in time, per item for arrays. Returns the values of `applied`.
async fn all_are_unavailable(client: &Client, held: &ReservedJob) -> Vec<Value> {
    let mut tasks = tokio::task::JoinSet::new();
    for (method, path, body) in calls(held) {
        let client = client.clone();
        tasks.spawn(async move {
            let (answer, took) = call(&client, method, &path, &body).await;
            let slow = (!took.is_within(ANSWER_BOUND)).then(|| format!("{method} {path} took {took:?}"));
            if body.is_array() {
                assert_contains(&answer.is(200)["jobs"][0]["error"], json!({ "status": 503 }));
                return (slow, answer.json()["jobs"][1]["error"]["applied"].clone());
            }
            assert_eq!(answer.status, 503, "{method} {path}: {}", answer.text());
            let problem = answer.refused("unavailable");
            let header: u64 = answer.header("retry-after").expect("a header").parse().expect("seconds");
            assert_eq!(header, problem["retry_after_ms"].as_u64().expect("ms").div_ceil(1_000));
            (slow, problem["applied"].clone())
        });
    }
    let (slow, claims): (Vec<_>, Vec<_>) = tasks.join_all().await.into_iter().unzip();
    let slow: Vec<_> = slow.into_iter().flatten().collect();
    assert!(slow.is_empty(), "answers within two seconds: {slow:#?}");
    claims
}

/// The service recovers soon, without help.
async fn assert_recovers(client: &Client) {
    let begin = Instant::now();
    let mut in_a_row = 0;
    eventually("the service recovers", async || {
        let answer = client.post("/jobs/reserve", json!({ "queues": ["nothing"] })).await;
        let is_well = answer.status == 200 && client.get("/readyz").await.status == 200;
        in_a_row = if is_well { in_a_row + 1 } else { 0 };
        (in_a_row > 8).then_some(())
    })
    .await;
    Took::since(begin).assert_within(Duration::from_secs(5), "the recovery");
}

#[tokio::test]
async fn calls_to_a_frozen_redis_report_applied_unknown() {
    let w = World::plan().own_process().with_default_redis_timeout().start().await;
    w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    w.engine.freeze();
    let claims = all_are_unavailable(&w, &held).await;
    assert!(claims.contains(&json!("unknown")), "{claims:?}");
    let second = all_are_unavailable(&w, &held).await;
    assert_eq!(second.len(), claims.len());
    let ready = w.get("/readyz").await;
    assert_eq!(ready.status, 503, "{}", ready.text());
    assert_eq!(w.get("/livez").await.status, 200);
    assert_eq!(w.get("/metrics").await.status, 200);
    w.engine.thaw();
    assert_recovers(&w).await;
    w.check().await;
}

#[tokio::test]
async fn calls_to_a_stopped_redis_report_not_applied() {
    let mut w = World::plan().with_default_redis_timeout().durable().start().await;
    let id = w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    w.engine.kill();
    all_are_unavailable(&w, &held).await;
    let claims = all_are_unavailable(&w, &held).await;
    assert!(claims.iter().all(|applied| applied == &json!(false)), "once the loss is known: {claims:?}");
    w.engine.revive().await;
    assert_recovers(&w).await;
    assert_contains(&w.job(&id).await, json!({ "state": "reserved", "reserved": { "worker": "ann" } }));
    w.extend(&held).await.is(200);
    w.complete(&held).await.is(200);
    w.check().await;
}

#[tokio::test]
async fn broken_connections_are_replaced() {
    let w = World::plan().with_proxy().start().await;
    for n in 0..5 {
        w.enqueue(n).await;
        w.proxy().cut_connections();
        assert_recovers(&w).await;
    }
    let waiting = w.queue().await["counts"]["waiting"].clone();
    w.proxy().set_fault(Fault::Refuse);
    w.proxy().cut_connections();
    let held = ReservedJob {
        id: "default-7ZZZZZZZZZZZZZZZZZZZZZZZZZ".into(),
        reservation: "default-7ZZZZZZZZZZZZZZZZZZZZZZZZZ.7ZZZZZZZZZZZZZZZZZZZZZZZZZ".into(),
        body: Value::Null,
    };
    all_are_unavailable(&w, &held).await;
    w.proxy().set_fault(Fault::None);
    assert_recovers(&w).await;
    assert_eq!((&w.queue().await["counts"]["waiting"], &waiting), (&json!(5), &json!(5)));
    w.check().await;
}

#[tokio::test]
async fn calls_succeed_a_second_after_redis_returns() {
    let mut w = World::plan().with_default_redis_timeout().durable().start().await;
    // All connections of the service are open.
    for n in 0..10 {
        w.enqueue(n).await;
    }
    for kind in ["killed", "frozen"] {
        if kind == "killed" {
            w.engine.kill();
            w.send_enqueue(json!({ "payload": "no" })).await.refused("unavailable");
            w.engine.revive().await;
        } else {
            w.engine.freeze();
            w.send_enqueue(json!({ "payload": "no" })).await.refused("unavailable");
            w.engine.thaw();
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        for n in 0..10 {
            let answer = w.send_enqueue(json!({ "payload": [kind, n] })).await;
            assert_eq!(answer.status, 201, "{kind}, call {n}: {}", answer.text());
        }
    }
    w.check().await;
}

#[tokio::test]
async fn many_calls_to_a_frozen_redis_are_answered_in_time() {
    let w = World::plan().with_default_redis_timeout().start().await;
    w.enqueue(1).await;
    w.engine.freeze();
    let mut crowd = tokio::task::JoinSet::new();
    for n in 0..200 {
        let client = (*w).clone();
        crowd.spawn(async move { call(&client, "POST", "/jobs", &json!({ "payload": n + 10 })).await });
    }
    for (answer, took) in crowd.join_all().await {
        assert_eq!(answer.status, 503);
        took.assert_within(ANSWER_BOUND, "the answer");
    }
    w.engine.thaw();
    assert_recovers(&w).await;
    w.check().await;
}

#[tokio::test]
async fn writes_return_503_while_redis_is_a_replica() {
    let w = World::plan().with_default_redis_timeout().start().await;
    let id = w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    w.enqueue(2).await;
    let _: String = w.engine.run("REPLICAOF 127.0.0.1 1").await;
    for (method, path, body) in calls(&held).into_iter().filter(|(method, ..)| *method != "GET") {
        let (answer, took) = call(&w, method, &path, &body).await;
        let problem =
            if body.is_array() { answer.is(200)["jobs"][0]["error"].clone() } else { answer.refused("unavailable") };
        assert_contains(&problem, json!({ "status": 503, "applied": false }));
        took.assert_within(ANSWER_BOUND, "the answer");
    }
    eventually("readiness fails", async || (w.get("/readyz?verbose").await.status == 503).then_some(())).await;
    let _: String = w.engine.run("REPLICAOF NO ONE").await;
    assert_recovers(&w).await;
    assert_eq!(w.state(&id).await, "reserved");
    w.complete(&held).await.is(200);
    w.check().await;
}

#[tokio::test]
async fn sweeper_survives_an_outage() {
    let mut w = World::plan().with_default_redis_timeout().durable().sweep_every(20).start().await;
    let id = w.enqueue(1).await;
    w.reserve().await;
    w.engine.kill();
    w.send_enqueue(json!({ "payload": 2 })).await.refused("unavailable");
    w.engine.revive().await;
    w.advance_clock(300_000);
    eventually("the job is ready again", async || {
        let answer = w.get(&format!("/jobs/{id}")).await;
        (answer.status == 200 && answer.json()["state"] == "waiting").then_some(())
    })
    .await;
    w.check().await;
}
