//! Redis at its memory limit, and Redis with a broken library or key.

use futures_util::future::join_all;
use serde_json::json;

use crate::world::{Client, Service, World, eventually, id_of, program};

#[tokio::test]
async fn full_redis_refuses_only_calls_that_add_data() {
    let w = World::start().await;
    w.update_settings(json!({ "worker_limit": 0 })).await;
    w.enqueue_many((0..8).map(|n| json!({ "payload": n, "max_attempts": if n == 3 { 1 } else { 0 } }))).await;
    let held = w.reserve_all(json!({ "worker": "ann", "limit": 5 })).await;
    let before: Vec<u8> = w.engine.run("DUMP intray:{default}:2:jobs").await;
    let _: String = w.engine.run("CONFIG SET maxmemory 1").await;

    for job in [
        json!({ "payload": "no" }),
        json!({ "payload": "x".repeat(100_000) }),
        json!({ "payload": 1, "queue": "unheard-of" }),
    ] {
        let refusal = w.send_enqueue(job).await;
        assert_eq!(refusal.status, 507, "{}", refusal.text());
        assert_eq!(
            refusal.refused("storage-full")["detail"],
            "Redis's memory is used up to `maxmemory`; nothing was stored"
        );
    }
    let array = w.post("/jobs", json!([{ "payload": "a" }, { "payload": "b" }])).await.is(200);
    assert!(array["jobs"].as_array().expect("jobs").iter().all(|entry| entry["error"]["status"] == 507), "{array}");
    let after: Vec<u8> = w.engine.run("DUMP intray:{default}:2:jobs").await;
    assert_eq!(before, after, "nothing is stored");

    let large = w.complete_with(&held[0], "x".repeat(5_000)).await;
    assert_eq!(large.status, 507, "{}", large.text());
    assert_eq!(w.extend(&held[0]).await.is(200)["state"], "reserved", "the reservation is unchanged");
    assert_eq!(w.complete_with(&held[0], "x".repeat(4_000)).await.is(200)["state"], "completed");
    assert_eq!(w.abandon(&held[1]).await.is(200)["state"], "waiting");
    assert_eq!(w.fail(&held[2]).await.is(200)["state"], "waiting");
    assert_eq!(w.fail(&held[3]).await.is(200)["state"], "dead");
    assert_eq!(w.abandon_with_delay(&held[4], 1_000).await.is(200)["state"], "delayed");
    let taken = w.reserve_as("bob").await;
    assert_eq!(w.release(&taken.id).await, 1);
    let taken = w.reserve_as("bob").await;
    w.advance_clock(300_000);
    let swept = w.sweep().await;
    assert_eq!((&swept["expired"], &swept["due"]), (&json!(1), &json!(1)));
    assert_eq!(w.complete(&taken).await.is(200)["late"], true);
    assert_eq!(w.requeue_all().await, 1);
    w.cancel(&id_of(&w.get("/queues/default/jobs").await.is(200)["jobs"][0])).await.is(200);
    w.set_priority(&id_of(&w.get("/queues/default/jobs").await.is(200)["jobs"][0]), 1).await.is(200);
    let mut left = 0;
    while !w.send_reserve(json!({})).await.is(200)["jobs"].as_array().expect("jobs").is_empty() {
        left += 1;
    }
    assert!(left > 0);
    assert_eq!(w.delete("/queues/default?state=all&force=true").await.is(200)["more"], false);

    let _: String = w.engine.run("CONFIG SET maxmemory 0").await;
    w.enqueue("yes").await;
    w.check().await;
}

#[tokio::test]
async fn full_private_server_still_completes_its_jobs() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().to_str().expect("UTF-8");
    let args = ["serve", "--listen", "127.0.0.1:0", "--max-memory", "30M", "--data-dir", data];
    let service = Service::start(program(args)).await;
    let client = Client::new(service.url());
    let (mut stored, payload) = (0, "x".repeat(200_000));
    let refusal = loop {
        let answer = client.send_enqueue(json!({ "payload": payload, "dedupe": false })).await;
        if answer.status != 201 {
            break answer;
        }
        stored += 1;
        assert!(stored < 200, "not all of 40 MB fit into 30 MB");
    };
    assert_eq!(refusal.status, 507, "{}", refusal.text());
    assert!(stored > 50, "{stored} jobs of 200 KB fit into 30 MB");
    for _ in 0..3 {
        let held = client.reserve().await;
        client.extend(&held).await.is(200);
        client.complete_with(&held, "done").await.is(200);
    }
    assert_eq!(client.get("/readyz").await.status, 200);
}

