//! A queue without a job is removed at once with all that it has, and nothing of it comes back.

use serde_json::{Value, json};

use crate::{
    webhooks::line,
    world::{
        Client, World,
        access::key,
        eventually,
        receiver::{Reaction, Receiver},
    },
};

const FORGET: &str = "/queues/reviews?forget=true";

/// A queue with totals, settings, sheets, a form, history and the actions of an operator, and with no job.
async fn used(w: &Client) {
    let form = json!({ "type": "object", "properties": { "fine": { "type": "boolean" } } });
    let settings = json!({ "sheets": true, "lease_ms": 60_000, "result_schema": form });
    w.patch("/queues/reviews", settings).await.is(201);
    w.enqueue_with(json!({ "queue": "reviews", "payload": 1 })).await;
    let held = w.reserve_with(json!({ "queues": ["reviews"], "worker": "ann" })).await;
    w.complete_with(&held, json!({ "fine": true })).await.is(200);
    w.get("/queues/reviews/sheets").await.is(200);
    w.post("/queues/reviews/sweep", json!({})).await.is(200);
}

async fn purge(w: &Client) {
    w.delete("/queues/reviews?state=all").await.is(200);
}

/// The keys of the queue, and whether the registry lists it.
async fn left(w: &World) -> (Vec<String>, bool) {
    let score: Option<f64> = w.engine.run("ZSCORE intray:2:queues reviews").await;
    (w.engine.run("KEYS intray:{reviews}:*").await, score.is_some())
}

async fn is_listed(w: &Client) -> bool {
    let listed = w.get("/queues").await.is(200);
    listed["queues"].as_array().expect("a list").iter().any(|queue| queue["name"] == "reviews")
}

#[tokio::test]
async fn forgotten_queue_leaves_no_key() {
    let w = World::plan().own_process().with_keys(&[("boss", "operator", "*"), ("eye", "viewer", "*")]).start().await;
    let (boss, eye) = (w.with_credential(&key("boss")), w.with_credential(&key("eye")));
    used(&boss).await;
    let refused = boss.delete(FORGET).await.refused("wrong-state");
    assert!(refused["detail"].as_str().expect("a detail").contains("perhaps ended"), "{refused}");
    purge(&boss).await;
    let (keys, is_listed) = left(&w).await;
    for name in ["settings", "form", "totals", "history", "events", "cursors", "actions", "sheets"] {
        assert!(keys.contains(&format!("intray:{{reviews}}:2:{name}")) && is_listed, "{name} in {keys:?}");
    }
    eye.delete(FORGET).await.refused("forbidden");

    assert_eq!(boss.delete(FORGET).await.is(200), json!({ "forgotten": true }));
    assert_eq!(left(&w).await, (vec![], false));
    boss.get("/queues/reviews").await.refused("unknown-queue");
    boss.delete(FORGET).await.refused("unknown-queue");
    assert!(w.service.output().contains("forget"), "{}", w.service.output());
    // A new queue of this name has nothing of the old one.
    let made = boss.patch("/queues/reviews", json!({})).await.is(201);
    assert_eq!((&made["settings"]["lease_ms"], &made["totals"]["completed"]), (&json!(300_000), &json!(0)));
    w.check().await;
}

#[tokio::test]
async fn queue_with_a_job_of_any_state_is_kept() {
    let w = World::start().await;
    w.configure("reviews", json!({ "max_attempts": 1 })).await;
    let kept = async |state: &str| {
        let counts = w.get("/queues/reviews").await.is(200)["counts"].clone();
        assert_eq!(counts[state], 1, "{state}: {counts}");
        w.delete(FORGET).await.refused("wrong-state");
    };
    let enqueue = async |more: Value| {
        let mut job = json!({ "queue": "reviews", "payload": 1, "dedupe": false });
        job.as_object_mut().expect("a job").extend(more.as_object().expect("fields").clone());
        w.enqueue_with(job).await
    };
    enqueue(json!({ "delay_ms": 60_000 })).await;
    kept("delayed").await;
    purge(&w).await;
    let id = enqueue(json!({ "assignees": ["ann"] })).await;
    kept("waiting").await;
    let held = w.reserve_with(json!({ "id": id, "worker": "ann" })).await;
    kept("reserved").await;
    w.fail(&held).await.is(200);
    kept("dead").await;
    purge(&w).await;
    let id = enqueue(json!({})).await;
    w.cancel(&id).await.is(200);
    kept("cancelled").await;
    purge(&w).await;
    w.delete(FORGET).await.is(200);
    assert_eq!(left(&w).await, (vec![], false));
    w.check().await;
}

#[tokio::test]
async fn queue_with_a_batch_is_kept_until_the_batch_goes() {
    let w = World::start().await;
    w.configure("reviews", json!({ "retention_ms": 10_000 })).await;
    w.post("/batches", json!({ "queue": "reviews", "jobs": [{ "payload": 1 }] })).await.is(201);
    purge(&w).await;
    w.delete(FORGET).await.refused("wrong-state");
    w.advance_clock(11_000);
    eventually("the batch goes", async || {
        w.post("/queues/reviews/sweep", json!({})).await.is(200);
        (w.delete(FORGET).await.status == 200).then_some(())
    })
    .await;
    assert_eq!(left(&w).await, (vec![], false));
    w.check().await;
}

