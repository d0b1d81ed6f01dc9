//! Waiting while the connection that receives hints, or Redis itself, is down, frozen or silent.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::json;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use crate::world::{
    Fault, ReservedJob, Took, World, eventually,
    waiters::{MAX_WAIT_MS, PROMPT_LIMIT},
    wire::HintConnection,
};

/// How often a waiter looks without a hint.
const SAFETY_TICK: Duration = Duration::from_secs(5);

#[tokio::test]
async fn killed_subscriptions_delay_jobs_by_one_safety_tick() {
    const CONSUMERS: usize = 10;
    let w = World::start().await;
    let (_second, other) = w.start_instance().await;
    let over = Arc::new(AtomicBool::new(false));
    let mut crowd = JoinSet::new();
    for _ in 0..CONSUMERS {
        let (client, over) = (other.clone(), over.clone());
        crowd.spawn(async move {
            let mut held = Vec::new();
            while !over.load(Ordering::Relaxed) {
                let (answer, at) = client.start_reserve(json!({ "wait_ms": 2_000 })).answer().await;
                let answer = answer.is(200);
                for job in answer["jobs"].as_array().expect("jobs") {
                    held.push((job["payload"].as_u64().expect("a number"), at));
                    client.complete(&ReservedJob::new(job)).await.is(200);
                }
            }
            held
        });
    }
    let (mut enqueued, mut killed) = (Vec::new(), 0);
    let begin = Instant::now();
    let mut next_kill = begin;
    while begin.elapsed() < Duration::from_secs(6) {
        if next_kill.elapsed() > Duration::ZERO {
            killed += w.engine.run::<u64>("CLIENT KILL TYPE pubsub").await;
            next_kill += Duration::from_millis(200);
        }
        enqueued.push(Instant::now());
        w.enqueue(enqueued.len() - 1).await;
        sleep(Duration::from_millis(15)).await;
    }
    assert!(killed > 10, "{killed} were killed");
    eventually("all jobs are done", async || (w.queue().await["counts"]["completed"] == enqueued.len()).then_some(()))
        .await;
    over.store(true, Ordering::Relaxed);
    let held: Vec<_> = crowd.join_all().await.into_iter().flatten().collect();
    assert_eq!(held.len(), enqueued.len());
    let mut took: Vec<_> = held.iter().map(|(n, at)| *at - enqueued[*n as usize]).collect();
    took.sort();
    let (median, worst) = (took[took.len() / 2], took[took.len() - 1]);
    eprintln!("{killed} kills, {} jobs: median {median:?}, worst {worst:?}", took.len());
    assert!(worst < SAFETY_TICK + Duration::from_millis(100), "{worst:?}");
    w.check().await;
}

#[tokio::test]
async fn long_poll_reports_applied_unknown_after_a_lost_reply() {
    let w = World::plan().with_proxy().start().await;
    // Redis knows the script already, so that the lost reply is the reply of the reserve.
    w.send_reserve(json!({})).await;
    let id = w.enqueue("work").await;
    w.proxy().set_fault(Fault::DropReplies);
    let waiter = tokio::spawn({
        let client = (*w).clone();
        async move { client.send_reserve(json!({ "worker": "ann", "wait_ms": 4_000 })).await }
    });
    eventually("the job is reserved", async || {
        (w.engine.run::<u64>("ZCARD intray:{default}:2:reserved").await == 1).then_some(())
    })
    .await;
    w.proxy().set_fault(Fault::Refuse);
    w.proxy().cut_connections();
    let refused = waiter.await.expect("an answer").refused("unavailable");
    assert_eq!(refused["applied"], "unknown");
    w.proxy().set_fault(Fault::None);
    let held = eventually("Redis is back", async || {
        let answer = w.send_reserve(json!({ "worker": "ann" })).await;
        (answer.status == 200).then(|| ReservedJob::new(&answer.json()["jobs"][0]))
    })
    .await;
    assert_eq!((held.id.as_str(), &held.body["resumed"]), (id.as_str(), &json!(true)));
    w.check().await;
}

