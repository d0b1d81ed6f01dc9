//! When time moves a batch: while it opens, and when it has been over for long enough.

use serde_json::json;

use crate::world::{RETENTION_MS, World, assert_contains, batch_verbs::items, number};

#[tokio::test]
async fn append_does_not_delay_opening_of_an_interrupted_batch() {
    let w = World::start().await;
    let (_service, halting) = w.as_user("~* &* +@all").await;
    // From now on it fails after the first step of an opening, and leaves the batch as a kill would.
    let _: String = w.engine.run("ACL SETUSER app -hexists").await;
    halting.post("/batches", json!({ "jobs": items(0..300), "sealed": false })).await.is(500);
    let batches = w.get("/batches?queue=default").await.is(200);
    let id = batches["batches"][0]["id"].as_str().expect("it is there").to_owned();
    assert!(number(&w.batch(&id).await["counts"], "blocked") > 0, "it opens still");
    w.append(&id, &items(300..301)).await.is(200);
    w.sweep_until("all of it can be handed out", async || w.batch(&id).await["counts"]["waiting"] == 301).await;
    w.check().await;
}

#[tokio::test]
async fn changed_retention_applies_to_ended_batches() {
    let w = World::start().await;
    let early = w.create_batch(json!({ "jobs": items(0..3) })).await;
    w.complete_all().await;
    w.advance_clock(5_000);
    let late = w.create_batch(json!({ "jobs": items(0..3) })).await;
    w.complete_all().await;
    w.create_batch(json!({ "jobs": items(0..3), "sealed": false })).await;
    w.update_settings(json!({ "retention_ms": 10_000 })).await;
    w.advance_clock(5_000);
    assert_eq!(w.sweep().await["forgotten"], 3);
    w.get(&format!("/batches/{early}")).await.refused("unknown-batch");
    assert_contains(&w.batch(&late).await, json!({ "state": "completed" }));
    w.update_settings(json!({ "retention_ms": 3_600_000 })).await;
    w.advance_clock(1_000_000);
    w.sweep().await;
    assert_contains(&w.batch(&late).await, json!({ "state": "completed" }));
    w.update_settings(json!({ "retention_ms": null })).await;
    w.advance_clock(RETENTION_MS - 1_000_000 + 100_000);
    w.sweep().await;
    w.get(&format!("/batches/{late}")).await.refused("unknown-batch");
    assert_eq!(w.record_count().await, 3, "the open one stays");
    w.check().await;
}
