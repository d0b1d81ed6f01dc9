//! Many waiters: only as many are woken as there are jobs, the longest wait first, and none is forgotten.

use std::time::Duration;

use serde_json::json;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use crate::world::{
    Took, World, eventually,
    waiters::{PROMPT_LIMIT, Waiter},
};

#[tokio::test]
async fn one_job_wakes_one_of_ten_waiters() {
    let w = World::start_process().await;
    let (_second, other) = w.start_instance().await;
    const WAIT: u64 = 10_000;
    let waiters = other.start_waits(vec![json!({ "wait_ms": WAIT }); 10]).await;
    sleep(Duration::from_millis(200)).await;
    let before = other.script_runs("reserve").await;
    let id = w.enqueue(1).await;
    let is_served = async || waiters.iter().any(|waiter| waiter.is_answered()).then_some(());
    eventually("one is served", is_served).await;
    sleep(Duration::from_millis(500)).await;
    assert_eq!(waiters.iter().filter(|waiter| waiter.is_answered()).count(), 1);
    let looks = other.script_runs("reserve").await - before;
    assert!(looks <= 3, "{looks} looks for one job");
    let mut served = 0;
    for waiter in waiters {
        let (answer, took) = waiter.timed_answer().await;
        let answer = answer.is(200);
        match answer["jobs"].get(0) {
            Some(job) => {
                assert_eq!(job["id"], id.as_str());
                served += 1;
            }
            None => {
                // The reason of the last snapshot, which may be older than the job.
                assert!(answer["reason"] == "reserved" || answer["reason"] == "empty", "{answer}");
                let retry_after_ms = answer["retry_after_ms"].as_u64().expect("a number");
                assert!((250..=5_000).contains(&retry_after_ms), "{answer}");
                assert!(took.real() >= Duration::from_millis(WAIT), "{took:?}");
                took.assert_within(Duration::from_millis(WAIT) + PROMPT_LIMIT, "the answer");
            }
        }
    }
    assert_eq!(served, 1);
    let looks = other.script_runs("reserve").await - before;
    assert!(looks <= 3, "{looks} looks, with those at the end of the waits");
    w.check().await;
}

#[tokio::test]
async fn longest_waiters_are_served_first_one_per_job() {
    let w = World::start_process().await;
    let (_second, other) = w.start_instance().await;
    let mut waiters = Vec::new();
    for _ in 0..12 {
        waiters.push(other.start_wait(json!({})).await);
    }
    let answered = |waiters: &[Waiter]| waiters.iter().map(Waiter::is_answered).collect::<Vec<_>>();
    for n in 0..4 {
        let id = w.enqueue(n).await;
        assert_eq!(waiters.remove(0).job().await.id, id, "the oldest");
        assert!(!answered(&waiters).contains(&true), "and no other");
    }
    let ids = w.enqueue_many((0..3).map(|n| json!({ "payload": ["three", n] }))).await;
    for (waiter, _) in waiters.drain(..3).zip(0..).collect::<Vec<_>>() {
        assert!(ids.contains(&waiter.job().await.id));
    }
    sleep(Duration::from_millis(100)).await;
    assert!(!answered(&waiters).contains(&true), "three jobs wake three");
    // One hint for more jobs than waiters.
    w.enqueue_many((0..50).map(|n| json!({ "payload": ["many", n] }))).await;
    for waiter in waiters {
        waiter.job().await;
    }
    assert_eq!(w.queue().await["counts"]["waiting"], 45);
    w.check().await;
}

#[tokio::test]
async fn waiter_served_elsewhere_passes_its_wake_up_on() {
    let w = World::start_process().await;
    let (_second, other) = w.start_instance().await;
    for round in 0..40 {
        let both = other.start_reserve(json!({ "queues": ["x", "y"] }));
        sleep(Duration::from_millis(60)).await;
        let only = other.start_wait(json!({ "queues": ["y"] })).await;
        assert!(!both.is_answered());
        // The job of y wakes the longest waiter, which mostly finds the one of x first.
        let jobs = [json!({ "queue": "y", "payload": round }), json!({ "queue": "x", "payload": round })];
        let since = Instant::now();
        w.enqueue_many(jobs).await;
        let (first, at) = both.job_at().await;
        Took::between(since, at).assert_within(PROMPT_LIMIT, format_args!("round {round}"));
        if first.body["queue"] == "y" {
            w.reserve_with(json!({ "queues": ["x"] })).await;
            w.enqueue_with(json!({ "queue": "y", "payload": [round] })).await;
        }
        let (_, at) = only.job_at().await;
        Took::between(since, at).assert_within(PROMPT_LIMIT * 2, format_args!("round {round}, by the safety tick"));
    }
    w.check().await;
}

#[tokio::test]
async fn waiter_that_resumes_a_job_passes_its_wake_up_on() {
    let w = World::start_process().await;
    w.update_settings(json!({ "worker_limit": 2 })).await;
    let first = w.enqueue(1).await;
    assert_eq!(w.reserve_as("ann").await.id, first);
    let (ann, bob) = (w.start_wait(json!({ "worker": "ann" })).await, w.start_wait(json!({ "worker": "bob" })).await);
    w.update_settings(json!({ "worker_limit": 1 })).await;
    let since = Instant::now();
    let second = w.enqueue(2).await;
    let (held, at) = bob.job_at().await;
    assert_eq!(held.id, second);
    Took::between(since, at).assert_within(PROMPT_LIMIT, "the answer");
    let held = ann.job().await;
    assert_eq!((&held.id, &held.body["resumed"]), (&first, &json!(true)));
    w.check().await;
}

/// A look, a job and a subscription in every order: each queue is used twice, first without a subscription.
#[tokio::test]
async fn job_racing_with_the_subscription_is_not_missed() {
    race_jobs_and_waiters(1_000, |n| n % 500).await;
}

/// The same with three waiters and three jobs, so that the look of one meets the job of another.
#[tokio::test]
async fn three_jobs_racing_with_three_waiters_are_not_missed() {
    race_jobs_and_waiters(600, |n| n / 3).await;
}

async fn race_jobs_and_waiters(rounds: usize, queue: fn(usize) -> usize) {
    let w = World::start().await;
    let (_second, other) = w.start_instance().await;
    let (mut crowd, mut took) = (JoinSet::new(), Vec::new());
    for n in 0..rounds {
        let (producer, consumer) = ((*w).clone(), other.clone());
        crowd.spawn(async move {
            let queue = format!("q{}", queue(n));
            let waiter = consumer.start_reserve(json!({ "queues": [queue] }));
            sleep(Duration::from_micros((n as u64 * 7_919) % 4_000)).await;
            let since = Instant::now();
            producer.enqueue_with(json!({ "queue": queue, "payload": n })).await;
            let (_, at) = waiter.job_at().await;
            at.saturating_duration_since(since)
        });
        while crowd.len() >= 9 {
            took.push(crowd.join_next().await.expect("a crowd").expect("served"));
        }
    }
    took.extend(crowd.join_all().await);
    took.sort();
    let late = took.iter().filter(|took| **took > PROMPT_LIMIT * 3).count();
    eprintln!("{rounds} rounds: median {:?}, the slowest {:?}", took[rounds / 2], took[rounds - 1]);
    assert_eq!(late, 0, "served only by the safety tick: {:?}", &took[rounds - late..]);
    let page = w.get("/queues").await.is(200);
    for queue in page["queues"].as_array().expect("queues") {
        assert_eq!(
            (&queue["counts"]["waiting"], &queue["totals"]["handed_out"]),
            (&json!(0), &queue["totals"]["enqueued"])
        );
    }
    w.check().await;
}
