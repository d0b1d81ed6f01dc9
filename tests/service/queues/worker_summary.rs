//! One worker: what they hold, what they have handed in and given back lately, and their days.

use serde_json::{Value, json};

use crate::world::{
    Client, World,
    access::{SECRET, key, signed},
    assert_contains,
    batch_verbs::{items, member_id},
    percent_encode,
};

async fn summary(client: &Client, worker: &str) -> Value {
    client.get(&format!("/workers/{}", percent_encode(worker))).await.is(200)
}

fn types(summary: &Value) -> Vec<(&str, &str)> {
    let ended = summary["ended"].as_array().expect("events").iter();
    ended.map(|event| (event["queue"].as_str().expect("a queue"), event["type"].as_str().expect("a type"))).collect()
}

#[tokio::test]
async fn summary_has_what_a_worker_holds_and_how_the_rest_ended() {
    let w = World::start().await;
    w.stop_clock();
    w.configure("images", json!({ "max_attempts": 9, "worker_limit": 0, "sheets": true, "lease_ms": 100_000 })).await;
    w.configure("texts", json!({ "worker_limit": 0, "lease_ms": 100_000 })).await;
    let give = async |queue: &str, worker: &str| {
        w.enqueue_with(json!({ "queue": queue, "payload": 1, "dedupe": false })).await;
        w.advance_clock(10);
        w.reserve_with(json!({ "queues": [queue], "worker": worker })).await
    };
    w.fail_with(&give("images", "ann").await, "no").await.is(200);
    let done = give("texts", "ann").await;
    w.complete(&done).await.is(200);
    w.complete(&give("texts", "bob").await).await.is(200);
    let skipped = give("texts", "ann").await;
    w.post("/jobs/abandon", json!({ "reservation": skipped.reservation, "skip": true, "reason": "mine" }))
        .await
        .is(200);
    let released = give("images", "ann").await;
    w.post("/jobs/release", json!({ "id": released.id })).await.is(200);
    let undone = give("texts", "ann").await;
    w.close(&undone, 1, 5_000).await.is(200);
    let held = give("images", "ann").await;
    let found = summary(&w, "ann").await;
    let before = [("images", "released"), ("texts", "abandoned"), ("texts", "completed"), ("images", "failed")];
    assert_eq!(types(&found), [&[("texts", "closing")][..], &before].concat());
    assert_contains(&found, json!({ "worker": "ann", "since": null, "next": null }));
    assert_contains(&found["ended"][2], json!({ "job": skipped.id, "reason": "mine", "worker": "ann" }));
    assert_contains(&found["ended"][3], json!({ "job": done.id, "completed": { "late": false } }));
    let holds = found["holds"].as_array().expect("holds");
    assert_eq!(holds.len(), 1, "{found}");
    assert_contains(&holds[0], json!({ "queue": "images", "id": held.id, "resumes": 0 }));
    assert!(!found.to_string().contains(&held.reservation), "a reservation is its worker's secret");
    w.undo(&undone).await.is(200);
    assert_eq!(types(&summary(&w, "ann").await), before, "it was taken back");
    w.complete(&undone).await.is(200);
    w.close(&give("texts", "ann").await, 1, 5_000).await.is(200);
    w.advance_clock(6_000);
    w.post("/queues/texts/sweep", json!({})).await.is(200);
    let after = [&[("texts", "completed"), ("texts", "completed")][..], &before].concat();
    assert_eq!(types(&summary(&w, "ann").await), after, "each of them once");
    w.get("/queues/images/sheets").await.is(200);
    let days = summary(&w, "ann").await["sheets"].clone();
    assert_eq!(days.as_array().map(Vec::len), Some(1), "{days}");
    assert_eq!(days[0]["queue"], "images");
    assert_eq!(days[0]["lines"].as_array().map(Vec::len), Some(1), "{days}");
    assert_contains(&days[0]["lines"][0], json!({ "worker": "ann", "handed_out": 3, "failed": 1, "completed": 0 }));
    w.check().await;
}

