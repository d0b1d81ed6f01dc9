//! Jobs in lines whose locks are taken or whose batches are full: a caller that waits for them looks again when
//! their own gate opens, and for no other.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::world::{
    Client, ReservedJob, Took, World,
    waiters::{PROMPT_LIMIT, Waiter},
};

/// How many reserves the instance has sent to Redis.
async fn looks(client: &Client) -> u64 {
    client.metric(r#"intray_script_group_jobs_sum{script="reserve"}"#).await as u64
}

/// Waiters look now and then without a hint.
const SAFETY_TICK: Duration = Duration::from_secs(4);

async fn assert_given(what: &str, waiter: Waiter, id: &str, since: Instant) -> ReservedJob {
    let (held, at) = waiter.job_at().await;
    assert_eq!(held.id, id, "{what}");
    Took::between(since, at).assert_within(PROMPT_LIMIT, what);
    held
}

#[tokio::test]
async fn opened_gate_wakes_those_whom_it_held_up_and_no_other() {
    const WAITERS: usize = 20;
    let w = World::start_process().await;
    let (_second, other) = w.start_instance().await;
    let locked = |n: usize| json!({ "payload": n, "skill": "de", "locks": ["acme"] });
    w.enqueue_many((0..60).map(locked)).await;
    w.enqueue_many((0..20).map(|n| json!({ "payload": ["fr", n], "skill": "fr", "locks": [format!("l{n}")] }))).await;
    let held = w.reserve_with(json!({ "worker": "holder", "skills": ["de"] })).await;
    let call = |n: usize| json!({ "worker": format!("w{n}"), "skills": ["de"] });
    let waiters = other.start_waits((0..WAITERS).map(call).collect()).await;
    let (before, begin) = (looks(&other).await, Instant::now());
    for _ in 0..20 {
        let fr = w.reserve_with(json!({ "worker": "fr", "skills": ["fr"] })).await;
        w.complete(&fr).await.is(200);
    }
    // The hints come in order, so those of the other locks have come when this one wakes a waiter.
    w.complete(&held).await.is(200);
    let waits = waiters.into_iter().map(|waiter| Box::pin(waiter.job_at()));
    let ((given, _), ..) = futures_util::future::select_all(waits).await;
    assert!(given.body["payload"].is_u64(), "{}", given.body);
    let ticks = 2 + begin.elapsed().div_duration_f64(SAFETY_TICK) as u64;
    let looks = looks(&other).await - before;
    assert!(looks <= WAITERS as u64 * ticks, "{looks} looks of {WAITERS} waiters for one lock, {ticks} ticks");
}

#[tokio::test]
async fn freed_place_of_a_batch_wakes_a_line() {
    let w = World::start_process().await;
    for (how, path) in [("complete", "/jobs/complete"), ("abandon", "/jobs/abandon")] {
        let first = json!({ "payload": [how, 1], "priority": 1 });
        let second = json!({ "payload": [how, 2], "assignees": ["bob"] });
        w.create_batch(json!({ "concurrency": 1, "jobs": [first, second] })).await;
        let held = w.reserve_as("ann").await;
        let waiter = w.start_wait(json!({ "worker": "bob" })).await;
        let since = Instant::now();
        let rest = if how == "abandon" { json!({ "delay_ms": 60_000 }) } else { json!({}) };
        let mut call = json!({ "reservation": held.reservation });
        call.as_object_mut().expect("an object").extend(rest.as_object().expect("an object").clone());
        w.post(path, call).await.is(200);
        let (given, at) = waiter.job_at().await;
        assert_eq!(given.body["payload"], json!([how, 2]));
        Took::between(since, at).assert_within(PROMPT_LIMIT, how);
        w.complete(&given).await.is(200);
    }
    w.check().await;
}

/// Two gates hold a job up: the second one may open last.
#[tokio::test]
async fn job_with_two_locks_is_given_when_the_last_one_opens() {
    let w = World::start_process().await;
    for order in [["a", "b"], ["b", "a"]] {
        let lock = |lock: &str| json!({ "payload": [order, lock], "locks": [lock], "priority": 1 });
        w.enqueue_many(["a", "b"].map(lock)).await;
        let held = [w.reserve_as("ann").await, w.reserve_as("cleo").await];
        let id = w.enqueue_with(json!({ "payload": order, "assignees": ["bob"], "locks": ["a", "b"] })).await;
        let waiter = w.start_wait(json!({ "worker": "bob" })).await;
        let by_lock = |lock: &str| held.iter().find(|held| held.body["locks"] == json!([lock])).expect("held");
        w.complete(by_lock(order[0])).await.is(200);
        let since = Instant::now();
        w.complete(by_lock(order[1])).await.is(200);
        let given = assert_given(&format!("{order:?}"), waiter, &id, since).await;
        w.complete(&given).await.is(200);
    }
}

/// Waits until nothing of a waiter has moved for so long that it has looked at all.
async fn seen_all(client: &Client) {
    let mut seen = looks(client).await;
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let now = looks(client).await;
        if now == seen && now > 0 {
            return;
        }
        seen = now;
    }
}

