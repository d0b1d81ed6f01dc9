//! The list of operators' actions: what is in it, who reads it, how far back it goes.

use serde_json::{Value, json};

use crate::world::{Client, World, access::key, assert_contains, id_of};

async fn listed(client: &Client, query: &str) -> (Vec<Value>, Value) {
    let page = client.get(&format!("/queues/default/actions{query}")).await.is(200);
    (page["actions"].as_array().expect("a list").clone(), page["next"].clone())
}

async fn guarded() -> World {
    let webhook = format!("shop http://127.0.0.1:1/ * completed {}", crate::webhooks::SECRET);
    let keys = [("ops", "operator", "*"), ("boss", "operator", "*"), ("web", "producer", "*"), ("eye", "viewer", "*")];
    let w = World::plan().own_process().with_keys(&keys).with_webhooks([webhook]).start().await;
    w.stop_clock();
    w
}

/// Enqueues a job that fails at once.
async fn dead(w: &World) -> String {
    let id = w.enqueue_with(json!({ "payload": 1, "dedupe": false, "max_attempts": 1 })).await;
    w.fail(&w.reserve_with(json!({ "id": id })).await).await.is(200);
    id
}

#[tokio::test]
async fn actions_of_operators_are_listed_with_their_keys() {
    let w = guarded().await;
    let (ops, producer) = (w.with_credential(&key("ops")), w.with_credential(&key("web")));
    let id = dead(&w).await;
    let (by_producer, waiting) = (w.enqueue(2).await, w.enqueue(3).await);
    let batch = id_of(&w.post("/batches", json!({ "sealed": false, "jobs": [{ "payload": 4 }] })).await.is(201));
    producer.delete(&format!("/jobs/{by_producer}")).await.is(200);
    ops.post("/jobs/requeue", json!({ "id": id })).await.is(200);
    ops.patch(&format!("/jobs/{id}"), json!({ "priority": 3 })).await.is(200);
    w.reserve_with(json!({ "id": id, "worker": "ann" })).await;
    ops.post("/jobs/release", json!({ "queue": "default", "worker": "ann" })).await.is(200);
    ops.post("/jobs/reprioritize", json!({ "queue": "default", "priority": 7 })).await.is(200);
    ops.delete(&format!("/jobs/{waiting}")).await.is(200);
    ops.delete(&format!("/batches/{batch}")).await.is(200);
    dead(&w).await;
    ops.delete("/queues/default?state=dead").await.is(200);
    w.enqueue_with(json!({ "payload": 5, "assignees": ["bob"] })).await;
    ops.post("/jobs/reassign", json!({ "queue": "default", "from": "bob", "to": ["cleo"] })).await.is(200);
    let (found, next) = listed(&w.with_credential(&key("eye")), "").await;
    let expected = [
        json!({ "action": "reassign", "count": 1, "parameters": { "from": "bob", "to": ["cleo"] } }),
        json!({ "action": "purge", "count": 1, "parameters": { "state": "dead" }, "job": null }),
        json!({ "action": "cancel", "batch": batch, "job": null }),
        json!({ "action": "cancel", "job": waiting, "batch": null }),
        json!({ "action": "reprioritize", "count": 3, "parameters": { "priority": 7 } }),
        json!({ "action": "release", "count": 1, "parameters": { "worker": "ann" } }),
        json!({ "action": "reprioritize", "count": 1, "job": id, "parameters": { "priority": 3 } }),
        json!({ "action": "requeue", "count": 1, "job": id, "parameters": {} }),
    ];
    assert_eq!((found.len(), &next), (expected.len(), &Value::Null), "{found:?}");
    for (action, expected) in found.iter().zip(expected) {
        assert_contains(action, expected);
        assert_eq!((&action["by"], &action["settings"]), (&json!("ops"), &json!([])));
    }
    w.check().await;
}

#[tokio::test]
async fn changed_settings_are_listed_before_and_after() {
    let w = guarded().await;
    let ops = w.with_credential(&key("ops"));
    let boss = w.with_credential(&key("boss"));
    ops.configure("default", json!({ "paused": true, "lease_ms": 5_000 })).await;
    ops.configure("default", json!({ "paused": true })).await;
    let backoff = json!({ "type": "fixed", "delay_ms": 10, "max_ms": null });
    boss.configure("default", json!({ "paused": null, "lease_ms": 6_000, "backoff": backoff })).await;
    let (found, _) = listed(&w, "").await;
    assert_eq!(found.len(), 2, "a call that changes nothing is not listed: {found:?}");
    assert_contains(&found[0], json!({ "action": "configure", "by": "boss", "count": 1, "parameters": {} }));
    assert_eq!(
        found[0]["settings"],
        json!([
            { "name": "paused", "from": true, "to": null },
            { "name": "lease_ms", "from": 5_000, "to": 6_000 },
            { "name": "backoff", "from": null, "to": backoff },
        ])
    );
    let first =
        json!([{ "name": "paused", "from": null, "to": true }, { "name": "lease_ms", "from": null, "to": 5_000 }]);
    assert_contains(&found[1], json!({ "by": "ops", "settings": first }));
    w.check().await;
}

#[tokio::test]
async fn steps_of_an_action_are_one_entry_for_a_minute() {
    let mut w = guarded().await;
    let ops = w.with_credential(&key("ops"));
    for _ in 0..3 {
        w.enqueue_many((0..10).map(|_| json!({ "payload": 1, "dedupe": false }))).await;
        w.advance_clock(1_000);
        ops.delete("/queues/default?state=waiting").await.is(200);
    }
    let (found, _) = listed(&w, "").await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert_contains(&found[0], json!({ "action": "purge", "count": 30, "by": "ops" }));
    assert!(found[0]["began_at"].as_str() < found[0]["at"].as_str(), "{found:?}");
    for client in [&w.with_credential(&key("boss")), &ops, &ops] {
        w.enqueue(1).await;
        w.advance_clock(60_000);
        client.delete("/queues/default?state=waiting").await.is(200);
    }
    let by = |found: Vec<Value>| found.into_iter().map(|action| action["by"].clone()).collect::<Vec<_>>();
    assert_eq!(by(listed(&w, "").await.0), ["ops", "ops", "boss", "ops"]);
    w.service.kill();
    w.restart().await;
    let (page, next) = listed(&w, "?limit=2").await;
    assert_eq!((by(page), &next), (["ops", "ops"].map(Value::from).to_vec(), &json!("3")));
    assert_eq!(by(listed(&w, "?after=3").await.0), ["boss", "ops"], "the list outlives the service");
    w.get("/queues/default/actions?after=x").await.refused("invalid-request");
    w.check().await;
}

#[tokio::test]
async fn oldest_actions_are_dropped_beyond_a_thousand() {
    let w = World::start().await;
    w.configure("default", json!({ "lease_ms": 5_000 })).await;
    let _: i64 = w.engine.run("HSET intray:{default}:2:actions last 1000 1000 none").await;
    w.configure("default", json!({ "lease_ms": 6_000 })).await;
    let kept: Vec<String> = w.engine.run("HKEYS intray:{default}:2:actions").await;
    assert!(!kept.contains(&"1".to_owned()) && kept.contains(&"1001".to_owned()), "{kept:?}");
    let (found, next) = listed(&w, "?limit=1").await;
    assert_contains(&found[0], json!({ "by": null, "settings": [{ "name": "lease_ms", "from": 5_000, "to": 6_000 }] }));
    assert_eq!(next, "1001");
    w.check().await;
}