#[tokio::test]
async fn parameters_of_a_purge_are_refused() {
    let w = World::start().await;
    w.configure("reviews", json!({})).await;
    for parameter in ["state=all", "force=true", "client=acme", "error=x", "after=00"] {
        let name = parameter.split('=').next().expect("a name");
        w.delete(&format!("{FORGET}&{parameter}")).await.invalid_by("parameter", &[name]);
    }
    w.delete("/queues/reviews?forget=perhaps").await.invalid_by("parameter", &["forget", "state"]);
    w.delete("/queues/reviews?forget=false").await.invalid_by("parameter", &["state"]);
    w.get("/queues/reviews").await.is(200);
    w.check().await;
}

#[tokio::test]
async fn job_added_by_an_instance_that_knew_the_queue_is_listed() {
    let w = World::plan().own_process().sweep_every(100).start().await;
    let (mut second, other) = w.start_instance().await;
    used(&w).await;
    other.enqueue_with(json!({ "queue": "reviews", "payload": 2 })).await;
    purge(&w).await;
    w.delete(FORGET).await.is(200);
    // The second instance adds to the queue, which it takes for registered, and ends before it has looked.
    let id = other.enqueue_with(json!({ "queue": "reviews", "payload": 3, "delay_ms": 1_000 })).await;
    second.kill();
    eventually("the queue is listed", async || is_listed(&w).await.then_some(())).await;
    w.advance_clock(1_000);
    eventually("its job falls due", async || (w.state(&id).await == "waiting").then_some(())).await;
    w.check().await;
}

#[tokio::test]
async fn waiting_call_gets_the_job_of_a_queue_that_is_made_again() {
    let w = World::start_process().await;
    used(&w).await;
    purge(&w).await;
    let mut events = w.listen("?queue=reviews").await;
    let waits = w.start_wait(json!({ "queues": ["reviews"], "worker": "bob", "wait_ms": 30_000 })).await;
    w.delete(FORGET).await.is(200);
    let id = w.enqueue_with(json!({ "queue": "reviews", "payload": "again" })).await;
    assert_eq!(waits.job().await.id, id);
    // The events of the old queue are gone, which its reader is told.
    let mut kinds = Vec::new();
    while kinds.last().is_none_or(|kind| kind != "reserved") {
        kinds.push(events.next_event().await.expect("an event").kind);
    }
    kinds.retain(|kind| kind != "gap");
    assert_eq!(kinds, ["enqueued", "reserved"]);
    w.check().await;
}

#[tokio::test]
async fn queue_is_kept_until_webhooks_have_its_last_event() {
    let receiver = Receiver::start().await;
    receiver.react(|_| Reaction::Status(500));
    let w = World::plan().with_webhooks([line("shop", &receiver, "*", "cancelled")]).start().await;
    let id = w.enqueue_with(json!({ "queue": "reviews", "payload": 1 })).await;
    w.cancel(&id).await.is(200);
    // The purge is an event that this webhook is not for.
    purge(&w).await;
    let refused = w.delete(FORGET).await.refused("wrong-state");
    assert!(refused["detail"].as_str().expect("a detail").contains("webhook"), "{refused}");
    receiver.react(|_| Reaction::Status(204));
    w.post("/webhooks/shop/redeliver", json!({ "queue": "reviews" })).await.is(200);
    w.advance_clock(600_000);
    eventually("all is delivered", async || (w.delete(FORGET).await.status == 200).then_some(())).await;
    assert_eq!(receiver.counts().len(), 1, "{:?}", receiver.counts());
    assert_eq!(left(&w).await, (vec![], false));
    w.check().await;
}

#[tokio::test]
async fn change_that_may_not_make_a_queue_is_refused() {
    let w = World::start().await;
    let change = json!({ "paused": true });
    w.patch("/queues/reviws?create=false", change.clone()).await.refused("unknown-queue");
    let keys: Vec<String> = w.engine.run("KEYS intray:{reviws}:*").await;
    let listed: Option<f64> = w.engine.run("ZSCORE intray:2:queues reviws").await;
    assert_eq!((keys, listed), (vec![], None));
    assert_eq!(w.patch("/queues/reviews", json!({})).await.is(201)["created"], true);
    for made in [false, true] {
        let path = format!("/queues/reviews?create={made}");
        assert_eq!(w.patch(&path, change.clone()).await.is(200)["created"], false);
    }
    w.patch("/queues/reviews?create=perhaps", change.clone()).await.invalid_by("parameter", &["create"]);
    // A queue that has a job, or had one, is there.
    w.enqueue_with(json!({ "queue": "jobs", "payload": 1 })).await;
    assert_eq!(w.patch("/queues/jobs?create=false", change).await.is(200)["created"], false);
    w.check().await;
}

#[tokio::test]
async fn registry_that_was_lost_makes_no_queue_new() {
    let w = World::start().await;
    let (_second, other) = w.start_instance().await;
    w.enqueue_with(json!({ "queue": "reviews", "payload": 1 })).await;
    let _: u64 = w.engine.run("DEL intray:2:queues").await;
    assert_eq!(other.patch("/queues/reviews", json!({ "lease_ms": 5_000 })).await.is(200)["created"], false);
    w.check().await;
}

#[tokio::test]
async fn change_after_the_queue_was_forgotten_makes_a_new_one() {
    let w = World::start().await;
    let (_second, other) = w.start_instance().await;
    used(&w).await;
    purge(&w).await;
    other.delete(FORGET).await.is(200);
    // The first instance has used the queue a moment ago.
    w.patch("/queues/reviews?create=false", json!({ "paused": true })).await.refused("unknown-queue");
    assert_eq!(left(&w).await, (vec![], false));
    assert_eq!(w.patch("/queues/reviews", json!({ "paused": true })).await.is(201)["created"], true);
    assert!(is_listed(&other).await);
    w.check().await;
}
