//! The same faults for background tasks: nothing is lost or done twice, and the task tries again.

use intray::{job::QueueName, store::Queues};
use serde_json::json;

use crate::world::{CallFate, RETENTION_MS, World, eventually, pending_reserve::PendingReserve};

/// The transitions tested in this file.
pub const COVERED: [&str; 4] = ["record", "retire", "undo", "unseen"];
const DAY_MS: u64 = 86_400_000;

pub const FATES: [CallFate; 6] = [
    CallFate::NotDelivered,
    CallFate::CutAt(0),
    CallFate::CutAt(1),
    CallFate::CutAt(usize::MAX),
    CallFate::ErrorReply("READONLY You can't write against a read only replica."),
    CallFate::ErrorReply("BUSY Redis is busy running a script."),
];

async fn remaining_keys(w: &World, q: &str) -> (u64, Option<f64>) {
    let names = ["totals", "history", "events"].map(|name| format!("intray:{{{q}}}:2:{name}")).join(" ");
    let keys: u64 = w.engine.run(&format!("EXISTS {names}")).await;
    (keys, w.engine.run(&format!("ZSCORE intray:2:queues {q}")).await)
}

async fn retire_with_faults(script: &str, nth: usize) {
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
        assert!(remaining_keys(&w, &gone).await.0 >= 2, "totals and history exist");
        w.proxy().inject(script, nth, fate);
        let result = handle.retire_unseen().await;
        // A cluster client repeats at once what was certainly not applied.
        assert!(result.is_err() || w.engine.is_cluster(), "{fate:?}: {result:?}");
        assert_eq!(w.proxy().injected_calls(), 1, "{fate:?}");
        eventually("the next run does it", async || handle.retire_unseen().await.ok()).await;
        assert_eq!(remaining_keys(&w, &gone).await, (0, None), "{fate:?}");
        assert!(remaining_keys(&w, &used).await.1.is_some(), "{fate:?}");
        assert_eq!(w.get(&format!("/queues/{used}")).await.is(200)["counts"]["waiting"], 1);
    }
    w.check().await;
}

#[tokio::test]
async fn retire_survives_every_fault() {
    retire_with_faults("retire", 1).await;
}

#[tokio::test]
async fn unseen_survives_every_fault() {
    // The first call lists, the second removes.
    retire_with_faults("unseen", 1).await;
    retire_with_faults("unseen", 2).await;
}

/// Counts are entered in the history once, whatever happens to the call.
#[tokio::test]
async fn record_counts_once_despite_faults() {
    let w = World::plan().with_proxy().start().await;
    let handle = Queues::new(w.proxy().url(), "intray").expect("a handle");
    for (n, fate) in FATES.into_iter().enumerate() {
        let q = format!("q{n}");
        w.enqueue_with(json!({ "queue": q, "payload": 1 })).await;
        w.proxy().inject("record", 1, fate);
        let queue = QueueName::parse(&q).expect("a name");
        let result = handle.record(&queue).await;
        assert!(result.is_err() || w.engine.is_cluster(), "{fate:?}: {result:?}");
        assert_eq!(w.proxy().injected_calls(), 1, "{fate:?}");
        eventually("the next run does it", async || handle.record(&queue).await.ok()).await;
        for step in ["minute", "hour"] {
            let history = w.get(&format!("/queues/{q}/history?step={step}")).await.is(200);
            assert_eq!(history["spans"].as_array().map(Vec::len), Some(1), "{fate:?}");
            assert_eq!(history["spans"][0]["gained"]["enqueued"], 1, "{fate:?}");
        }
    }
    w.check().await;
}

/// Undo is not repeated: if it fails, the deadline returns the job.
#[tokio::test]
async fn undo_or_the_deadline_returns_the_job_once() {
    let w = World::plan().with_proxy().start().await;
    for (n, fate) in FATES.into_iter().enumerate() {
        let q = format!("q{n}");
        let id = w.enqueue_with(json!({ "queue": q, "payload": 1 })).await;
        w.proxy().inject("reserve", 1, CallFate::Held);
        let page = PendingReserve::send(&w, &json!({ "queues": [q] })).await;
        eventually("the call is sent", async || (w.proxy().injected_calls() == 1).then_some(())).await;
        assert_eq!(page.hang_up().await, None, "the service noticed the disconnect");
        w.proxy().inject("undo", 1, fate);
        w.proxy().release_held();
        eventually("undo is sent", async || (w.proxy().injected_calls() == 1).then_some(())).await;
        eventually("Redis is connected", async || (w.get("/queues").await.status == 200).then_some(())).await;
        w.advance_clock(300_000);
        let held = eventually("another worker has the job", async || {
            let answer = w.send_reserve(json!({ "queues": [q], "worker": "bob" })).await;
            (answer.status == 200).then(|| answer.json()["jobs"][0].clone()).filter(|job| !job.is_null())
        })
        .await;
        assert_eq!(held["id"], id, "{fate:?}");
        let events = w.events_of(&id).await;
        let ends = events.iter().filter(|event| *event == "abandoned undelivered" || *event == "expired").count();
        assert!(ends == 1 && events.last().is_some_and(|last| last == "reserved"), "{fate:?}: {events:?}");
    }
    w.check().await;
}