#[tokio::test]
async fn worker_whom_no_queue_knows_has_an_empty_summary() {
    let w = World::start().await;
    let nothing =
        |name: &str| json!({ "worker": name, "holds": [], "ended": [], "since": null, "sheets": [], "next": null });
    assert_contains(&summary(&w, "ann").await, nothing("ann"));
    assert_eq!(summary(&w, "ann").await["server_time"], Value::Null, "there is no queue to ask");
    w.enqueue(1).await;
    for name in ["ann", "J. D\u{f6}e", "a/b?c#d%", "\u{65e5}\u{672c}"] {
        assert_contains(&summary(&w, name).await, nothing(name));
    }
    w.get("/workers/a%0Ab").await.invalid_by("parameter", &["worker"]);
    w.get("/workers/ann?limit=5&after=no%20queue").await.invalid_by("parameter", &["after", "limit"]);
    w.check().await;
}

#[tokio::test]
async fn summary_is_of_the_queues_of_the_key_and_of_the_tokens_worker() {
    let keys = [("boss", "operator", "*"), ("texts", "viewer", "texts*"), ("web", "producer", "*")];
    let w = World::plan().with_keys(&keys).flag("--token-secret", SECRET).start().await;
    let boss = w.with_credential(&key("boss"));
    for queue in ["texts", "images"] {
        boss.send_enqueue(json!({ "queue": queue, "payload": 1 })).await.is(201);
        let held = boss.reserve_with(json!({ "queues": [queue], "worker": "ann" })).await;
        boss.post("/jobs/release", json!({ "id": held.id })).await.is(200);
        boss.reserve_with(json!({ "queues": [queue], "worker": "ann" })).await;
    }
    let all = summary(&boss, "ann").await;
    assert_eq!((types(&all).len(), all["holds"].as_array().map(Vec::len)), (2, Some(2)));
    assert_eq!(all["ended"][0]["by"], "boss");
    let some = summary(&w.with_credential(&key("texts")), "ann").await;
    assert_eq!((types(&some), some["holds"].as_array().map(Vec::len)), (vec![("texts", "released")], Some(1)));
    let ann = w.with_credential(&signed(SECRET, json!({ "sub": "ann", "queues": ["images"] })));
    let own = summary(&ann, "ann").await;
    assert_eq!(types(&own), [("images", "released")]);
    assert_eq!(own["ended"][0]["by"], Value::Null, "which operator it was is not for her");
    ann.get("/workers/bob").await.refused("forbidden");
    w.with_credential(&key("web")).get("/workers/ann").await.refused("forbidden");
    w.check().await;
}

#[tokio::test]
async fn summary_has_the_last_hundred_and_says_since_when() {
    let w = World::start().await;
    w.stop_clock();
    w.update_settings(json!({ "worker_limit": 0 })).await;
    let batch = w.create_batch(json!({ "jobs": items(0..120) })).await;
    for held in w.reserve_all(json!({ "worker": "ann", "limit": 100 })).await {
        w.advance_clock(1);
        w.complete(&held).await.is(200);
    }
    let all = summary(&w, "ann").await;
    assert_eq!((all["ended"].as_array().map(Vec::len), &all["since"]), (Some(100), &Value::Null));
    assert_contains(&all["ended"][99], json!({ "job": member_id(&batch, 0), "batch": batch }));
    for held in w.reserve_all(json!({ "worker": "ann", "limit": 5 })).await {
        w.advance_clock(1);
        w.complete(&held).await.is(200);
    }
    let last = summary(&w, "ann").await;
    assert_eq!(last["ended"].as_array().map(Vec::len), Some(100));
    assert_contains(&last["ended"][0], json!({ "job": member_id(&batch, 104) }));
    assert_eq!(last["since"], last["ended"][99]["at"]);
    // What comes later hides what was before: a call reads the events of the last 1,000 calls of a queue.
    for n in 0..1_000 {
        w.send_enqueue(json!({ "payload": ["more", n] })).await.is(201);
    }
    let later = summary(&w, "ann").await;
    assert_eq!((types(&later).len(), later["since"].is_string()), (0, true));
    w.check().await;
}

#[tokio::test]
async fn summary_of_many_queues_comes_in_pages() {
    let w = World::start().await;
    for n in 0..40 {
        w.enqueue_with(json!({ "queue": format!("q{n:02}"), "payload": n })).await;
        let held = w.reserve_with(json!({ "queues": [format!("q{n:02}")], "worker": "ann" })).await;
        w.complete(&held).await.is(200);
    }
    let first = summary(&w, "ann").await;
    assert_eq!((types(&first).len(), &first["next"]), (32, &json!("q31")));
    let second = w.get("/workers/ann?after=q31").await.is(200);
    assert_eq!((types(&second).len(), &second["next"]), (8, &Value::Null));
    assert_eq!(types(&second)[0].0, "q39");
    w.check().await;
}
