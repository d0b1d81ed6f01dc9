//! Thousands of jobs parked at one lock do not slow down reserves of other jobs.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::world::{Fault, World, eventually, number, pending_reserve::PendingReserve};

async fn enqueue_thousand_locked(w: &World, queue: &str) {
    let jobs = (0..1_000).map(|n| json!({ "queue": queue, "payload": [n], "locks": ["busy"] }));
    w.enqueue_many(jobs).await;
}

async fn free_ones(w: &World, queue: &str, count: usize) -> Vec<String> {
    w.enqueue_many((0..count).map(|n| json!({ "queue": queue, "payload": n, "locks": ["free"], "dedupe": false })))
        .await
}

/// Takes the next job and gives back how long that took; it is the one that it should be, and is done with at once.
async fn timed(w: &World, queue: &str, expected: &str) -> Duration {
    let begin = Instant::now();
    let held = w.reserve_with(json!({ "queues": [queue] })).await;
    let took = begin.elapsed();
    assert_eq!(held.id, expected, "the next that is free");
    w.complete(&held).await.is(200);
    took
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64()
}

/// In `crowded` a thousand jobs are blocked, in `clear` none. The calls alternate, so that a busy machine affects both. Compares
/// medians, and fails only on a lasting difference.
async fn both_are_as_fast(w: &World) {
    let mut ratios = Vec::new();
    for _ in 0..6 {
        let (crowded, clear) = (free_ones(w, "crowded", 200).await, free_ones(w, "clear", 200).await);
        let (mut with, mut without) = (Vec::new(), Vec::new());
        for (one, other) in crowded.iter().zip(&clear) {
            with.push(timed(w, "crowded", one).await);
            without.push(timed(w, "clear", other).await);
        }
        ratios.push(median(with) / median(without));
        if ratios.last().is_some_and(|ratio| (0.8..=1.2).contains(ratio)) {
            return;
        }
    }
    panic!("a reserve with a thousand blocked takes so many times as long as one with none: {ratios:?}");
}

#[tokio::test]
async fn jobs_parked_at_a_lock_do_not_slow_reserves() {
    let w = World::start().await;
    for queue in ["crowded", "clear"] {
        w.enqueue_with(json!({ "queue": queue, "payload": "holder", "locks": ["busy"] })).await;
        w.reserve_with(json!({ "queues": [queue], "lease_ms": 86_400_000 })).await;
    }
    enqueue_thousand_locked(&w, "crowded").await;
    let queue = w.get("/queues/crowded").await.is(200);
    assert_eq!((&queue["counts"]["blocked"], &queue["counts"]["waiting"]), (&json!(1_000), &json!(0)));
    assert_eq!(number(&w.get("/queues/crowded/locks").await.is(200)["locks"][0], "blocked"), 1_000);
    assert_eq!(w.pages("/queues/crowded/jobs?state=blocked", "jobs", 100).await.len(), 1_000);
    let free = free_ones(&w, "crowded", 2).await;
    timed(&w, "crowded", &free[0]).await;
    timed(&w, "crowded", &free[1]).await;
    both_are_as_fast(&w).await;
    w.check().await;
}

#[tokio::test]
async fn jobs_blocked_by_a_new_lock_are_parked_by_one_reserve() {
    let w = World::start().await;
    for queue in ["crowded", "clear"] {
        w.enqueue_with(json!({ "queue": queue, "payload": "holder", "locks": ["busy"] })).await;
        if queue == "crowded" {
            enqueue_thousand_locked(&w, queue).await;
        }
        w.reserve_with(json!({ "queues": [queue], "lease_ms": 86_400_000 })).await;
    }
    let free = free_ones(&w, "crowded", 2).await;
    timed(&w, "crowded", &free[0]).await;
    let counts = w.get("/queues/crowded").await.is(200)["counts"].clone();
    assert_eq!((&counts["blocked"], &counts["waiting"]), (&json!(1_000), &json!(1)), "whom the call met, it put aside");
    timed(&w, "crowded", &free[1]).await;
    both_are_as_fast(&w).await;
    w.check().await;
}

