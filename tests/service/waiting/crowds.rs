//! Many who wait: as many are woken as there are jobs, those who have waited longest first, and nobody is forgotten.

use std::{collections::BTreeSet, time::Duration};

use serde_json::{Value, json};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use crate::world::{
    Client, World,
    waiters::{PROMPT_LIMIT, MAX_WAIT_MS, Waiter},
};

/// How many commands Redis has run, the asking included.
async fn commands(w: &World) -> u64 {
    let info: String = w.engine.run("INFO stats").await;
    let line = info.lines().find_map(|line| line.strip_prefix("total_commands_processed:"));
    line.expect("a figure").trim().parse().expect("a number")
}

#[tokio::test]
async fn of_ten_who_wait_one_gets_the_job_and_nine_sleep_on_until_their_own_time_is_over() {
    let w = World::start().await;
    let (_second, other) = w.start_instance().await;
    const WAIT: u64 = 2_500;
    let waiters = other.start_waits(vec![json!({ "wait_ms": WAIT }); 10]).await;
    sleep(Duration::from_millis(200)).await;
    let before = other.script_runs("reserve").await;
    let id = w.enqueue(1).await;
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
                // As the queue was seen last, perhaps before that job.
                assert!(answer["reason"] == "reserved" || answer["reason"] == "empty", "{answer}");
                let retry_after_ms = answer["retry_after_ms"].as_u64().expect("a number");
                assert!((250..=5_000).contains(&retry_after_ms), "{answer}");
                assert!(
                    took >= Duration::from_millis(WAIT) && took < Duration::from_millis(WAIT) + PROMPT_LIMIT,
                    "{took:?}"
                );
            }
        }
    }
    assert_eq!(served, 1);
    let looks = other.script_runs("reserve").await - before;
    assert!(looks <= 3, "{looks} looks, their ends included");
    w.check().await;
}

#[tokio::test]
async fn one_connection_hears_for_everybody_who_waits_at_an_instance() {
    let w = World::start().await;
    let (_second, other) = w.start_instance().await;
    let mut listeners = Vec::new();
    for client in [&*w, &other] {
        for n in 0..40 {
            drop(client.start_reserve(json!({ "queues": [format!("q{n}"), "default"] })));
            listeners.push(client.listen(&format!("?queue=q{n},another{n}")).await);
        }
    }
    sleep(Duration::from_millis(200)).await;
    let clients: String = w.engine.run("CLIENT LIST").await;
    let listening = clients.lines().filter(|line| !line.contains(" sub=0 ")).count();
    assert_eq!(listening, 2, "one at each: {clients}");
    assert!(clients.lines().count() <= 12, "{clients}");
    w.check().await;
}

#[tokio::test]
async fn who_sleeps_costs_redis_next_to_nothing() {
    let w = World::start().await;
    let waiters = w.start_waits(vec![json!({}); 300]).await;
    sleep(Duration::from_millis(200)).await;
    let before = commands(&w).await;
    sleep(Duration::from_secs(6)).await;
    let ran = commands(&w).await - before;
    assert!(ran <= 20 * 6, "{ran} commands in six seconds, in which nothing happened");
    assert!(waiters.iter().all(|waiter| !waiter.is_answered()));
    w.enqueue_many((0..300).map(|n| json!({ "payload": n }))).await;
    let mut served = BTreeSet::new();
    for waiter in waiters {
        served.insert(waiter.job().await.id);
    }
    assert_eq!(served.len(), 300);
    w.check().await;
}

