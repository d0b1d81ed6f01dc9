//! Webhooks for large jobs: what is too long for a delivery is not read.

use serde_json::json;

use crate::{
    webhooks::line,
    world::{World, receiver::Receiver},
};

/// The bytes that Redis has sent to its clients.
async fn sent_bytes(w: &World) -> u64 {
    w.engine.info_number("stats", "total_net_output_bytes").await
}

#[tokio::test]
async fn payloads_and_results_beyond_a_delivery_are_not_read() {
    const JOBS: usize = 40;
    let receiver = Receiver::start().await;
    let w = World::plan().with_webhooks([line("shop", &receiver, "*", "enqueued,completed")]).start().await;
    let large = "x".repeat(250_000);
    let before = sent_bytes(&w).await;
    for n in 0..JOBS {
        w.enqueue(format!("{n}{large}")).await;
    }
    let posted = receiver.wait_for(JOBS).await;
    assert!(posted.iter().all(|posted| posted.body["data"]["truncated"] == true));
    let sent = sent_bytes(&w).await - before;
    assert!(sent < large.len() as u64, "Redis sent {sent} bytes for {JOBS} jobs of {} bytes", large.len());
    w.check().await;
}

/// The longest content that fits, in the record or apart.
#[tokio::test]
async fn content_that_fits_exactly_is_delivered_whole() {
    let receiver = Receiver::start().await;
    let w = World::plan().with_webhooks([line("shop", &receiver, "*", "completed")]).start().await;
    // Two bytes of each text are its quotation marks.
    let cases = [(40_000, 25_532, true), (40_001, 25_532, false), (500, 65_032, true), (501, 65_032, false)];
    for (nth, (payload, result, is_whole)) in cases.into_iter().enumerate() {
        w.enqueue("x".repeat(payload)).await;
        let held = w.reserve().await;
        w.complete_with(&held, "y".repeat(result)).await.is(200);
        let posted = receiver.wait_for(nth + 1).await.remove(nth);
        let data = &posted.body["data"];
        assert_eq!(data["truncated"] == json!(true), !is_whole, "{payload} and {result}");
        assert_eq!(data["result"] == json!("y".repeat(result)), is_whole, "{payload} and {result}");
    }
    w.check().await;
}

/// More than one read has room for: several parts of a page, in order, each once.
#[tokio::test]
async fn events_of_many_jobs_are_delivered_in_parts_and_none_is_lost() {
    const JOBS: usize = 120;
    let receiver = Receiver::start().await;
    let w = World::plan().with_webhooks([line("shop", &receiver, "*", "enqueued")]).start().await;
    let content = "x".repeat(30_000);
    let ids = w.enqueue_many((0..JOBS).map(|n| json!({ "payload": format!("{n}{content}") }))).await;
    let posted = receiver.wait_for(JOBS).await;
    for (n, id) in ids.iter().enumerate() {
        let own: Vec<_> = posted.iter().filter(|posted| posted.job() == id).collect();
        assert_eq!(own.len(), 1, "{n}");
        assert_eq!(own[0].body["data"]["payload"], format!("{n}{content}"));
    }
    w.check().await;
}