#[tokio::test]
async fn repeated_reserves_pass_thousands_of_blocked_jobs() {
    let w = World::start().await;
    let holder = w.enqueue_locked("holder", &["busy"]).await;
    for round in 0..5 {
        w.enqueue_many((0..1_000).map(|n| json!({ "payload": [round, n], "locks": ["busy"] }))).await;
    }
    let free = w.enqueue("free").await;
    assert_eq!(w.reserve().await.id, holder);
    let mut calls = 0;
    let held = loop {
        calls += 1;
        assert!(calls <= 4, "each call puts two thousand aside");
        let answer = w.send_reserve(json!({})).await.is(200);
        if let Some(job) = answer["jobs"].get(0) {
            break crate::world::ReservedJob::new(job);
        }
        assert!(number(&answer, "retry_after_ms") <= 500, "it is worth asking again soon: {answer}");
    };
    assert_eq!(held.id, free);
    assert_eq!(w.empty_reason(json!({})).await, "blocked");
    assert_eq!(w.queue().await["counts"]["blocked"], 5_000);
    w.check().await;
}

#[tokio::test]
async fn lock_serves_many_parked_jobs_in_order() {
    let w = World::start().await;
    let holder = w.enqueue_locked("holder", &["busy"]).await;
    let held = w.reserve().await;
    assert_eq!(held.id, holder);
    let jobs = (0..300).map(|n| json!({ "payload": n, "priority": 90 - n % 4, "locks": ["busy"] }));
    let ids = w.enqueue_many(jobs).await;
    w.complete(&held).await.is(200);
    let mut order: Vec<_> = (0..300).collect();
    order.sort_by_key(|n| 90 - n % 4);
    let expected: Vec<_> = order.into_iter().map(|n: usize| ids[n].clone()).collect();
    assert_eq!(w.complete_all().await, expected);
    w.check().await;
}

/// Ann passes over a job whose second lock is held. What she gets instead holds its first one, and Bob's call in the same script parks it.
#[tokio::test]
async fn job_is_parked_at_its_first_lock_that_is_held_by_then() {
    let w = World::plan().with_proxy().with_long_redis_timeout().start().await;
    let holder = w.enqueue_locked("holder", &["b"]).await;
    w.enqueue_with(json!({ "payload": "not for ann", "locks": ["a", "b"], "excluded": ["ann"] })).await;
    w.enqueue_locked("for ann", &["a"]).await;
    assert_eq!(w.reserve_as("cleo").await.id, holder);
    w.proxy().set_fault(Fault::Freeze);
    let first = PendingReserve::send(&w, &json!({ "worker": "cleo", "id": holder })).await;
    eventually("the first call is on its way", async || w.proxy().is_withholding().then_some(())).await;
    let anns = PendingReserve::send(&w, &json!({ "worker": "ann" })).await;
    // Her call must be the first of the next script.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let bobs = PendingReserve::send(&w, &json!({ "worker": "bob" })).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    w.proxy().set_fault(Fault::None);
    eventually("the job is blocked", async || (w.event_count("blocked").await == 1).then_some(())).await;
    eventually("ann has a job", async || (w.event_count("reserved").await == 2).then_some(())).await;
    let kinds: Vec<_> = w.events().await.into_iter().map(|event| event.kind).collect();
    let blocked: Vec<_> = w.locks().await.iter().map(|lock| number(lock, "blocked")).collect();
    // On a very busy machine Bob's call may come first, when only the second lock is held.
    let expected = if kinds.ends_with(&["reserved".to_owned(), "blocked".to_owned()]) { [1, 0] } else { [0, 1] };
    assert_eq!(blocked, expected, "{kinds:?}");
    for call in [first, anns, bobs] {
        assert!(call.hang_up().await.is_some(), "it was answered");
    }
    w.check().await;
}