#[tokio::test]
async fn those_who_have_waited_longest_are_served_first_and_as_many_as_there_are_jobs() {
    let w = World::start().await;
    let (_second, other) = w.start_instance().await;
    let mut waiters = Vec::new();
    for _ in 0..12 {
        waiters.push(other.start_wait(json!({})).await);
    }
    let answered = |waiters: &[Waiter]| waiters.iter().map(Waiter::is_answered).collect::<Vec<_>>();
    for n in 0..4 {
        let id = w.enqueue(n).await;
        assert_eq!(waiters.remove(0).job().await.id, id, "the oldest");
        assert!(!answered(&waiters).contains(&true), "and nobody else");
    }
    let ids = w.enqueue_many((0..3).map(|n| json!({ "payload": ["three", n] }))).await;
    for (waiter, _) in waiters.drain(..3).zip(0..).collect::<Vec<_>>() {
        assert!(ids.contains(&waiter.job().await.id));
    }
    sleep(Duration::from_millis(100)).await;
    assert!(!answered(&waiters).contains(&true), "three were three");
    // A hint for more than there are.
    w.enqueue_many((0..50).map(|n| json!({ "payload": ["many", n] }))).await;
    for waiter in waiters {
        waiter.job().await;
    }
    assert_eq!(w.queue().await["counts"]["waiting"], 45);
    w.check().await;
}

#[tokio::test]
async fn who_is_woken_for_one_queue_and_served_from_another_leaves_no_job_to_the_safety_tick() {
    let w = World::start().await;
    let (_second, other) = w.start_instance().await;
    for round in 0..40 {
        let both = other.start_reserve(json!({ "queues": ["x", "y"] }));
        sleep(Duration::from_millis(60)).await;
        let only = other.start_wait(json!({ "queues": ["y"] })).await;
        assert!(!both.is_answered());
        // The job of y wakes who has waited longest; mostly they find the one of x before it.
        let jobs = [json!({ "queue": "y", "payload": round }), json!({ "queue": "x", "payload": round })];
        let since = Instant::now();
        w.enqueue_many(jobs).await;
        let (first, at) = both.job_at().await;
        assert!(at - since < PROMPT_LIMIT, "round {round}: {:?}", at - since);
        if first.body["queue"] == "y" {
            w.reserve_with(json!({ "queues": ["x"] })).await;
            w.enqueue_with(json!({ "queue": "y", "payload": [round] })).await;
        }
        let (_, at) = only.job_at().await;
        assert!(at - since < PROMPT_LIMIT * 2, "round {round}, by the safety tick: {:?}", at - since);
    }
    w.check().await;
}

#[tokio::test]
async fn who_is_woken_and_has_a_job_already_leaves_the_new_one_to_the_next() {
    let w = World::start().await;
    w.update_settings(json!({ "worker_limit": 2 })).await;
    let first = w.enqueue(1).await;
    assert_eq!(w.reserve_as("ann").await.id, first);
    let (ann, bob) = (w.start_wait(json!({ "worker": "ann" })).await, w.start_wait(json!({ "worker": "bob" })).await);
    w.update_settings(json!({ "worker_limit": 1 })).await;
    let since = Instant::now();
    let second = w.enqueue(2).await;
    let (held, at) = bob.job_at().await;
    assert_eq!(held.id, second);
    assert!(at - since < PROMPT_LIMIT, "{:?}", at - since);
    let held = ann.job().await;
    assert_eq!((&held.id, &held.body["resumed"]), (&first, &json!(true)));
    w.check().await;
}

/// A look, a job and a subscription in every order that there is: each queue is met twice, the first time by nobody.
#[tokio::test]
async fn however_a_look_a_job_and_a_subscription_fall_together_who_waits_is_served() {
    fall_together(1_000, |n| n % 500).await;
}

/// The same with three who wait and three jobs, so that a look of one, a job of another and a hint of a third meet.
#[tokio::test]
async fn however_three_looks_and_three_jobs_fall_together_all_three_are_served() {
    fall_together(600, |n| n / 3).await;
}

async fn fall_together(rounds: usize, queue: fn(usize) -> usize) {
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
    assert_eq!(late, 0, "who were only found by the safety tick: {:?}", &took[rounds - late..]);
    let page = w.get("/queues").await.is(200);
    for queue in page["queues"].as_array().expect("queues") {
        assert_eq!(
            (&queue["counts"]["waiting"], &queue["totals"]["handed_out"]),
            (&json!(0), &queue["totals"]["enqueued"])
        );
    }
    w.check().await;
}

