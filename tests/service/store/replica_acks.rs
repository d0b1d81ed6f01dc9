//! Changes acknowledged after replicas have them, while replicas are unavailable.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::json;

use crate::world::{Client, Engine, Service, Took, World, assert_contains, eventually, id_of, program, replica, run};

/// Redis ends its wait for a replica an eleventh of this before the service ends its own, and then says why.
const REDIS_TIMEOUT_MS: &str = "4400";
/// The bound of the contract, plus a margin for a machine that runs other tests.
const ANSWER_BOUND: Duration = Duration::from_millis(6_000);

/// A world whose changes wait for a replica, and that replica.
async fn with_a_replica() -> (World, Engine) {
    let w =
        World::plan().own_process().flag("--redis-timeout-ms", REDIS_TIMEOUT_MS).flag("--durability", "replicated:1");
    let w = w.start().await;
    let port = replica::open_port(&w.engine).await;
    let replica = replica::start(&w.engine, port, "replica").await;
    (w, replica)
}

#[tokio::test]
async fn unconfirmed_change_is_stored_once_and_reported_unknown() {
    let (w, replica) = with_a_replica().await;
    w.enqueue("before").await;
    replica.freeze();
    let job = json!({ "payload": "during" });
    let begin = Instant::now();
    let refusal = w.send_enqueue(job.clone()).await;
    Took::since(begin).assert_within(ANSWER_BOUND, "the answer");
    assert_eq!(refusal.status, 503, "{}", refusal.text());
    assert_contains(&refusal.refused("unavailable"), json!({ "applied": "unknown" }));
    assert!(refusal.text().contains("too few replicas"), "{}", refusal.text());

    // Reads and empty reserves wait for no replica.
    assert_eq!(w.queue().await["counts"]["waiting"], 2, "the primary has the change");
    assert_eq!(w.empty_reason(json!({ "queues": ["empty"] })).await, "empty");
    let again = w.send_enqueue(job.clone()).await;
    assert_eq!(again.status, 503, "a repeat changes nothing and is not confirmed either: {}", again.text());

    replica.thaw();
    let id = eventually("the replica confirms again", async || {
        let answer = w.send_enqueue(job.clone()).await;
        (answer.status == 200).then(|| id_of(&answer.json()))
    })
    .await;
    w.enqueue("after").await;
    assert_eq!(w.queue().await["counts"]["waiting"], 3, "each job once");
    assert_eq!(w.state(&id).await, "waiting");
    assert!(w.metric("intray_durability_wait_seconds_count").await >= 4.0);
    w.check().await;
}

#[tokio::test]
async fn calls_waiting_for_a_frozen_replica_end_in_time() {
    let (w, replica) = with_a_replica().await;
    replica.freeze();
    let calls = (0..60).map(|n| {
        let (client, queue) = ((*w).clone(), format!("q{n}"));
        async move {
            let begin = Instant::now();
            let answer = client.send_enqueue(json!({ "payload": n, "queue": queue })).await;
            (answer.status, Took::since(begin))
        }
    });
    for (status, took) in join_all(calls).await {
        assert_eq!(status, 503);
        took.assert_within(ANSWER_BOUND, "the answer");
    }
    replica.thaw();
    eventually("calls succeed again", async || {
        (w.send_enqueue(json!({ "payload": "more" })).await.status < 300).then_some(())
    })
    .await;
    w.check().await;
}

#[tokio::test]
async fn acknowledged_changes_are_on_the_replica_after_a_crash() {
    let (mut w, replica) = with_a_replica().await;
    let client: Client = (*w).clone();
    let load = tokio::spawn(async move {
        let mut ids = Vec::new();
        for n in 0.. {
            let calls = (0..8).map(|m| client.send_enqueue(json!({ "payload": [n, m], "queue": format!("q{m}") })));
            let answers = join_all(calls).await;
            ids.extend(answers.iter().filter(|answer| answer.status == 201).map(|answer| id_of(&answer.json())));
            if answers.iter().any(|answer| answer.status != 201) {
                break;
            }
        }
        ids
    });
    eventually("the callers are busy", async || {
        (w.metric("intray_durability_wait_seconds_count").await > 400.0).then_some(())
    })
    .await;
    w.engine.kill();
    let ids = load.await.expect("no panic");
    assert!(ids.len() > 100, "{}", ids.len());
    let _: String = replica.run("REPLICAOF NO ONE").await;
    let url = format!("unix://{}", replica.socket().display());
    let service = Service::start(program(["serve", "--listen", "127.0.0.1:0", "--redis-url", &url])).await;
    let client = Client::new(service.url());
    for (n, id) in ids.iter().enumerate() {
        let status = client.get(&format!("/jobs/{id}")).await.status;
        assert_eq!(status, 200, "job {n} of {} was acknowledged and is lost", ids.len());
    }
}

