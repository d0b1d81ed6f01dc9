//! Reserves that share a script do not starve each other.

use std::{collections::BTreeSet, time::Duration};

use serde_json::json;
use tokio::task::JoinSet;

use crate::world::{Fault, World, eventually};

#[tokio::test]
async fn grouped_reserves_by_id_leave_jobs_for_others() {
    let w = World::plan().with_proxy().with_long_redis_timeout().start().await;
    let ids = w.enqueue_many((0..41).map(|n| json!({ "payload": n }))).await;
    w.proxy().set_fault(Fault::Freeze);
    let mut calls = JoinSet::new();
    let mut call = |request: serde_json::Value| {
        let client = (*w).clone();
        calls.spawn(async move { client.reserve_with(request).await.id });
    };
    call(json!({}));
    eventually("the first call is on its way", async || w.proxy().is_withholding().then_some(())).await;
    // Those at the front of the line are asked for by name.
    for id in &ids[1..21] {
        call(json!({ "id": id }));
    }
    // These calls must be queued before the others, and all before the first is answered.
    tokio::time::sleep(Duration::from_secs(2)).await;
    for _ in 0..20 {
        call(json!({}));
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    w.proxy().set_fault(Fault::None);
    let given: BTreeSet<_> = calls.join_all().await.into_iter().collect();
    assert!(given.iter().eq(&ids.into_iter().collect::<BTreeSet<_>>()), "each call has its own job");
    w.check().await;
}

#[tokio::test]
async fn grouped_reserves_of_large_jobs_are_all_served() {
    let w = World::start().await;
    w.update_settings(json!({ "dedupe": false })).await;
    let payload = "x".repeat(255_000);
    for _ in 0..8 {
        w.enqueue_many((0..25).map(|_| json!({ "payload": payload }))).await;
    }
    let mut crowd = JoinSet::new();
    for n in 0..100 {
        let client = (*w).clone();
        crowd.spawn(async move { client.reserve_as(&format!("w{n}")).await.id });
    }
    let given: BTreeSet<_> = crowd.join_all().await.into_iter().collect();
    assert_eq!(given.len(), 100);
    assert_eq!(w.queue().await["counts"]["waiting"], 100);
    w.check().await;
}
