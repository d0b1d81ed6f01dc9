//! What all others see of a job whose completion can be taken back: it is reserved, and nothing is reported before it is final.

use serde_json::json;

use crate::{
    webhooks::line,
    world::{World, assert_contains, receiver::Receiver, waiters::Waiter},
};

#[tokio::test]
async fn webhook_and_waiting_caller_hear_of_it_when_it_is_final() {
    let receiver = Receiver::start().await;
    let w = World::plan().with_webhooks([line("shop", &receiver, "*", "all")]).start().await;
    w.stop_clock();
    let id = w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    let (client, path) = (w.at(w.base()), format!("/jobs/{id}?wait_ms=30000"));
    let waiter = Waiter::send(async move { client.get(&path).await });
    w.close(&held, "no", 10_000).await.is(200);
    w.undo(&held).await.is(200);
    w.close(&held_again(&held, 1), "yes", 10_000).await.is(200);
    assert!(!waiter.is_answered());
    let shown = w.job(&id).await;
    assert_contains(&shown, json!({ "state": "reserved", "result": null, "completed": null }));
    assert_eq!(shown["reserved"]["final_at"], shown["reserved"]["expires_at"]);
    w.advance_clock(10_000);
    w.sweep().await;
    let (answer, _) = waiter.answer().await;
    assert_contains(&answer.is(200), json!({ "state": "completed", "result": "yes" }));
    let posted = receiver.wait_for(3).await;
    let kinds: Vec<_> = posted.iter().map(|posted| posted.kind().to_owned()).collect();
    assert_eq!(sorted(kinds), ["job.completed", "job.enqueued", "job.reserved"], "neither closing nor undone");
    w.check().await;
}

/// The same job, as a page knows it that has taken its completion back.
fn held_again(held: &crate::world::ReservedJob, resumes: u64) -> crate::world::ReservedJob {
    let mut again = held.clone();
    again.body["resumes"] = json!(resumes);
    again
}

fn sorted(mut words: Vec<String>) -> Vec<String> {
    words.sort();
    words
}

#[tokio::test]
async fn lock_dedupe_and_batch_stay_until_it_is_final() {
    let w = World::start().await;
    w.stop_clock();
    let batch = json!({ "jobs": [{ "payload": 1, "locks": ["a"] }, { "payload": 2, "locks": ["a"] }] });
    let batch = w.create_batch(batch).await;
    let held = w.reserve_as("ann").await;
    w.close(&held, "x", 10_000).await.is(200);
    assert_eq!(w.empty_reason(json!({ "worker": "bob" })).await, "blocked");
    assert_contains(&w.batch(&batch).await["counts"], json!({ "reserved": 1, "completed": 0 }));
    assert_eq!(w.results(&batch, 10).await[0]["result"], json!(null));
    w.advance_clock(10_000);
    w.sweep().await;
    let next = w.reserve_as("bob").await;
    w.close(&next, "y", 10_000).await.is(200);
    w.advance_clock(9_999);
    w.sweep().await;
    assert_eq!(w.batch(&batch).await["state"], "sealed");
    w.advance_clock(1);
    w.sweep().await;
    assert_contains(&w.batch(&batch).await, json!({ "state": "completed" }));

    let id = w.enqueue_with(json!({ "payload": { "deduped": 1 } })).await;
    let held = w.reserve_as("ann").await;
    w.close(&held, "x", 10_000).await.is(200);
    let twin = w.send_enqueue(json!({ "payload": { "deduped": 1 } })).await.is(200);
    assert_contains(&twin, json!({ "id": id, "duplicate": true, "state": "reserved" }));
    w.undo(&held).await.is(200);
    w.complete(&held_again(&held, 1)).await.is(200);
    w.check().await;
}

#[tokio::test]
async fn cancelled_batch_completes_what_was_handed_in() {
    let w = World::start().await;
    w.stop_clock();
    let batch = w.create_batch(json!({ "jobs": [{ "payload": 1 }, { "payload": 2 }, { "payload": 3 }] })).await;
    let held = w.reserve_all(json!({ "limit": 2 })).await;
    for held in &held {
        w.close(held, "x", 10_000).await.is(200);
    }
    w.cancel_batch(&batch).await.is(200);
    w.undo(&held[1]).await.is(200);
    w.abandon(&held[1]).await.is(200);
    w.advance_clock(10_000);
    w.sweep_until("it is over", async || w.batch(&batch).await["state"] == "cancelled").await;
    assert_contains(&w.batch(&batch).await["counts"], json!({ "completed": 1, "cancelled": 2 }));
    w.check().await;
}

#[tokio::test]
async fn part_of_an_overlap_stays_with_its_worker() {
    let w = World::start().await;
    w.stop_clock();
    w.post("/batches", json!({ "overlap": 2, "job": { "payload": 1 } })).await.is(201);
    let held = w.reserve_as("ann").await;
    w.close(&held, "x", 10_000).await.is(200);
    assert_eq!(w.empty_reason(json!({ "worker": "ann" })).await, "ineligible");
    w.undo(&held).await.is(200);
    w.abandon(&held).await.is(200);
    let again = w.reserve_as("ann").await;
    w.close(&again, "x", 10_000).await.is(200);
    w.advance_clock(10_000);
    w.sweep().await;
    assert_eq!(w.empty_reason(json!({ "worker": "ann" })).await, "ineligible");
    w.complete(&w.reserve_as("bob").await).await.is(200);
    w.check().await;
}

#[tokio::test]
async fn sla_and_fallback_run_on_while_it_can_be_taken_back() {
    let w = World::start().await;
    w.stop_clock();
    let job = json!({ "payload": 1, "sla_ms": 5_000, "assignees": ["ann"], "fallback_ms": 6_000 });
    let id = w.enqueue_with(job).await;
    let held = w.reserve_as("ann").await;
    w.close(&held, "x", 10_000).await.is(200);
    w.advance_clock(7_000);
    w.sweep().await;
    assert_contains(&w.job(&id).await, json!({ "state": "reserved", "breached": true }));
    w.undo(&held).await.is(200);
    w.abandon(&held).await.is(200);
    assert_eq!(w.reserve_as("bob").await.id, id, "it has fallen back");
    w.check().await;
}
