//! Who sees whose answer, and what a batch with an overlap shares with every other.

use serde_json::json;

use crate::{
    webhooks::line,
    world::{
        World,
        access::{SECRET, key, signed},
        assert_contains,
        batch_verbs::member_id,
        id_of,
        receiver::Receiver,
    },
};

const KEYS: [(&str, &str, &str); 3] = [("web", "producer", "*"), ("watch", "viewer", "*"), ("desk", "worker", "*")];

#[tokio::test]
async fn viewers_do_not_see_who_answered() {
    let w = World::plan().with_keys(&KEYS).start().await;
    let [web, watch, root] = ["web", "watch", "root"].map(|name| w.with_credential(&key(name)));
    let batch = web.create_batch(json!({ "overlap": 2, "job": { "payload": 1 } })).await;
    let plain = web.create_batch(json!({ "jobs": [{ "payload": 2 }] })).await;
    let held = w.with_credential(&key("desk")).reserve_with(json!({ "worker": "ann" })).await;
    web.with_credential(&key("desk")).complete_with(&held, json!({ "verdict": "cat" })).await.is(200);
    for (client, worker) in [(&web, json!("ann")), (&root, json!("ann")), (&watch, json!(null))] {
        let results = client.results(&batch, 10).await;
        assert_contains(&results[0], json!({ "state": "completed", "result": { "verdict": "cat" } }));
        assert_eq!(results[0]["completed"]["worker"], worker);
        assert!(results[0]["completed"]["held_ms"].is_u64());
        assert_eq!(results[1]["completed"], json!(null));
    }
    let held = w.with_credential(&key("desk")).reserve_with(json!({ "worker": "ann" })).await;
    web.with_credential(&key("desk")).complete(&held).await.is(200);
    assert_eq!(watch.results(&plain, 10).await[0]["completed"]["worker"], "ann", "other batches hide nothing");
    w.check().await;
}

#[tokio::test]
async fn no_page_sees_the_answer_of_another() {
    let w = World::plan().with_keys(&KEYS).flag("--token-secret", SECRET).start().await;
    let web = w.with_credential(&key("web"));
    let batch = web.create_batch(json!({ "overlap": 2, "job": { "payload": 1 } })).await;
    let [ann, bob] = ["ann", "bob"].map(|name| w.with_credential(&signed(SECRET, json!({ "sub": name }))));
    let held = ann.reserve_with(json!({ "queues": ["default"] })).await;
    let draft = json!({ "reservation": held.reservation, "draft": { "verdict": "a secret" } });
    ann.post("/jobs/extend", draft).await.is(200);
    let own = bob.reserve_with(json!({ "queues": ["default"] })).await;
    assert!(!own.body.to_string().contains("a secret"), "{}", own.body);
    ann.complete_with(&held, json!({ "verdict": "a secret" })).await.is(200);
    let first = member_id(&batch, 0);
    for path in [
        format!("/jobs/{first}"),
        format!("/jobs/{first}/events"),
        format!("/batches/{batch}"),
        format!("/batches/{batch}/results"),
        "/batches".into(),
        "/queues/default/jobs".into(),
        "/queues/default/jobs?state=completed".into(),
        "/queues/default/jobs/ended".into(),
        "/queues/default/events".into(),
        "/events".into(),
    ] {
        let answer = bob.get(&path).await;
        assert!(matches!(answer.status, 403 | 404), "{path}: {}", answer.text());
        assert!(!answer.text().contains("a secret"), "{path}: {}", answer.text());
    }
    bob.complete_with(&own, json!({ "verdict": "another" })).await.is(200);
    assert_eq!(web.batch(&batch).await["state"], "completed");
    w.check().await;
}

#[tokio::test]
async fn batch_with_an_overlap_is_sealed() {
    let w = World::start().await;
    let batch = w.create_batch(json!({ "overlap": 2, "job": { "payload": 1 } })).await;
    w.append(&batch, &[json!({ "payload": 2 })]).await.refused("wrong-state");
    assert_eq!(w.seal(&batch).await.is(200)["state"], "sealed");
    w.check().await;
}

#[tokio::test]
async fn enough_answers_cancel_the_rest_and_holders_may_finish() {
    let w = World::start().await;
    let batch = w.create_batch(json!({ "overlap": 4, "job": { "payload": 1 } })).await;
    for worker in ["ann", "bob"] {
        let held = w.reserve_as(worker).await;
        w.complete_with(&held, json!({ "verdict": "cat" })).await.is(200);
    }
    let held = w.reserve_as("cleo").await;
    w.cancel_batch(&batch).await.is(200);
    assert_eq!(w.empty_reason(json!({ "worker": "dan" })).await, "reserved");
    w.complete_with(&held, json!({ "verdict": "dog" })).await.is(200);
    let batch = w.batch(&batch).await;
    assert_contains(&batch, json!({ "state": "cancelled", "counts": { "completed": 3, "cancelled": 1 } }));
    w.check().await;
}

#[tokio::test]
async fn parts_are_forgotten_with_the_batch() {
    let w = World::start().await;
    w.update_settings(json!({ "retention_ms": 10_000 })).await;
    let batch = w.create_batch(json!({ "overlap": 2, "job": { "payload": 1 } })).await;
    for worker in ["ann", "bob"] {
        w.complete(&w.reserve_as(worker).await).await.is(200);
    }
    w.check().await;
    w.advance_clock(10_001);
    w.sweep_until("the batch is gone", async || w.get(&format!("/batches/{batch}")).await.status == 404).await;
    w.check().await;
}

#[tokio::test]
async fn webhook_names_the_batch_of_an_answer() {
    let receiver = Receiver::start().await;
    let w = World::plan().with_webhooks([line("shop", &receiver, "*", "completed,batch-completed")]).start().await;
    let batch = id_of(&w.post("/batches", json!({ "overlap": 2, "job": { "payload": 1 } })).await.is(201));
    for worker in ["ann", "bob"] {
        w.complete_with(&w.reserve_as(worker).await, json!({ "by": worker })).await.is(200);
    }
    let posted = receiver.wait_for(3).await;
    let answers: Vec<_> = posted.iter().filter(|posted| posted.kind() == "job.completed").collect();
    assert_eq!(answers.len(), 2);
    for answer in answers {
        assert_eq!(answer.body["data"]["batch"], json!(batch));
        assert_eq!(answer.body["data"]["result"]["by"], answer.body["data"]["worker"]);
    }
    w.check().await;
}
