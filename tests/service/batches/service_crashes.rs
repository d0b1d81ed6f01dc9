//! A service that is killed during a batch call or under load leaves nothing half-done and strands no job.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::world::{
    Answer, CallFate, Client, RETENTION_MS, ReservedJob, World, assert_contains,
    batch_verbs::{items, member_id},
    eventually, id_of, number,
};

/// A creation appends its jobs in steps of so many.
const STEP: usize = 100;

async fn attempt(client: &Client, key: &str, batch: &Value) -> Option<Answer> {
    client.request("POST", "/batches").header("idempotency-key", key).json(batch.to_string()).send_if_possible().await
}

/// A creation whose service is killed while this call of this script is on its way: Redis never receives it.
async fn create_until(w: &mut World, key: &str, batch: &Value, (script, nth): (&str, usize)) {
    w.proxy().inject(script, nth, CallFate::Held);
    let creation = tokio::spawn({
        let (client, key, batch) = ((**w).clone(), key.to_owned(), batch.clone());
        async move { attempt(&client, &key, &batch).await }
    });
    eventually("the call is sent", async || (w.proxy().injected_calls() == 1).then_some(())).await;
    w.service.kill();
    creation.await.expect("no answer is an answer");
    w.restart().await;
}

#[tokio::test]
async fn stalled_batch_creation_is_removed_after_a_minute() {
    let mut w = World::plan().own_process().with_proxy().start().await;
    w.update_settings(json!({ "retention_ms": 10_000 })).await;
    w.stop_clock();
    let batch = json!({ "concurrency": 5, "jobs": items(0..10_000) });
    for steps in [1, 40, 99] {
        create_until(&mut w, "k", &batch, ("append", steps + 1)).await;
        let records = steps * STEP;
        assert_eq!(w.record_count().await, records, "killed in the middle");
        assert!(w.reserve_all(json!({ "limit": 100 })).await.is_empty(), "none of it is reserved");
        assert_eq!(w.get("/batches?queue=default").await.is(200)["batches"], json!([]), "none of it is listed");
        assert_eq!(w.list_ids("waiting").await, Vec::<String>::new());
        assert_eq!(w.list_ids("blocked").await, Vec::<String>::new());
        assert_eq!(w.queue().await["counts"]["waiting"], 0);
        w.advance_clock(59_999);
        w.sweep().await;
        assert_eq!(w.record_count().await, records, "the creation may still be running");
        w.check().await;
        w.advance_clock(1);
        w.sweep_until("nothing is left", async || w.leftover_keys().await.is_empty()).await;
        assert_eq!(w.event_count("batch-completed").await, 0, "after {steps} steps");
        w.check().await;
    }
}

#[tokio::test]
async fn repeated_call_finishes_an_interrupted_creation() {
    let mut w = World::plan().own_process().with_proxy().start().await;
    let batch = json!({ "concurrency": 5, "jobs": items(0..10_000) });
    create_until(&mut w, "k", &batch, ("append", 31)).await;
    assert_eq!(w.record_count().await, 30 * STEP);
    let made = eventually("the same call makes it", async || {
        let answer = attempt(&w, "k", &batch).await?;
        if answer.status != 201 {
            w.advance_clock(10_000);
            w.post("/queues/default/sweep", json!({})).await;
        }
        (answer.status == 201).then(|| answer.json())
    })
    .await;
    assert_contains(&made, json!({ "state": "sealed", "counts": { "total": 10_000 } }));
    let id = id_of(&made);
    assert_eq!(
        (w.recounted_batch(&id).await["counts"].clone(), w.record_count().await),
        (made["counts"].clone(), 10_000)
    );
    assert_eq!(w.reserve_all(json!({ "limit": 100 })).await.len(), 5);
    w.advance_clock(120_000);
    w.sweep().await;
    assert_eq!(w.recounted_batch(&id).await["counts"]["total"], 10_000, "what is made is not taken for stalled");
    w.check().await;
}

#[tokio::test]
async fn sweep_opens_a_fully_stored_batch_after_a_crash() {
    let mut w = World::plan().own_process().with_proxy().start().await;
    // Before it begins to open, and while it opens.
    for (concurrency, nth) in [(json!(1_000), 1), (json!(1_000), 3), (Value::Null, 1), (Value::Null, 20)] {
        let mut batch = json!({ "jobs": items(0..10_000) });
        if !concurrency.is_null() {
            batch["concurrency"] = concurrency;
        }
        create_until(&mut w, &batch["concurrency"].to_string(), &batch, ("stage", nth)).await;
        assert_eq!(w.record_count().await, 10_000, "all is stored");
        w.check().await;
        w.sweep_until("it is open", async || {
            let batches = w.get("/batches?queue=default").await.is(200);
            batches["batches"].as_array().is_some_and(|batches| batches.iter().any(|batch| batch["state"] == "sealed"))
        })
        .await;
        for _ in 0..60 {
            w.sweep().await;
        }
        w.check().await;
        let done = w.complete_all().await;
        let id = format!("{}0000", &done[0][..done[0].len() - 4]);
        assert!(done.into_iter().eq((0..10_000).map(|n| member_id(&id, n))));
        assert_eq!(w.recounted_batch(&id).await["state"], "completed");
        w.advance_clock(RETENTION_MS);
        w.sweep_until("nothing is left", async || w.leftover_keys().await.is_empty()).await;
    }
}