#[tokio::test]
async fn repetition_that_no_longer_fits_is_confirmed_too() {
    let (w, replica) = with_a_replica().await;
    w.enqueue(1).await;
    let held = w.reserve().await;
    replica.freeze();
    w.complete_with(&held, json!({})).await.refused("unavailable");
    let form = json!({ "type": "object", "properties": { "a": { "type": "boolean" } }, "required": ["a"] });
    w.patch("/queues/default", json!({ "result_schema": form })).await.refused("unavailable");
    let again = w.complete_with(&held, json!({})).await;
    assert_contains(&again.refused("unavailable"), json!({ "applied": "unknown" }));
    replica.thaw();
    eventually("the replica confirms again", async || {
        let again = w.complete_with(&held, json!({})).await;
        (again.status == 200).then(|| assert_eq!(again.json()["duplicate"], true))
    })
    .await;
    w.check().await;
}

/// The connection of the change is closed, and no other connection can ask for its confirmation.
#[tokio::test]
async fn connection_broken_during_the_wait_confirms_nothing() {
    let (w, replica) = with_a_replica().await;
    w.enqueue("before").await;
    replica.freeze();
    let client: Client = (*w).clone();
    let call = tokio::spawn(async move { client.send_enqueue(json!({ "payload": "during" })).await });
    let waiting = eventually("the call waits for a replica", async || {
        let list: String = w.engine.run("CLIENT LIST").await;
        let line = list.lines().find(|line| line.contains("cmd=wait"))?.to_owned();
        line.split(' ').find_map(|word| word.strip_prefix("id=").map(str::to_owned))
    })
    .await;
    let _: i64 = w.engine.run(&format!("CLIENT KILL ID {waiting}")).await;
    let answer = call.await.expect("no panic");
    assert_eq!(answer.status, 503, "{}", answer.text());
    assert_contains(&answer.refused("unavailable"), json!({ "applied": "unknown" }));
    replica.thaw();
    w.check().await;
}

#[tokio::test]
async fn primary_without_enough_replicas_applies_nothing() {
    let w = World::start().await;
    let _: String = w.engine.run("CONFIG SET min-replicas-to-write 1").await;
    let refusal = w.send_enqueue(json!({ "payload": 1 })).await;
    assert_eq!(refusal.status, 503, "{}", refusal.text());
    assert_contains(&refusal.refused("unavailable"), json!({ "applied": false }));
    let _: String = w.engine.run("CONFIG SET min-replicas-to-write 0").await;
    assert_eq!(w.enqueue(1).await.len(), "default-".len() + 26);
    w.check().await;
}

#[tokio::test]
async fn check_warns_about_losses_with_replicas() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = Engine::start(folder.path(), true).await;
    let url = format!("unix://{}", engine.socket().display());
    let check = async |level: &str| run(program(["check", "--redis-url", &url, "--durability", level])).await;
    let has_line = |end: &crate::world::Exit, line: &str| end.stdout.lines().any(|found| found.starts_with(line));
    let end = check("replicated:1").await;
    assert!(end.status.success() && has_line(&end, "warning  replicas: 0 replicas are connected"), "{end:?}");
    assert!(has_line(&end, "ok       durability") && has_line(&end, "ok       failover"), "{end:?}");

    let port = replica::open_port(&engine).await;
    let _replica = replica::start(&engine, port, "replica").await;
    let end = check("replicated:1").await;
    assert!(has_line(&end, "ok       replicas") && has_line(&end, "warning  failover: "), "{end:?}");
    assert!(end.stdout.contains("min-replicas-to-write"), "{end:?}");
    let _: String = engine.run("CONFIG SET min-replicas-to-write 1").await;
    assert!(has_line(&check("async").await, "ok       failover"));

    let end =
        run(program(["serve", "--listen", "127.0.0.1:0", "--durability", "replicated:1", "--data-dir", "unused"]))
            .await;
    assert!(!end.status.success() && end.stderr.contains("the private server has none"), "{end:?}");
    assert_eq!(end.stderr.trim().lines().count(), 1, "{end:?}");
}
