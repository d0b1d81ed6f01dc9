//! A batch with a limit, and workers that are killed: never too many out, no place lost, one end.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::world::{
    Client, ReservedJob, World, assert_contains,
    batch_verbs::{items, member_id},
    keyspace::Event,
};

/// Pseudorandom numbers with a fixed seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// Replays the events of a batch; answers the maximum number of jobs that were reserved at once.
fn max_out_at_once(events: &[Event], batch: &str) -> usize {
    let (mut out, mut max) = (BTreeSet::new(), 0);
    for event in events.iter().filter(|event| event.job[..event.job.len() - 4] == batch[..batch.len() - 4]) {
        match event.kind.as_str() {
            "reserved" => assert!(out.insert(&event.job), "{} is handed out twice", event.job),
            "completed" | "abandoned" | "failed" | "expired" | "released" | "cancelled" => {
                out.remove(&event.job);
            }
            _ => {}
        }
        max = max.max(out.len());
    }
    max
}

/// Takes jobs and does them, until it is killed with one in its hands, or there is nothing left.
async fn work(client: Client, over: Arc<AtomicBool>, mut chance: Chance) {
    while !over.load(Ordering::Relaxed) {
        let answer = client.send_reserve(json!({})).await.is(200);
        let Some(job) = answer["jobs"].get(0) else {
            tokio::time::sleep(Duration::from_millis(2)).await;
            continue;
        };
        let held = ReservedJob::new(job);
        tokio::time::sleep(Duration::from_millis(chance.below(4))).await;
        let result = json!({ "reservation": held.reservation, "result": job["payload"] });
        match chance.below(6) {
            // Killed: not another word.
            0 | 1 => {}
            2 => drop(client.fail(&held).await),
            3 => drop(client.abandon(&held).await),
            _ => drop(client.post("/jobs/complete", result).await),
        }
    }
}

#[tokio::test]
async fn batch_concurrency_holds_when_workers_crash() {
    let w = World::start().await;
    let (_second, other) = w.start_instance().await;
    let id = w.create_batch(json!({ "concurrency": 5, "jobs": items(0..50) })).await;
    let over = Arc::new(AtomicBool::new(false));
    let mut crowd = JoinSet::new();
    for n in 0..20 {
        let client = if n % 2 == 0 { (*w).clone() } else { other.clone() };
        crowd.spawn(work(client, over.clone(), Chance(n)));
    }
    let mut lives = 0;
    while w.batch(&id).await["state"] == "sealed" {
        // A crashed worker holds its slot until the lease expires.
        tokio::time::sleep(Duration::from_millis(5)).await;
        lives += 1;
        if lives % 4 == 0 {
            w.advance_clock(300_000);
            other.sweep().await;
        }
        assert!(lives < 2_000, "it does not end: {}", w.batch(&id).await);
    }
    over.store(true, Ordering::Relaxed);
    crowd.join_all().await;
    assert_contains(
        &w.recounted_batch(&id).await,
        json!({ "state": "completed", "counts": { "completed": 50, "total": 50 } }),
    );
    assert_eq!(w.event_count("batch-completed").await, 1);
    let results: Vec<_> = w.results(&id, 7).await.iter().map(|result| result["result"].clone()).collect();
    assert_eq!(results, (0..50).map(Value::from).collect::<Vec<_>>());
    let events = w.events().await;
    assert_eq!(max_out_at_once(&events, &id), 5);
    assert!(events.iter().any(|event| event.kind == "expired"), "some were killed");
    w.check().await;
}

