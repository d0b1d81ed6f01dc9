//! A name goes out of every place in which Redis has it.

use std::collections::{BTreeMap, BTreeSet};

use intray::store::NAME_PLACES;
use serde_json::{Value, json};

use crate::{
    webhooks::line,
    world::{ReservedJob, World, assert_contains, eventually, receiver::Receiver},
};

const NAME: &str = "zoe-quill";
const CALL: &str = "/workers/zoe-quill";
const TEN_MINUTES: u64 = 600_000;

type Bytes = Vec<u8>;

fn holds(bytes: &[u8]) -> bool {
    bytes.windows(NAME.len()).any(|part| part == NAME.as_bytes())
}

/// The keys of Redis that hold the name, without their prefixes.
async fn keys_with_name(w: &World) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for key in w.engine.run::<Vec<String>>("KEYS *").await {
        let kind: String = w.engine.run(&format!("TYPE {key}")).await;
        let parts: Vec<Bytes> = match kind.as_str() {
            "string" => vec![w.engine.run(&format!("GET {key}")).await],
            "hash" => {
                let fields: BTreeMap<Bytes, Bytes> = w.engine.run(&format!("HGETALL {key}")).await;
                fields.into_iter().flat_map(|(field, value)| [field, value]).collect()
            }
            "zset" => w.engine.run(&format!("ZRANGE {key} 0 -1")).await,
            "stream" => {
                let entries: Vec<(String, Vec<Bytes>)> = w.engine.run(&format!("XRANGE {key} - +")).await;
                entries.into_iter().flat_map(|(_, fields)| fields).collect()
            }
            _ => Vec::new(),
        };
        if holds(key.as_bytes()) || parts.iter().any(|part| holds(part)) {
            found.insert(key.rsplit(':').next().unwrap_or_default().to_owned());
        }
    }
    found
}

async fn job(w: &World, queue: &str, more: Value) -> String {
    let mut job = json!({ "queue": queue, "payload": 1, "dedupe": false });
    job.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    w.enqueue_with(job).await
}

async fn take(w: &World, queue: &str, worker: &str) -> ReservedJob {
    w.reserve_with(json!({ "queues": [queue], "worker": worker })).await
}

/// A worker takes the first job of a queue, and settles it.
async fn settle(w: &World, queue: &str, worker: &str, how: &str, more: Value) -> ReservedJob {
    let held = take(w, queue, worker).await;
    let mut body = json!({ "reservation": held.reservation });
    body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    w.post(&format!("/jobs/{how}"), body).await.is(200);
    held
}

/// Calls until there is no more to do. Returns the sums.
async fn erase(w: &World) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    loop {
        let answer = w.delete(CALL).await.is(200);
        for name in ["removed", "jobs", "deliveries"] {
            *sums.entry(name.to_owned()).or_default() += answer[name].as_u64().expect("a number");
        }
        if answer["more"] == json!(false) {
            return sums;
        }
    }
}

const QUEUES: [&str; 15] = [
    "done", "reasons", "failed", "late", "skipped", "assigned", "hers", "excluded", "to-her", "by-her", "drafted",
    "shared", "opinions", "waiting", "acted",
];

/// Fills each place, each in a queue that is named after it.
async fn fill(w: &World) {
    for queue in QUEUES {
        w.configure(queue, json!({ "sheets": queue == "done", "share_drafts": queue == "shared", "lease_ms": 60_000 }))
            .await;
        if !["assigned", "hers", "excluded", "opinions"].contains(&queue) {
            job(w, queue, json!({ "max_attempts": if queue == "failed" { 1 } else { 5 } })).await;
        }
    }
    settle(w, "done", NAME, "complete", json!({ "result": { "ok": true } })).await;
    settle(w, "reasons", NAME, "abandon", json!({ "reason": "ask bob, says zoe-quill" })).await;
    settle(w, "reasons", "bob", "abandon", json!({ "reason": "zoe-quill knows" })).await;
    settle(w, "reasons", "bob", "complete", json!({})).await;
    settle(w, "failed", NAME, "fail", json!({ "error": "zoe-quill's page broke" })).await;
    let late = take(w, "late", NAME).await;
    w.advance_clock(61_000);
    w.post("/queues/late/sweep", json!({})).await.is(200);
    settle(w, "late", "bob", "complete", json!({ "result": "in time" })).await;
    w.complete_with(&late, "too late").await.refused("reservation-lost");
    settle(w, "skipped", NAME, "abandon", json!({ "skip": true })).await;
    job(w, "assigned", json!({ "assignees": [NAME, "dave"], "excluded": ["erin"] })).await;
    job(w, "hers", json!({ "assignees": [NAME] })).await;
    job(w, "excluded", json!({ "excluded": [NAME, "erin"] })).await;
    settle(w, "to-her", "bob", "hand-over", json!({ "to": NAME, "note": "zoe-quill can" })).await;
    let handed = json!({ "to": "carol", "note": "from zoe-quill", "draft": "half" });
    settle(w, "by-her", NAME, "hand-over", handed).await;
    for queue in ["drafted", "shared"] {
        settle(w, queue, NAME, "abandon", json!({ "draft": "mine" })).await;
    }
    w.create_batch(json!({ "queue": "opinions", "overlap": 2, "job": { "payload": "an item" } })).await;
    settle(w, "opinions", NAME, "complete", json!({ "result": "cat" })).await;
    take(w, "acted", NAME).await;
    w.post("/jobs/release", json!({ "queue": "acted", "worker": NAME })).await.is(200);
    job(w, "acted", json!({ "assignees": [NAME] })).await;
    w.post("/jobs/reassign", json!({ "queue": "acted", "from": NAME, "to": ["carol", "dave"] })).await.is(200);
}

