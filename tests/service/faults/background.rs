//! The same of what the service does by itself: nothing is lost and nothing done twice, and it comes to it again.

use intray::{job::QueueName, store::Queues};
use serde_json::json;

use crate::world::{CallFate, RETENTION_MS, World, eventually, pending_reserve::PendingReserve};

/// The transitions of this file.
pub const TOLD: [&str; 4] = ["record", "retire", "undo", "unseen"];
const DAY_MS: u64 = 86_400_000;

const FATES: [CallFate; 6] = [
    CallFate::NotDelivered,
    CallFate::CutAt(0),
    CallFate::CutAt(1),
    CallFate::CutAt(usize::MAX),
    CallFate::ErrorReply("READONLY You can't write against a read only replica."),
    CallFate::ErrorReply("BUSY Redis is busy running a script."),
];

async fn left_of(w: &World, q: &str) -> (u64, Option<f64>) {
    let names = ["totals", "history", "events"].map(|name| format!("intray:{{{q}}}:2:{name}")).join(" ");
    let keys: u64 = w.engine.run(&format!("EXISTS {names}")).await;
    (keys, w.engine.run(&format!("ZSCORE intray:2:queues {q}")).await)
}

async fn lets_go(script: &str, nth: usize) {
    let w = World::plan().with_proxy().start().await;
    let handle = Queues::new(w.proxy().url(), "intray").expect("a handle");
    for (n, fate) in FATES.into_iter().enumerate() {
        let (gone, used) = (format!("gone{n}"), format!("used{n}"));
        for q in [&gone, &used] {
            w.enqueue_with(json!({ "queue": q, "payload": 1 })).await;
        }
        w.complete(&w.reserve_with(json!({ "queues": [gone] })).await).await.is(200);
        w.advance_clock(DAY_MS + RETENTION_MS);
        w.post(&format!("/queues/{gone}/sweep"), json!({})).await.is(200);
        assert!(left_of(&w, &gone).await.0 >= 2, "its totals and its history are there");
        w.proxy().inject(script, nth, fate);
        let met = handle.retire_unseen().await;
        // On a cluster what was certainly not done is tried again at once.
        assert!(met.is_err() || w.engine.is_cluster(), "{fate:?}: {met:?}");
        assert_eq!(w.proxy().injected_calls(), 1, "{fate:?}");
        eventually("it is done the next time", async || handle.retire_unseen().await.ok()).await;
        assert_eq!(left_of(&w, &gone).await, (0, None), "{fate:?}");
        assert!(left_of(&w, &used).await.1.is_some(), "{fate:?}");
        assert_eq!(w.get(&format!("/queues/{used}")).await.is(200)["counts"]["waiting"], 1);
    }
    w.check().await;
}

#[tokio::test]
async fn retire() {
    lets_go("retire", 1).await;
}

#[tokio::test]
async fn unseen() {
    // First it lists, then it forgets.
    lets_go("unseen", 1).await;
    lets_go("unseen", 2).await;
}

/// What was counted is in the history once, whatever became of the call that entered it.
#[tokio::test]
async fn record() {
    let w = World::plan().with_proxy().start().await;
    let handle = Queues::new(w.proxy().url(), "intray").expect("a handle");
    for (n, fate) in FATES.into_iter().enumerate() {
        let q = format!("q{n}");
        w.enqueue_with(json!({ "queue": q, "payload": 1 })).await;
        w.proxy().inject("record", 1, fate);
        let queue = QueueName::parse(&q).expect("a name");
        let met = handle.record(&queue).await;
        assert!(met.is_err() || w.engine.is_cluster(), "{fate:?}: {met:?}");
        assert_eq!(w.proxy().injected_calls(), 1, "{fate:?}");
        eventually("it is done the next time", async || handle.record(&queue).await.ok()).await;
        for step in ["minute", "hour"] {
            let history = w.get(&format!("/queues/{q}/history?step={step}")).await.is(200);
            assert_eq!(history["spans"].as_array().map(Vec::len), Some(1), "{fate:?}");
            assert_eq!(history["spans"][0]["gained"]["enqueued"], 1, "{fate:?}");
        }
    }
    w.check().await;
}

/// Nobody repeats it: then the deadline gives the job back.
#[tokio::test]
async fn undo() {
    let w = World::plan().with_proxy().start().await;
    for (n, fate) in FATES.into_iter().enumerate() {
        let q = format!("q{n}");
        let id = w.enqueue_with(json!({ "queue": q, "payload": 1 })).await;
        w.proxy().inject("reserve", 1, CallFate::Held);
        let page = PendingReserve::send(&w, &json!({ "queues": [q] })).await;
        eventually("the call is on its way", async || (w.proxy().injected_calls() == 1).then_some(())).await;
        assert_eq!(page.hang_up().await, None, "the service has seen that it is gone");
        w.proxy().inject("undo", 1, fate);
        w.proxy().release_held();
        eventually("it is to be given back", async || (w.proxy().injected_calls() == 1).then_some(())).await;
        eventually("Redis is found again", async || (w.get("/queues").await.status == 200).then_some(())).await;
        w.advance_clock(300_000);
        let held = eventually("somebody else has it", async || {
            let answer = w.send_reserve(json!({ "queues": [q], "worker": "bob" })).await;
            (answer.status == 200).then(|| answer.json()["jobs"][0].clone()).filter(|job| !job.is_null())
        })
        .await;
        assert_eq!(held["id"], id, "{fate:?}");
        let told = w.events_of(&id).await;
        let ends = told.iter().filter(|what| *what == "abandoned undelivered" || *what == "expired").count();
        assert!(ends == 1 && told.last().is_some_and(|last| last == "reserved"), "{fate:?}: {told:?}");
    }
    w.check().await;
}