#[tokio::test]
async fn resubscribing_finds_jobs_enqueued_meanwhile() {
    let w = World::start_process().await;
    let wired = w.start_wired_instance().await;
    for n in 0..5 {
        let waiter = wired.start_wait(json!({})).await;
        sleep(Duration::from_millis(100)).await;
        wired.hint_connection(HintConnection::Refused);
        // The service knows that the connection is closed, and cannot open another.
        eventually("the subscription is closed", async || {
            let listeners: (String, u64) = w.engine.run("PUBSUB NUMSUB intray:{default}:2:hints").await;
            (listeners.1 == 0).then_some(())
        })
        .await;
        w.enqueue(n).await;
        sleep(Duration::from_millis(400)).await;
        let since = Instant::now();
        wired.hint_connection(HintConnection::Open);
        let (_, at) = waiter.job_at().await;
        Took::between(since, at).assert_within(PROMPT_LIMIT, "the answer");
    }
    w.check().await;
}

#[tokio::test]
async fn silent_subscription_is_detected_before_the_safety_tick() {
    let w = World::start_process().await;
    let wired = w.start_wired_instance().await;
    let waiter = wired.start_wait(json!({})).await;
    sleep(Duration::from_millis(100)).await;
    wired.silence_hint_connections();
    let since = Instant::now();
    w.enqueue(1).await;
    let (_, at) = waiter.job_at().await;
    Took::between(since, at).assert_within(Duration::from_secs(4), "what comes before the safety tick");

    // A new connection does not help either: only the safety tick does.
    let waiter = wired.start_wait(json!({})).await;
    wired.hint_connection(HintConnection::Silent);
    let since = Instant::now();
    w.enqueue(2).await;
    let (_, at) = waiter.job_at().await;
    eprintln!("without a connection: {:?}", at - since);
    Took::between(since, at).assert_within(SAFETY_TICK + PROMPT_LIMIT, "the answer");
    wired.hint_connection(HintConnection::Open);
    w.check().await;
}

#[tokio::test]
async fn waiters_survive_a_redis_outage_and_are_served_after_it() {
    for how in ["killed", "frozen"] {
        let mut w = World::plan().own_process().with_default_redis_timeout().durable().start().await;
        let waiters = w.start_waits(vec![json!({}); 3]).await;
        sleep(Duration::from_millis(100)).await;
        match how {
            "killed" => w.engine.kill(),
            _ => w.engine.freeze(),
        }
        sleep(Duration::from_millis(3_500)).await;
        let late =
            [w.start_reserve(json!({})), w.start_reserve(json!({ "worker": "ann", "queues": ["default", "other"] }))];
        sleep(Duration::from_millis(2_500)).await;
        assert!(waiters.iter().chain(&late).all(|waiter| !waiter.is_answered()), "{how}: they still wait");
        match how {
            "killed" => w.engine.revive().await,
            _ => w.engine.thaw(),
        }
        let since = Instant::now();
        // As soon as Redis accepts it. An unanswered try may have been applied: the next one finds its job.
        let mut n = 0;
        while n < 5 {
            let answer = w.send_enqueue(json!({ "payload": n, "dedupe_key": n.to_string() })).await;
            n += u64::from(answer.status != 503);
        }
        for waiter in waiters.into_iter().chain(late) {
            let (_, at) = waiter.job_at().await;
            Took::between(since, at).assert_within(Duration::from_secs(3), how);
        }
        // Hints arrive again.
        sleep(Duration::from_millis(500)).await;
        let waiter = w.start_wait(json!({})).await;
        let since = Instant::now();
        w.enqueue("news").await;
        let (_, at) = waiter.job_at().await;
        Took::between(since, at).assert_within(PROMPT_LIMIT, how);
        w.check().await;
    }
}

#[tokio::test]
async fn waiter_after_a_frozen_connection_is_served() {
    let w = World::start_process().await;
    let wired = w.start_wired_instance().await;
    for away in [300, 1_500, 3_000] {
        let waiter = wired.start_wait(json!({})).await;
        wired.freeze(true);
        w.enqueue(away).await;
        sleep(Duration::from_millis(away)).await;
        assert!(!waiter.is_answered());
        wired.freeze(false);
        let since = Instant::now();
        let (_, at) = waiter.job_at().await;
        eprintln!("away for {away} ms: {:?} after its return", at - since);
        Took::between(since, at).assert_within(Duration::from_secs(2), format_args!("away for {away} ms"));
    }
    w.check().await;
}

