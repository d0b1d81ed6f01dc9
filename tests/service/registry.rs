//! The registry of queues: what it lost is put back.

use serde_json::json;

use crate::world::{World, eventually};

async fn names(w: &World) -> Vec<String> {
    let answer = w.get("/queues").await.is(200);
    let names = answer["queues"].as_array().expect("queues").iter();
    names.map(|queue| queue["name"].as_str().expect("a name").to_owned()).collect()
}

#[tokio::test]
async fn a_queue_that_the_registry_has_lost_is_put_back_by_whoever_uses_it() {
    let w = World::plan().sweeping_every(100).start().await;
    let id = w.enqueue_as(json!({ "payload": 1, "delay_ms": 1_000 })).await;
    assert_eq!(names(&w).await, ["default"]);
    let lost: u64 = w.engine.run("ZREM intray:2:queues default").await;
    assert_eq!(lost, 1);
    w.pass(1_000);
    eventually("the queue is listed again", async || (names(&w).await == ["default"]).then_some(())).await;
    eventually("its jobs fall due", async || (w.state(&id).await == "waiting").then_some(())).await;
    w.check().await;
}
