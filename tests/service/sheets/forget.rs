//! The lines of a worker are removed, unless they hold a job.

use serde_json::json;

use super::lines::lines;
use crate::world::{Client, World, access::key, keyspace::Keyspace, percent_encode};

async fn work(client: &Client, queue: &str, worker: &str) {
    client.send_enqueue(json!({ "queue": queue, "payload": 1, "dedupe": false })).await.is(201);
    let held = client.reserve_with(json!({ "queues": [queue], "worker": worker })).await;
    client.complete(&held).await.is(200);
}

async fn start() -> World {
    let w = World::plan()
        .own_process()
        .with_keys(&[("boss", "operator", "*"), ("texts", "operator", "texts*")])
        .start()
        .await;
    for queue in ["texts", "texts-2", "images", "plain"] {
        w.configure(queue, json!({ "sheets": queue != "plain" })).await;
        for worker in ["ann", "bob", "J. D\u{f6}e"] {
            work(&w, queue, worker).await;
        }
    }
    w
}

async fn workers(w: &Client, queue: &str) -> Vec<String> {
    let answer = w.get(&format!("/queues/{queue}/sheets")).await.is(200);
    let lines = answer["lines"].as_array().expect("lines");
    lines.iter().map(|line| line["worker"].as_str().expect("a name").to_owned()).collect()
}

#[tokio::test]
async fn lines_are_removed_in_all_queues_of_the_key() {
    let w = start().await;
    w.advance_clock(86_400_000);
    work(&w, "texts", "ann").await;
    let texts = w.with_credential(&key("texts"));
    // Nothing was read before, so the events are not counted yet.
    assert_eq!(texts.delete("/workers/ann").await.is(200)["removed"], 3);
    assert_eq!(workers(&w, "texts").await, ["J. D\u{f6}e", "bob"]);
    assert_eq!(workers(&w, "images").await, ["J. D\u{f6}e", "ann", "bob"]);
    let boss = w.with_credential(&key("boss"));
    assert_eq!(boss.delete("/workers/ann").await.is(200)["removed"], 1);
    assert_eq!(boss.delete("/workers/ann").await.is(200)["removed"], 0);
    let encoded = percent_encode("J. D\u{f6}e");
    assert_eq!(boss.delete(&format!("/workers/{encoded}")).await.is(200)["removed"], 3);
    assert_eq!(workers(&w, "texts-2").await, ["bob"]);
    assert!(w.service.output().contains("forget-worker"), "{}", w.service.output());
    for queue in ["texts", "texts-2", "images"] {
        let kept = Keyspace::read(&w.engine, queue).await;
        let holds =
            |name: &str| kept.hash("sheets").values().any(|value| String::from_utf8_lossy(value).contains(name));
        assert!(holds("bob") && !holds("ann") && !holds("D\u{f6}e"), "{queue}");
    }
    // A worker who comes back has a line again.
    work(&w, "texts", "ann").await;
    assert_eq!(workers(&w, "texts").await, ["bob", "ann"]);
    w.check().await;
}

#[tokio::test]
async fn worker_who_holds_a_job_is_not_forgotten() {
    let w = start().await;
    w.send_enqueue(json!({ "queue": "plain", "payload": 2 })).await.is(201);
    let held = w.reserve_with(json!({ "queues": ["plain"], "worker": "ann" })).await;
    let refused = w.delete("/workers/ann").await;
    assert_eq!((refused.status, refused.json()["job_state"].clone()), (409, json!("reserved")));
    refused.refused("wrong-state");
    assert!(workers(&w, "texts").await.contains(&"ann".to_owned()), "nothing was removed");
    // For a key of other queues that reservation does not count.
    assert_eq!(w.with_credential(&key("texts")).delete("/workers/ann").await.is(200)["removed"], 2);
    w.complete(&held).await.is(200);
    assert_eq!(w.delete("/workers/ann").await.is(200)["removed"], 1);
    w.check().await;
}

