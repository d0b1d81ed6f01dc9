//! What reads the events of a queue, a webhook or the tally of its sheets, is not overtaken by what deletes them.

use serde_json::json;

use crate::{
    sheets::lines::lines,
    webhooks::line,
    world::{World, assert_contains, calls::calls_of, eventually, receiver::Receiver},
};

/// Copies of the entry that an array of a hundred jobs has left.
async fn copy_dense_entry(w: &World, times: u32) {
    const COPY: &str = "for _, entry in ipairs(redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 20)) do
          if entry[2][1] == '100' then
            for _ = 1, ARGV[1] do redis.call('XADD', KEYS[1], '*', unpack(entry[2])) end
            return
          end
        end
        error('there is none')";
    let mut command = redis::cmd("EVAL");
    command.arg(COPY).arg(1).arg("intray:{default}:2:events").arg(times);
    w.engine.query::<()>(&command).await;
}

/// How often a range of a stream was read.
async fn reads(w: &World) -> u64 {
    calls_of(&w.engine.calls().await, &["xrange"])
}

async fn entries(w: &World) -> u64 {
    w.engine.run("XLEN intray:{default}:2:events").await
}

#[tokio::test]
async fn sheets_count_all_before_events_are_deleted() {
    let w = World::plan().sweep_every(100).start().await;
    w.update_settings(json!({ "sheets": true, "worker_limit": 0 })).await;
    w.enqueue_many((0..100).map(|n| json!({ "payload": n }))).await;
    for held in w.reserve_all(json!({ "worker": "ann", "limit": 50 })).await {
        w.complete(&held).await.is(200);
    }
    w.enqueue_many((100..200).map(|n| json!({ "payload": n }))).await;
    copy_dense_entry(&w, 1_500).await;
    // A delay that ends has the queue swept.
    w.enqueue_with(json!({ "payload": "due", "delay_ms": 1 })).await;
    eventually("events are deleted", async || (entries(&w).await < 1_200).then_some(())).await;
    assert_contains(&lines(&w, "").await[0], json!({ "worker": "ann", "handed_out": 50, "completed": 50 }));
    assert_eq!(w.get("/queues/default/sheets").await.is(200)["gaps"], json!([]));
}

#[tokio::test]
async fn webhook_that_has_read_what_it_does_not_want_loses_nothing() {
    let receiver = Receiver::start().await;
    let w = World::plan().with_webhooks([line("shop", &receiver, "*", "dead")]).sweep_every(100).start().await;
    w.enqueue_with(json!({ "payload": "dies", "max_attempts": 1 })).await;
    w.fail(&w.reserve().await).await.is(200);
    receiver.wait_for(1).await;
    w.enqueue_many((0..100).map(|n| json!({ "payload": n }))).await;
    for round in 0..5 {
        let before = reads(&w).await;
        copy_dense_entry(&w, 300).await;
        // A delay that ends has the queue swept.
        w.enqueue_with(json!({ "payload": format!("due {round}"), "delay_ms": 1 })).await;
        // A page has two hundred events.
        eventually("the webhook reads", async || (reads(&w).await >= before + 150).then_some(())).await;
    }
    w.enqueue_with(json!({ "payload": "dies too", "max_attempts": 1, "priority": 0 })).await;
    w.fail(&w.reserve().await).await.is(200);
    receiver.wait_for(2).await;
    eventually("events are deleted", async || (entries(&w).await < 1_400).then_some(())).await;
    assert_eq!(w.get("/webhooks").await.is(200)["webhooks"][0]["lost"], 0);
}