#[tokio::test]
async fn flushed_library_is_loaded_again() {
    let w = World::start().await;
    let id = w.enqueue(1).await;
    let held = w.reserve().await;
    for step in 0..4 {
        let _: String = w.engine.run("SCRIPT FLUSH").await;
        let _: String = w.engine.run("FUNCTION FLUSH").await;
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
async fn repeated_library_deletion_fails_no_call() {
    let w = World::start_process().await;
    for n in 0..50 {
        let crowd = (0..8).map(|m| w.send_enqueue(json!({ "payload": [n, m] })));
        let (answers, flushed) = tokio::join!(join_all(crowd), w.engine.run::<String>("FUNCTION FLUSH"));
        assert_eq!(flushed, "OK");
        assert!(answers.iter().all(|answer| answer.status == 201), "{answers:?}");
    }
    assert_eq!(w.queue().await["counts"]["waiting"], 400);
    let logged = w.service.output();
    assert!(!logged.contains("a script failed") && !logged.contains("does not take the library"), "{logged}");
    w.check().await;
}

async fn libraries(w: &World) -> usize {
    w.engine.run::<Vec<redis::Value>>("FUNCTION LIST").await.len()
}

#[tokio::test]
async fn new_version_without_memory_for_its_library_uses_scripts() {
    let w = World::start_process().await;
    w.enqueue_many((0..3).map(|n| json!({ "payload": n }))).await;
    let _: String = w.engine.run("FUNCTION FLUSH").await;
    let _: String = w.engine.run("CONFIG SET maxmemory 1").await;
    let (service, new) = w.start_instance().await;
    let held = new.reserve().await;
    new.extend(&held).await.is(200);
    new.complete_with(&held, "done").await.is(200);
    new.abandon(&new.reserve().await).await.is(200);
    new.send_enqueue(json!({ "payload": "no" })).await.refused("storage-full");
    assert_eq!(libraries(&w).await, 0);
    let logged = |what: &str| service.output().lines().filter(|line| line.contains(what)).count();
    assert_eq!(logged("Redis does not take the library of functions"), 1, "{}", service.output());

    let _: String = w.engine.run("CONFIG SET maxmemory 0").await;
    eventually("the library is loaded", async || (logged("Redis takes the library of functions") == 1).then_some(()))
        .await;
    assert_eq!(libraries(&w).await, 1);
    let _: String = w.engine.run("CONFIG RESETSTAT").await;
    new.complete(&new.reserve().await).await.is(200);
    let calls = w.engine.calls().await;
    assert!(calls.contains_key("fcall") && !calls.contains_key("evalsha"), "{calls:?}");
    w.check().await;
}

#[tokio::test]
async fn broken_key_affects_only_its_queue() {
    let w = World::start().await;
    let _: String = w.engine.run("SET intray:{default}:2:inbound nonsense").await;
    let fault = w.send_enqueue(json!({ "payload": 1 })).await;
    assert_eq!(fault.status, 500, "{}", fault.text());
    let problem = fault.refused("internal");
    assert!(!problem.to_string().contains("WRONGTYPE"), "internal errors are not shown: {problem}");
    w.enqueue_with(json!({ "queue": "other", "payload": 1 })).await;
    for key in ["inbound", "jobs", "dedupe", "turns", "totals"] {
        let _: u64 = w.engine.run(&format!("DEL intray:{{default}}:2:{key}")).await;
    }
    w.enqueue(1).await;
}

/// The script writes before it meets the broken key, and its writes stay.
#[tokio::test]
async fn script_that_fails_after_a_write_reports_unknown() {
    let w = World::start().await;
    let _: String = w.engine.run("SET intray:{default}:2:events nonsense").await;
    let fault = w.send_enqueue(json!({ "payload": 1 })).await;
    assert_eq!(fault.status, 500, "{}", fault.text());
    assert_eq!(fault.refused("internal")["applied"], "unknown");
    let array = w.post("/jobs", json!([{ "payload": 2 }])).await.is(200);
    assert_eq!(array["jobs"][0]["error"]["applied"], "unknown", "{array}");
    assert_eq!(w.list_ids("waiting").await.len(), 2, "both jobs are stored");

    let _: u64 = w.engine.run("DEL intray:{default}:2:events").await;
    w.check().await;
}

#[tokio::test]
async fn failed_read_of_a_broken_key_reports_not_applied() {
    let w = World::start().await;
    let id = w.enqueue(1).await;
    let _: u64 = w.engine.run("DEL intray:{default}:2:live").await;
    let _: String = w.engine.run("SET intray:{default}:2:live nonsense").await;
    for path in [format!("/jobs/{id}"), "/queues/default/jobs".to_owned()] {
        let fault = w.get(&path).await;
        assert_eq!(fault.status, 500, "{}", fault.text());
        assert_eq!(fault.refused("internal")["applied"], false);
    }
    let _: u64 = w.engine.run("DEL intray:{default}:2:live").await;
    w.check().await;
}