#[tokio::test]
async fn worker_who_can_take_a_completion_back_is_not_forgotten() {
    let w = start().await;
    w.stop_clock();
    for n in 0..3 {
        w.send_enqueue(json!({ "queue": "plain", "payload": n, "dedupe": false })).await.is(201);
        let held = w.reserve_with(json!({ "queues": ["plain"], "worker": if n == 1 { "ann" } else { "bob" } })).await;
        let undo_ms = if n == 1 { 3_000 } else { 2_000 };
        w.post("/jobs/complete", json!({ "reservation": held.reservation, "undo_ms": undo_ms })).await.is(200);
    }
    let refused = w.delete("/workers/ann").await;
    refused.wrong_state("reserved");
    let detail = refused.json()["detail"].to_string();
    assert!(detail.contains("take back a completion in the queue plain: try again in 3000 ms"), "{detail}");
    assert!(workers(&w, "texts").await.contains(&"ann".to_owned()), "nothing was removed");
    assert_eq!(w.with_credential(&key("texts")).delete("/workers/ann").await.is(200)["removed"], 2);
    w.advance_clock(2_999);
    w.delete("/workers/ann").await.wrong_state("reserved");
    w.advance_clock(2);
    w.post("/queues/plain/sweep", json!({})).await.is(200);
    assert_eq!(w.delete("/workers/ann").await.is(200)["removed"], 1);
    w.check().await;
}

#[tokio::test]
async fn work_during_a_removal_is_counted_whole() {
    let w = World::start().await;
    w.update_settings(json!({ "sheets": true, "worker_limit": 0 })).await;
    for n in 0..60 {
        work(&w, "default", "ann").await;
        w.send_enqueue(json!({ "payload": n, "dedupe": false })).await.is(201);
        let (removed, held) = tokio::join!(w.delete("/workers/ann"), w.reserve_as("ann"));
        assert!([200, 409].contains(&removed.status), "{removed:?}");
        w.complete(&held).await.is(200);
        let left = lines(&w, "").await;
        let counted = |name: &str| left[0][name].as_u64().expect("a count");
        assert_eq!(counted("handed_out"), counted("completed"), "{left:?}");
        w.delete("/workers/ann").await.is(200);
    }
    w.check().await;
}

#[tokio::test]
async fn removal_works_while_redis_is_full() {
    let w = World::start().await;
    w.update_settings(json!({ "sheets": true })).await;
    work(&w, "default", "ann").await;
    work(&w, "default", "bob").await;
    assert_eq!(lines(&w, "").await.len(), 2);
    let _: String = w.engine.run("CONFIG SET maxmemory 1").await;
    assert_eq!(w.delete("/workers/ann").await.is(200)["removed"], 1);
    let _: String = w.engine.run("CONFIG SET maxmemory 0").await;
    assert_eq!(lines(&w, "").await.len(), 1);
    w.check().await;
}

/// Nothing was read, so no line is there yet, and none can be added: it would come as soon as Redis has room.
#[tokio::test]
async fn removal_waits_for_work_that_a_full_redis_cannot_count() {
    let w = World::start().await;
    w.update_settings(json!({ "sheets": true })).await;
    w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    let _: String = w.engine.run("CONFIG SET maxmemory 1").await;
    w.complete(&held).await.is(200);
    w.delete("/workers/ann").await.refused("storage-full");
    assert_eq!(w.delete("/workers/bob").await.is(200)["removed"], 0, "who has done nothing");
    let _: String = w.engine.run("CONFIG SET maxmemory 0").await;
    assert_eq!(w.delete("/workers/ann").await.is(200)["removed"], 1);
    assert!(lines(&w, "").await.is_empty());
    w.check().await;
}

#[tokio::test]
async fn counting_at_the_same_time_brings_no_line_back() {
    let w = World::start().await;
    let (_second, other) = w.start_instance().await;
    w.update_settings(json!({ "sheets": true, "worker_limit": 0 })).await;
    for _ in 0..30 {
        work(&w, "default", "ann").await;
        lines(&w, "").await;
        work(&w, "default", "bob").await;
        let (removed, _, _) = tokio::join!(w.delete("/workers/ann"), lines(&other, ""), lines(&w, ""));
        removed.is(200);
        let left = lines(&other, "").await;
        assert!(left.len() == 1 && left[0]["worker"] == "bob", "{left:?}");
    }
    w.check().await;
}