/// The medians of enqueue and of complete in a busy queue, one after the other.
async fn medians(w: &Client, what: &str) -> [Duration; 2] {
    let mut times = [Vec::new(), Vec::new()];
    for n in 0..150 {
        let begin = Instant::now();
        w.enqueue_with(json!({ "queue": "busy", "payload": [what, n], "priority": 0 })).await;
        times[0].push(begin.elapsed());
        let held = w.reserve_with(json!({ "queues": ["busy"] })).await;
        let begin = Instant::now();
        w.complete(&held).await.is(200);
        times[1].push(begin.elapsed());
    }
    times.map(|mut times| {
        times.sort();
        times[75]
    })
}

#[tokio::test]
async fn those_who_wait_for_other_things_do_not_slow_down_a_busy_queue() {
    let w = World::start().await;
    let (_second, other) = w.start_instance().await;
    let jobs = (0..100).map(|n| json!({ "queue": "busy", "payload": n, "delay_ms": 60_000 }));
    let ids = w.enqueue_many(jobs).await;
    medians(&w, "warm").await;
    let alone = medians(&w, "alone").await;
    let waiters = w.start_waits(vec![json!({}); 100]).await;
    let watchers: Vec<_> = ids.iter().map(|id| other.long_poll(&format!("/jobs/{id}"))).collect();
    sleep(Duration::from_millis(300)).await;
    let beside = medians(&w, "beside").await;
    eprintln!("enqueue and complete alone: {alone:?}; beside 100 who wait and 100 who watch a job: {beside:?}");
    for (alone, beside) in alone.into_iter().zip(beside) {
        assert!(beside < alone * 5 + Duration::from_millis(5), "{beside:?}, and {alone:?} alone");
    }
    assert!(waiters.iter().chain(&watchers).all(|waiter| !waiter.is_answered()));
    w.check().await;
}

/// Two hundred people wait at both instances, and get jobs from a producer in a hurry.
#[tokio::test]
async fn two_hundred_who_wait_get_a_job_each_as_fast_as_it_is_enqueued() {
    let w = World::start().await;
    let (_second, other) = w.start_instance().await;
    let mut times = [Vec::new(), Vec::new()];
    for (with, times) in times.iter_mut().enumerate() {
        let mut waiters = Vec::new();
        if with == 1 {
            for (client, place) in [(&*w, "here"), (&other, "there")] {
                let request = |n| json!({ "worker": format!("{place}-{n}"), "wait_ms": MAX_WAIT_MS });
                waiters.extend(client.start_waits((0..100).map(request).collect()).await);
            }
        }
        for n in 0..200 {
            let begin = Instant::now();
            w.enqueue(json!([with, n])).await;
            times.push(begin.elapsed());
        }
        let mut held: Vec<_> = Vec::new();
        for waiter in waiters {
            held.push(waiter.job().await);
        }
        while held.len() < 200 {
            held.extend(w.reserve_all(json!({ "limit": 100 })).await);
        }
        let ids: BTreeSet<_> = held.iter().map(|held| &held.id).collect();
        assert_eq!(ids.len(), 200, "each job once");
        for held in &held {
            let begin = Instant::now();
            w.complete(held).await.is(200);
            times.push(begin.elapsed());
        }
    }
    let median = |times: &mut Vec<Duration>, from: usize| {
        let part: &mut [Duration] = &mut times[from..from + 200];
        part.sort();
        part[100]
    };
    let [mut without, mut with] = times;
    for (what, from) in [("enqueue", 0), ("complete", 200)] {
        let (without, with) = (median(&mut without, from), median(&mut with, from));
        eprintln!("{what}: median {without:?} without anybody who waits, {with:?} with two hundred");
        assert!(with < without * 5 + Duration::from_millis(5), "{what}: {without:?} without, {with:?} with");
    }
    let counts: Value = w.queue().await["counts"].clone();
    assert_eq!(counts["completed"], 400);
    w.check().await;
}
