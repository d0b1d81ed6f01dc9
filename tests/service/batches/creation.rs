//! Batches of ten thousand jobs are stored completely or not at all, also with readers and on a full Redis.

use serde_json::{Value, json};

use crate::world::{
    RETENTION_MS, World, assert_contains,
    batch_verbs::{items, member_id},
    id_of,
};

#[tokio::test]
async fn batch_of_ten_thousand_is_served_in_order() {
    let w = World::start().await;
    let id = w.create_batch(json!({ "jobs": items(0..10_000) })).await;
    assert_eq!(w.recounted_batch(&id).await["counts"]["total"], 10_000);
    let done = w.complete_all().await;
    assert!(done.into_iter().eq((0..10_000).map(|n| member_id(&id, n))));
    let ended = w.recounted_batch(&id).await;
    assert_contains(&ended, json!({ "state": "completed", "counts": { "completed": 10_000 } }));
    for limit in [1_000, 999] {
        let results = w.results(&id, limit).await;
        assert!(results.iter().enumerate().all(|(n, result)| result["result"] == n));
    }
    w.advance_clock(RETENTION_MS);
    w.sweep_until("nothing is left", async || w.leftover_keys().await.is_empty()).await;
    w.check().await;
}

#[tokio::test]
async fn batch_with_one_invalid_job_stores_nothing() {
    let w = World::start().await;
    for bad in [0, 4_999, 9_999] {
        let mut jobs = items(0..10_000);
        jobs[bad]["priority"] = json!(100);
        w.post("/batches", json!({ "jobs": jobs })).await.invalid_at(&[&format!("/jobs/{bad}/priority")]);
    }
    w.post("/batches", json!({ "jobs": items(0..10_001) })).await.refused("too-many-items");
    assert_eq!(w.leftover_keys().await, Vec::<String>::new());
    w.update_settings(json!({ "max_jobs": 9_999 })).await;
    let full = w.post("/batches", json!({ "jobs": items(0..10_000) })).await;
    assert_eq!((full.status, full.refused("queue-full")["status"].clone()), (429, json!(429)));
    assert_eq!((w.record_count().await, w.leftover_keys().await), (0, Vec::<String>::new()));
    assert_eq!(w.empty_reason(json!({})).await, "empty");
    w.create_batch(json!({ "jobs": items(0..9_999) })).await;
    assert_eq!(w.send_enqueue(json!({ "payload": 1 })).await.status, 429);
    w.check().await;
}

#[tokio::test]
async fn batch_is_invisible_until_all_jobs_are_stored() {
    let w = World::start().await;
    let (_second, other) = w.start_instance().await;
    let mut asked = 0;
    // With and without a limit, and again if no reserve ran during a creation.
    for round in 0..20 {
        let concurrency = if round % 2 == 0 { json!(7) } else { Value::Null };
        let mut batch = json!({ "jobs": items(0..10_000) });
        if !concurrency.is_null() {
            batch["concurrency"] = concurrency.clone();
        }
        let creation = tokio::spawn({
            let client = (*w).clone();
            async move { id_of(&client.post("/batches", batch).await.is(201)) }
        });
        // As long as it is not whole there is nothing; the first hand-out finds every job stored.
        let held = loop {
            let before = w.record_count().await;
            let held = other.reserve_all(json!({ "limit": 100 })).await;
            if !held.is_empty() {
                assert_eq!(w.record_count().await, 10_000, "handed out before it was whole");
                break held;
            }
            asked += usize::from(before > 0);
            for path in ["/queues/default/jobs?state=waiting", "/queues/default/jobs?state=blocked"] {
                let page = other.get(path).await;
                if page.status == 200 && page.json()["jobs"].as_array().is_some_and(|jobs| !jobs.is_empty()) {
                    assert_eq!(w.record_count().await, 10_000, "seen before it was whole");
                }
            }
        };
        let id = creation.await.expect("created");
        assert_eq!(held[0].id, member_id(&id, 0));
        assert!(concurrency.is_null() || held.len() <= 7);
        assert_eq!(w.recounted_batch(&id).await["counts"]["total"], 10_000);
        w.check().await;
        w.cancel_batch(&id).await.is(200);
        w.advance_clock(300_000);
        w.sweep_until("it is over", async || w.batch(&id).await["state"] == "cancelled").await;
        w.advance_clock(RETENTION_MS);
        w.sweep_until("it is gone", async || w.record_count().await == 0).await;
        if round > 0 && asked > 0 {
            break;
        }
    }
    assert!(asked > 0, "a reserve ran during a creation");
    w.check().await;
}

#[tokio::test]
async fn batch_creation_that_fills_redis_is_rolled_back() {
    let w = World::start().await;
    w.enqueue("before").await;
    let used = async || w.engine.info_number("memory", "used_memory").await;
    let jobs: Vec<_> = (0..10_000).map(|n| json!({ "payload": { "n": n, "text": "x".repeat(300) } })).collect();
    let limit = used().await + (3 << 20);
    let _: String = w.engine.run(&format!("CONFIG SET maxmemory {limit}")).await;
    let full = w.post("/batches", json!({ "concurrency": 5, "jobs": jobs })).await;
    assert_eq!(full.status, 507, "{}", full.text());
    full.refused("storage-full");
    let held = w.reserve_all(json!({ "limit": 100 })).await;
    assert_eq!(held.len(), 1, "only what was there before");
    assert_eq!(w.get("/batches?queue=default").await.is(200)["batches"], json!([]));
    w.advance_clock(61_000);
    w.sweep_until("nothing of it is left", async || w.record_count().await == 1).await;
    w.complete(&held[0]).await.is(200);
    let open = json!({ "sealed": false, "jobs": items(0..2) });
    let _: String = w.engine.run("CONFIG SET maxmemory 1").await;
    let refused = w.post("/batches", open.clone()).await;
    assert_eq!(refused.status, 507, "{}", refused.text());
    let _: String = w.engine.run("CONFIG SET maxmemory 0").await;
    let id = w.create_batch(open).await;
    let _: String = w.engine.run("CONFIG SET maxmemory 1").await;
    assert_eq!(w.append(&id, &items(2..4)).await.status, 507);
    assert_eq!(w.recounted_batch(&id).await["counts"]["total"], 2);
    assert_eq!(w.seal(&id).await.is(200)["state"], "sealed", "what empties a queue goes on");
    assert_eq!(w.complete_all().await.len(), 2);
    assert_eq!(w.batch(&id).await["state"], "completed");
    let _: String = w.engine.run("CONFIG SET maxmemory 0").await;
    w.check().await;
}