/// A caller who has passed a gate over far from the front looks there again when it opens.
#[tokio::test]
async fn gate_far_from_the_front_is_looked_at_when_it_opens() {
    let w = World::start_process().await;
    let held = {
        let id = w.enqueue_with(json!({ "payload": "held", "locks": ["l"] })).await;
        w.reserve_with(json!({ "worker": "ann", "id": id })).await
    };
    for part in 0..3 {
        let barred = |n: usize| json!({ "payload": [part, n], "excluded": ["bob"] });
        w.enqueue_many((0..900).map(barred)).await;
        if part == 0 {
            w.enqueue_with(json!({ "payload": "for bob", "assignees": ["bob"], "locks": ["l"] })).await;
        }
    }
    let waiter = w.start_reserve(json!({ "worker": "bob" }));
    seen_all(&w).await;
    let since = Instant::now();
    w.complete(&held).await.is(200);
    let (given, at) = waiter.job_at().await;
    assert_eq!(given.body["payload"], "for bob");
    Took::between(since, at).assert_within(PROMPT_LIMIT, "the answer");
}

/// The wait continues where an earlier call ended, and is woken by the gates that held that one up too.
#[tokio::test]
async fn gate_met_by_an_earlier_call_wakes_a_wait() {
    let w = World::start_process().await;
    for caller in [json!({ "worker": "bob" }), json!({})] {
        let call = |more: Value| {
            let mut call = caller.clone();
            let fields = call.as_object_mut().expect("an object");
            fields.insert("skills".to_owned(), json!(["de"]));
            fields.extend(more.as_object().expect("an object").clone());
            call
        };
        let lock = |lock: &str| json!({ "payload": [caller, lock], "locks": [lock], "priority": 1 });
        w.enqueue_many(["acme", "mid"].map(lock)).await;
        let held = [w.reserve_as("ann").await, w.reserve_as("cleo").await];
        for part in 0..3 {
            let lock = |n: usize| if part == 0 && n == 500 { "mid" } else { "acme" };
            let job = |n: usize| json!({ "payload": [caller, part, n], "skill": "de", "locks": [lock(n)] });
            w.enqueue_many((0..900).map(job)).await;
        }
        assert!(w.reserve_all(call(json!({}))).await.is_empty());
        let waiter = w.start_reserve(call(json!({})));
        seen_all(&w).await;
        let since = Instant::now();
        let mid = held.iter().find(|held| held.body["locks"] == json!(["mid"])).expect("held");
        w.complete(mid).await.is(200);
        let (given, at) = waiter.job_at().await;
        assert_eq!(given.body["payload"], json!([caller, 0, 500]));
        Took::between(since, at).assert_within(PROMPT_LIMIT, &caller);
        for state in ["reserved", "waiting", "blocked"] {
            w.delete(&format!("/queues/default?state={state}&force=true")).await.is(200);
        }
    }
}
