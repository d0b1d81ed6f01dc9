//! What is delivered: each event of a webhook's types and queues, once, signed, with the job.

use std::{collections::BTreeSet, ffi::OsString, time::Duration};

use intray::{config, service};
use serde_json::{Value, json};
use tokio::runtime;
use tokio_util::sync::CancellationToken;

use crate::{
    webhooks::{OTHER_SECRET, SECRET, line},
    world::{World, assert_contains, eventually, id_of, receiver::Receiver},
};

#[tokio::test]
async fn completion_arrives_signed_with_payload_and_result() {
    let receiver = Receiver::start().await;
    let w = World::plan().with_webhooks([line("shop", &receiver, "*", "completed")]).start().await;
    let id = w.enqueue_with(json!({ "payload": { "text": "x" }, "client": "acme" })).await;
    let held = w.reserve_as("ann").await;
    w.complete_with(&held, json!({ "verdict": "fine" })).await.is(200);
    let posted = receiver.wait_for(1).await.remove(0);
    assert_contains(
        &posted.body,
        json!({ "type": "job.completed", "data": {
            "queue": "default", "id": id, "state": "completed", "worker": "ann", "client": "acme", "batch": null, "late": false,
            "payload": { "text": "x" }, "result": { "verdict": "fine" },
        } }),
    );
    assert!(posted.is_signed_by(SECRET) && posted.id.len() == 30, "{posted:?}");
    assert!(posted.body["data"]["held_ms"].is_u64() && posted.body["data"].get("reason").is_none(), "{posted:?}");
}

#[tokio::test]
async fn only_listed_types_and_matching_queues_are_delivered() {
    let receiver = Receiver::start().await;
    let lines = [line("shop", &receiver, "reviews*", "cancelled,dead,batch-completed")];
    let w = World::plan().with_webhooks(lines).start().await;
    let enqueue = async |queue: &str| w.enqueue_with(json!({ "queue": queue, "payload": 1, "dedupe": false })).await;
    let (other, cancelled) = (enqueue("other").await, enqueue("reviews").await);
    enqueue("reviews").await;
    w.cancel(&other).await.is(200);
    w.cancel(&cancelled).await.is(200);
    // A queue that is born after the webhook.
    let batch = json!({ "queue": "reviews-de", "jobs": [{ "payload": 1 }] });
    let batch = id_of(&w.post("/batches", batch).await.is(201));
    let held = w.reserve_with(json!({ "queues": ["reviews-de"] })).await;
    w.complete(&held).await.is(200);
    let posted = receiver.wait_for(2).await;
    let by_kind = |kind: &str| posted.iter().find(|posted| posted.kind() == kind).expect(kind).body["data"].clone();
    assert_contains(&by_kind("job.cancelled"), json!({ "id": cancelled, "state": "cancelled", "payload": 1 }));
    let ended = json!({ "id": batch, "batch": batch, "state": "completed", "queue": "reviews-de" });
    assert_contains(&by_kind("batch.completed"), ended);
    assert_eq!(posted.len(), 2, "{posted:?}");
}