#[tokio::test]
async fn sweep_finishes_an_interrupted_batch_cancel() {
    let mut w = World::start_process().await;
    let id = w.create_batch(json!({ "concurrency": 3, "jobs": items(0..10_000) })).await;
    let held = w.reserve_all(json!({ "limit": 100 })).await;
    let begun = tokio::spawn({
        let (client, id) = ((*w).clone(), id.clone());
        async move { client.request("DELETE", &format!("/batches/{id}")).send_if_possible().await.is_some() }
    });
    eventually("it has begun", async || {
        let length: u64 = w.engine.run("XLEN intray:{default}:2:events").await;
        let state = w.state(&member_id(&id, 5)).await;
        (length > 0 && state == "cancelled").then_some(())
    })
    .await;
    w.service.kill();
    let _ = begun.await;
    w.restart().await;
    w.check().await;
    assert_eq!(w.complete(&held[0]).await.is(200)["state"], "completed");
    w.sweep_until("all is cancelled", async || number(&w.batch(&id).await["counts"], "cancelled") == 9_997).await;
    assert!(w.reserve_all(json!({ "limit": 100 })).await.is_empty());
    w.complete(&held[1]).await.is(200);
    w.abandon(&held[2]).await.is(200);
    let counts = json!({ "completed": 2, "cancelled": 9_998, "total": 10_000 });
    assert_contains(&w.recounted_batch(&id).await, json!({ "state": "cancelled", "counts": counts }));
    w.check().await;
}

#[tokio::test]
async fn due_jobs_of_a_cancelled_batch_end_as_cancelled() {
    let mut w = World::start_process().await;
    let late = (0..200).map(|n| json!({ "payload": n, "delay_ms": 60_000 }));
    let jobs: Vec<Value> = items(0..9_800).into_iter().chain(late).collect();
    let id = w.create_batch(json!({ "jobs": jobs })).await;
    let begun = tokio::spawn({
        let (client, id) = ((*w).clone(), id.clone());
        async move { client.request("DELETE", &format!("/batches/{id}")).send_if_possible().await.is_some() }
    });
    eventually("it has begun", async || (w.state(&member_id(&id, 5)).await == "cancelled").then_some(())).await;
    w.service.kill();
    let _ = begun.await;
    w.advance_clock(60_000);
    w.restart().await;
    w.sweep_until("all is cancelled", async || number(&w.batch(&id).await["counts"], "cancelled") == 10_000).await;
    let events = w.events_of(&member_id(&id, 9_999)).await;
    assert_eq!(events.last().map(String::as_str), Some("cancelled"), "nothing comes after its end: {events:?}");
    w.check().await;
}

/// Reserves and completes jobs until the service is gone.
async fn work(client: Client, n: usize) {
    let ask = json!({ "worker": format!("w{n}") }).to_string();
    loop {
        let Some(answer) = client.request("POST", "/jobs/reserve").json(ask.clone()).send_if_possible().await else {
            return;
        };
        let Some(job) = answer.json()["jobs"].get(0).cloned() else {
            tokio::time::sleep(Duration::from_millis(2)).await;
            continue;
        };
        let held = ReservedJob::new(&job);
        let done = json!({ "reservation": held.reservation, "result": job["payload"] }).to_string();
        if client.request("POST", "/jobs/complete").json(done).send_if_possible().await.is_none() {
            return;
        }
    }
}

#[tokio::test]
async fn crash_under_load_strands_no_locked_or_batch_job() {
    let mut w = World::start_process().await;
    let locked = |n: usize| json!({ "payload": n, "locks": [format!("l{}", n % 3), format!("m{}", n % 4)] });
    let ids = w.enqueue_many((0..300).map(locked)).await;
    let id = w.create_batch(json!({ "concurrency": 4, "jobs": (0..300).map(locked).collect::<Vec<_>>() })).await;
    for round in 1..=3 {
        let mut crowd = JoinSet::new();
        for n in 0..10 {
            crowd.spawn(work((*w).clone(), n));
        }
        eventually("there is load", async || (w.event_count("completed").await > round * 50).then_some(())).await;
        w.service.kill();
        crowd.join_all().await;
        w.restart().await;
        w.check().await;
    }
    w.advance_clock(300_000);
    w.complete_all().await;
    for job in &ids {
        assert_eq!(w.state(job).await, "completed");
    }
    assert_eq!(
        (w.recounted_batch(&id).await["state"].clone(), w.event_count("batch-completed").await),
        (json!("completed"), 1)
    );
    assert_eq!(w.locks().await, Vec::<Value>::new());
    w.check().await;
}