#[tokio::test]
async fn crashed_workers_return_their_batch_slots() {
    let w = World::start().await;
    let id = w.create_batch(json!({ "concurrency": 5, "jobs": items(0..150) })).await;
    let (mut killed, mut left, mut chance) = (0, 150, Chance(7));
    while left > 0 {
        let held = w.reserve_all(json!({ "limit": 100 })).await;
        assert_eq!(held.len(), left.min(5), "after {killed} kills");
        for held in &held {
            match chance.below(20) {
                0 => drop(w.fail(held).await.is(200)),
                1 => drop(w.abandon(held).await.is(200)),
                2 => assert_eq!(w.release(&held.id).await, 1),
                3 => drop(w.abandon_with_delay(held, 1_000).await.is(200)),
                _ if killed > 1_000 => {
                    w.complete(held).await.is(200);
                    left -= 1;
                }
                4 => {
                    w.complete(held).await.is(200);
                    left -= 1;
                }
                _ => killed += 1,
            }
        }
        assert!(left > 5 || killed > 1_000, "the story needs more jobs: {killed}");
        w.advance_clock(300_000);
        if chance.below(2) == 0 {
            w.sweep().await;
        }
    }
    assert!(killed > 1_000);
    assert_eq!(w.recounted_batch(&id).await["state"], "completed");
    assert_eq!(w.event_count("batch-completed").await, 1);
    assert_eq!(max_out_at_once(&w.events().await, &id), 5);
    w.check().await;
}

#[tokio::test]
async fn concurrent_last_completions_end_a_batch_once() {
    let w = World::start().await;
    let (_second, other) = w.start_instance().await;
    for round in 0..40_usize {
        let id = w.create_batch(json!({ "concurrency": 4, "jobs": items(0..4) })).await;
        let held = w.reserve_all(json!({ "limit": 4 })).await;
        let mut race = JoinSet::new();
        for (n, held) in held.into_iter().enumerate() {
            let client = if n % 2 == 0 { (*w).clone() } else { other.clone() };
            race.spawn(async move { client.complete(&held).await.is(200) });
        }
        for n in 0..2 {
            let (client, id) = (if n == 0 { other.clone() } else { (*w).clone() }, id.clone());
            race.spawn(async move {
                if round % 2 == 0 { client.sweep().await } else { client.cancel_batch(&id).await.json() }
            });
        }
        race.join_all().await;
        let batch = w.recounted_batch(&id).await;
        let ended = batch["state"].as_str().expect("a state");
        assert!(ended == "completed" || (ended == "cancelled" && round % 2 == 1), "{batch}");
        assert_eq!(batch["counts"]["completed"], 4);
        assert_eq!(w.event_count("batch-completed").await, round + 1);
    }
    w.check().await;
}

#[tokio::test]
async fn batches_share_a_queue_by_priority_and_own_limits() {
    let w = World::start().await;
    let mut ids = Vec::new();
    for (concurrency, priority) in [(3, 50), (2, 10), (4, 50)] {
        let batch = json!({ "concurrency": concurrency, "priority": priority, "jobs": items(0..30) });
        ids.push(w.create_batch(batch).await);
    }
    let single = w.enqueue_with(json!({ "payload": "single", "priority": 80 })).await;
    let held = w.reserve_all(json!({ "limit": 100 })).await;
    let of = |batch: usize, count: usize| (0..count).map(|n| member_id(&ids[batch], n)).collect::<Vec<_>>();
    let expected = [of(1, 2), of(0, 3), of(2, 4), vec![single]].concat();
    assert_eq!(held.iter().map(|held| held.id.clone()).collect::<Vec<_>>(), expected, "the urgent one first");
    for (state, count) in [("reserved", 2), ("blocked", 28), ("waiting", 0)] {
        let path = format!("/queues/default/jobs?state={state}&batch={}", ids[1]);
        let jobs = w.pages(&path, "jobs", 100).await;
        assert_eq!(jobs.len(), count, "{state}");
        assert!(jobs.iter().all(|job| job["batch"] == ids[1].as_str()));
    }
    for held in &held {
        w.complete(held).await.is(200);
    }
    assert_eq!(w.complete_all().await.len(), 81);
    for (id, max) in ids.iter().zip([3, 2, 4]) {
        assert_eq!(w.recounted_batch(id).await["state"], "completed");
        assert_eq!(max_out_at_once(&w.events().await, id), max);
    }
    let listed = w.pages("/batches?queue=default", "batches", 2).await;
    let mut listed: Vec<_> = listed.iter().map(|batch| batch["id"].as_str().expect("an id").to_owned()).collect();
    listed.sort();
    ids.sort();
    assert_eq!(listed, ids);
    w.get("/batches?queue=nowhere").await.refused("unknown-queue");
    w.get("/batches?queue=default&limit=0").await.invalid_by("parameter", &["limit"]);
    w.check().await;
}