/// Redis has the call and cannot answer: the job belongs to this waiter alone.
#[tokio::test]
async fn job_reserved_while_redis_froze_reaches_its_waiter() {
    let w = World::plan().with_default_redis_timeout().start().await;
    // Opens connections and loads scripts.
    w.enqueue("warm").await;
    w.complete(&w.reserve().await).await.is(200);
    for round in 0..3 {
        let id = w.enqueue(round).await;
        w.engine.freeze();
        let waiter = w.start_reserve(json!({}));
        sleep(Duration::from_millis(2_500)).await;
        assert!(!waiter.is_answered());
        w.engine.thaw();
        let since = Instant::now();
        let (held, at) = waiter.job_at().await;
        assert_eq!(held.id, id);
        eprintln!("{:?} after the return of Redis", at - since);
        Took::between(since, at).assert_within(Duration::from_secs(3), "the answer");
        w.complete(&held).await.is(200);
    }
    w.check().await;
}

#[tokio::test]
async fn wait_that_ends_during_an_outage_returns_503() {
    let w = World::plan().own_process().with_default_redis_timeout().start().await;
    let id = w.enqueue_with(json!({ "queue": "other", "payload": 1 })).await;
    const WAIT: u64 = 4_000;
    let patient = w.start_wait(json!({ "wait_ms": MAX_WAIT_MS })).await;
    let before = w.start_wait(json!({ "wait_ms": WAIT })).await;
    sleep(Duration::from_millis(200)).await;
    w.engine.freeze();
    let during = w.start_reserve(json!({ "wait_ms": WAIT }));
    let look = {
        let (client, path) = ((*w).clone(), format!("/jobs/{id}?wait_ms={WAIT}"));
        crate::world::waiters::Waiter::send(async move { client.get(&path).await })
    };
    for (what, waiter) in [("before", before), ("during", during), ("a look", look)] {
        let (answer, took) = waiter.timed_answer().await;
        assert_eq!(answer.status, 503, "{what}: {}", answer.text());
        answer.refused("unavailable");
        let bound = Duration::from_millis(WAIT);
        assert!(took.real() >= bound - Duration::from_millis(300), "{what}: not before its timeout: {took:?}");
        took.assert_within(bound + Duration::from_millis(2_500), what);
    }
    assert!(!patient.is_answered());
    w.engine.thaw();
    let since = Instant::now();
    eventually("Redis takes a job", async || {
        (w.send_enqueue(json!({ "payload": 2 })).await.status < 300).then_some(())
    })
    .await;
    let (_, at) = patient.job_at().await;
    Took::between(since, at).assert_within(Duration::from_secs(3), "the answer");
    w.check().await;
}

/// A Redis 7 user has no channels by default, only the keys that it is given.
#[tokio::test]
async fn redis_user_without_channels_is_served_by_the_safety_tick() {
    let w = World::start_process().await;
    let (_service, limited) = w.as_user("~intray* +@all").await;
    let id = limited.enqueue(1).await;
    let held = limited.reserve().await;
    assert_eq!(held.id, id);
    w.update_settings(json!({ "paused": true })).await;
    limited.configure("default", json!({ "paused": false })).await;
    limited.complete(&held).await.is(200);
    let waiter = limited.start_wait(json!({})).await;
    sleep(Duration::from_millis(100)).await;
    let looks = limited.script_runs("look").await;
    let since = Instant::now();
    let id = limited.enqueue(2).await;
    let (held, at) = waiter.job_at().await;
    assert_eq!(held.id, id);
    Took::between(since, at).assert_within(SAFETY_TICK + PROMPT_LIMIT, "the answer");
    let looks = limited.script_runs("look").await - looks;
    assert!(looks <= 10, "{looks} looks: the safety tick, without polling");
    w.check().await;
}