/// What is left is what a worker without a name did, and the jobs go on.
async fn assert_jobs_go_on(w: &World) {
    assert_contains(&take(w, "to-her", "frank").await.body, json!({ "note": null }));
    take(w, "hers", "frank").await;
    for (queue, one) in [("skipped", NAME), ("excluded", NAME), ("assigned", "dave")] {
        take(w, queue, one).await;
    }
    let held = take(w, "by-her", "carol").await;
    assert_contains(&held.body, json!({ "draft": "half", "note": { "text": "from *", "from": null } }));
    assert_eq!(take(w, "drafted", "bob").await.body["draft"], json!(null));
    assert_eq!(take(w, "shared", "bob").await.body["draft"], json!("mine"));
    // Nothing says now that she has had one of the item.
    take(w, "opinions", NAME).await;
}

async fn texts_of(w: &World, queue: &str, state: &str) -> String {
    let listed = w.get(&format!("/queues/{queue}/jobs?state={state}")).await.is(200);
    w.job(listed["jobs"][0]["id"].as_str().expect("an id")).await.to_string()
}

#[tokio::test]
async fn name_is_nowhere_in_redis_after_it_was_erased() {
    let mut receiver = Receiver::start().await;
    let w = World::plan()
        .own_process()
        .with_webhooks([line("shop", &receiver, "*", "completed,abandoned,handed-over")])
        .start()
        .await;
    receiver.go_down().await;
    fill(&w).await;
    let places: BTreeSet<_> = NAME_PLACES.iter().map(|place| place.key.to_owned()).collect();
    let filled = async || (keys_with_name(&w).await == places).then_some(());
    eventually("each place of the table has the name, and no other", filled).await;
    let erased = erase(&w).await;
    assert!(erased["removed"] == 1 && erased["jobs"] >= 12 && erased["deliveries"] >= 4, "{erased:?}");
    let left = keys_with_name(&w).await;
    let events = BTreeSet::from(["events", "erasures"].map(str::to_owned));
    assert!(left.is_subset(&events), "events wait for the webhook, and nothing else: {left:?}");
    w.advance_clock(TEN_MINUTES);
    for queue in QUEUES {
        w.post(&format!("/queues/{queue}/sweep"), json!({})).await.is(200);
    }
    assert_eq!(keys_with_name(&w).await, BTreeSet::new());
    assert_contains(
        &serde_json::from_str(&texts_of(&w, "done", "completed").await).expect("JSON"),
        json!({ "result": { "ok": true } }),
    );
    let reasons = texts_of(&w, "reasons", "completed").await;
    assert!(reasons.contains("ask bob, says *") && reasons.contains("\"bob\""), "{reasons}");
    assert!(texts_of(&w, "failed", "dead").await.contains("*'s page broke"));
    assert!(texts_of(&w, "late", "completed").await.contains("too late"));
    assert_jobs_go_on(&w).await;
    w.check().await;
}

#[tokio::test]
async fn large_queue_is_erased_in_bounded_calls_that_go_on() {
    let w = World::start().await;
    w.update_settings(json!({ "worker_limit": 0 })).await;
    for from in (0..25_000).step_by(500) {
        w.enqueue_many((0..500).map(|n| json!({ "payload": from + n, "dedupe": false, "assignees": ["kim"] }))).await;
    }
    w.enqueue(1).await;
    w.complete(&w.reserve_as(NAME).await).await.is(200);
    let (mut calls, mut jobs) = (0, 0);
    loop {
        let answer = w.delete(CALL).await.is(200);
        (calls, jobs) = (calls + 1, jobs + answer["jobs"].as_u64().expect("a number"));
        if answer["more"] == json!(false) {
            break;
        }
        assert!(keys_with_name(&w).await.contains("erasures"));
    }
    assert_eq!((calls, jobs), (3, 1), "a call goes on, and does not begin again");
    assert_eq!(keys_with_name(&w).await, BTreeSet::new(), "no reader waits for the events");
    w.check().await;
}

#[tokio::test]
async fn erasure_that_is_not_continued_is_given_up() {
    let w = World::start().await;
    for from in (0..21_000).step_by(500) {
        w.enqueue_many((0..500).map(|n| json!({ "payload": from + n, "dedupe": false, "assignees": ["kim"] }))).await;
    }
    assert_eq!(w.delete(CALL).await.is(200)["more"], json!(true));
    w.advance_clock(TEN_MINUTES - 1_000);
    w.sweep().await;
    assert_eq!(keys_with_name(&w).await, BTreeSet::from(["erasures".to_owned()]));
    w.advance_clock(1_000);
    w.sweep().await;
    assert_eq!(keys_with_name(&w).await, BTreeSet::new());
    w.check().await;
}

/// An instance has taken the name out of all else, and has ended.
#[tokio::test]
async fn background_sweep_deletes_events_that_name_an_erased_worker() {
    let w = World::plan().sweep_every(100).start().await;
    w.enqueue(1).await;
    w.complete(&w.reserve_as(NAME).await).await.is(200);
    let mut left = redis::cmd("HSET");
    left.arg("intray:{default}:2:erasures").arg(NAME).arg("0 events * 1 +  ");
    w.engine.query::<u64>(&left).await;
    eventually("the events are deleted", async || {
        let named = keys_with_name(&w).await;
        (!named.contains("events") && !named.contains("erasures")).then_some(())
    })
    .await;
    w.check().await;
}