#[tokio::test]
async fn each_webhook_gets_the_events_of_its_own_queues() {
    let (texts, images) = (Receiver::start().await, Receiver::start().await);
    let lines = [line("texts", &texts, "texts", "enqueued"), line("images", &images, "images*", "enqueued")];
    let w = World::plan().with_webhooks(lines).start().await;
    let enqueue = async |queue: &str| w.enqueue_with(json!({ "queue": queue, "payload": 1, "dedupe": false })).await;
    for queue in ["texts", "images-de", "texts", "images-fr"] {
        enqueue(queue).await;
    }
    let queues = |receiver: &Receiver| -> BTreeSet<String> {
        receiver
            .posted()
            .iter()
            .map(|posted| posted.body["data"]["queue"].as_str().expect("a queue").to_owned())
            .collect()
    };
    texts.wait_for(2).await;
    images.wait_for(2).await;
    let waiting = async || w.get("/webhooks").await.is(200).to_string().matches(r#""waiting":0"#).count() == 2;
    eventually("all are taken", async || waiting().await.then_some(())).await;
    assert_eq!(queues(&texts), BTreeSet::from(["texts".to_owned()]));
    assert_eq!(queues(&images), BTreeSet::from(["images-de", "images-fr"].map(str::to_owned)));
    assert_eq!((texts.posted().len(), images.posted().len()), (2, 2));
}

#[tokio::test]
async fn audit_webhook_gets_every_event_with_the_key_that_acted() {
    let receiver = Receiver::start().await;
    let keys = [("boss", "operator", "*")];
    let w = World::plan().with_keys(&keys).with_webhooks([line("audit", &receiver, "*", "all")]).start().await;
    let id = w.enqueue("x").await;
    w.reserve().await;
    let boss = w.with_credential(&crate::world::access::key("boss"));
    boss.release(&id).await;
    boss.update_settings(json!({ "paused": true })).await;
    let posted = receiver.wait_for(4).await;
    let acts: BTreeSet<_> = posted
        .iter()
        .map(|posted| (posted.kind().to_owned(), posted.body["data"]["by"].as_str().map(str::to_owned)))
        .collect();
    let acts: Vec<_> = acts.iter().map(|(kind, by)| (kind.as_str(), by.as_deref())).collect();
    let boss = Some("boss");
    assert_eq!(
        acts,
        [("job.enqueued", None), ("job.released", boss), ("job.reserved", None), ("queue.paused", boss)],
        "{posted:?}"
    );
    let paused = posted.iter().find(|posted| posted.kind() == "queue.paused").expect("it");
    assert_contains(&paused.body["data"], json!({ "queue": "default", "id": null, "state": null }));
}

#[tokio::test]
async fn event_is_delivered_from_the_moment_the_service_says_it_is_ready() {
    let (receiver, w) = (Receiver::start().await, World::start().await);
    let file = w.folder().join("webhooks");
    std::fs::write(&file, line("shop", &receiver, "*", "enqueued")).expect("a file");
    let [redis, file] = [w.engine.url(), file.display().to_string()];
    let flags =
        ["--listen", "127.0.0.1:0", "--redis-url", &redis, "--webhooks-file", &file, "--redis-timeout-ms", "30000"];
    // This runtime has one thread, so no task of the service runs before the event.
    let enqueue_first = |_: &str| {
        let (w, alone) = (&w, || runtime::Builder::new_current_thread().enable_all().build().expect("a runtime"));
        std::thread::scope(|scope| scope.spawn(|| alone().block_on(w.enqueue("x"))).join()).expect("a job");
        w.advance_clock(1_000);
    };
    let stop = CancellationToken::new();
    let host = service::Host { announce: enqueue_first, drain: Duration::ZERO };
    let flags = config::Serve::from_flags(flags.map(OsString::from)).expect("flags");
    let posted = tokio::select! {
        ended = service::serve(flags, host, stop.cancelled()) => panic!("{ended:?}"),
        posted = receiver.wait_for(1) => posted,
    };
    assert_eq!(posted[0].kind(), "job.enqueued");
}

#[tokio::test]
async fn large_content_is_left_out_and_marked_truncated() {
    let receiver = Receiver::start().await;
    let w = World::plan().with_webhooks([line("shop", &receiver, "*", "completed")]).start().await;
    for (payload, result) in [(40_000, 20_000), (40_000, 30_000)] {
        w.enqueue("x".repeat(payload)).await;
        let held = w.reserve().await;
        w.complete_with(&held, "y".repeat(result)).await.is(200);
    }
    let posted = receiver.wait_for(2).await;
    let whole = posted.iter().find(|posted| posted.body["data"].get("truncated").is_none()).expect("one");
    assert_eq!(whole.body["data"]["result"], "y".repeat(20_000));
    let cut = posted.iter().find(|posted| posted.body["data"]["truncated"] == true).expect("one");
    assert!(cut.body["data"].get("payload").is_none() && cut.body["data"].get("result").is_none(), "{cut:?}");
}

#[tokio::test]
async fn both_secrets_sign_while_one_replaces_the_other() {
    let receiver = Receiver::start().await;
    let line = format!("{} {OTHER_SECRET}", line("shop", &receiver, "*", "completed"));
    let w = World::plan().with_webhooks([line]).start().await;
    w.enqueue("x").await;
    w.complete(&w.reserve().await).await.is(200);
    let posted = receiver.wait_for(1).await.remove(0);
    let [new, old] = [SECRET, OTHER_SECRET].map(|secret| posted.is_signed_by(secret));
    assert!(new && old && posted.signature.split(' ').count() == 2, "{posted:?}");
}

#[tokio::test]
async fn thousand_ends_on_two_instances_arrive_once_each() {
    let receiver = Receiver::start().await;
    let w = World::plan().with_webhooks([line("shop", &receiver, "*", "completed")]).start().await;
    let (_other, client) = w.start_instance().await;
    let mut ids = BTreeSet::new();
    for round in 0..10 {
        let jobs = (0..100).map(|n| json!({ "payload": round * 100 + n }));
        ids.extend(w.enqueue_many(jobs).await);
        let on = if round % 2 == 0 { &client } else { &*w };
        let held = on.reserve_all(json!({ "limit": 100 })).await;
        let done: Vec<Value> = held.iter().map(|held| json!({ "reservation": held.reservation })).collect();
        on.post("/jobs/complete", json!(done)).await.is(200);
    }
    receiver.wait_for(1_000).await;
    let waiting = async || w.get("/webhooks").await.is(200)["webhooks"][0]["waiting"] == 0;
    eventually("all are delivered", async || waiting().await.then_some(())).await;
    let posted = receiver.posted();
    assert_eq!(posted.iter().map(|posted| posted.job().to_owned()).collect::<BTreeSet<_>>(), ids);
    assert_eq!((posted.len(), receiver.counts().len()), (1_000, 1_000), "each once, under an id of its own");
}
