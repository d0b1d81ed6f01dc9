//! Waiting reserves and jobs in lines: a job wakes one caller who may have it, at once, and no other.

use std::{collections::BTreeSet, time::Duration};

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::world::{
    Client, ReservedJob, Took, World, eventually,
    waiters::{PROMPT_LIMIT, Waiter},
    wire::HintConnection,
};

/// How often a waiter looks without a hint.
const SAFETY_TICK: Duration = Duration::from_secs(5);

fn named(n: usize) -> String {
    format!("worker-{n:03}")
}

/// How many reserves the instance has sent to Redis.
async fn looks(client: &Client) -> u64 {
    client.metric(r#"intray_script_group_jobs_sum{script="reserve"}"#).await as u64
}

/// The job of a waiter, which comes soon after `since`.
async fn prompt_job(what: &str, waiter: Waiter, since: Instant) -> ReservedJob {
    let (held, at) = waiter.job_at().await;
    Took::between(since, at).assert_within(PROMPT_LIMIT, what);
    held
}

#[tokio::test]
async fn job_in_a_line_wakes_one_who_may_have_it_and_no_other() {
    let w = World::start_process().await;
    let (_second, other) = w.start_instance().await;
    let mut waiters = other.start_waits((0..20).map(|n| json!({ "worker": named(n) })).collect()).await;
    for skill in ["de", "fr", "de"] {
        waiters.push(other.start_wait(json!({ "skills": [skill] })).await);
    }
    let before = looks(&other).await;
    let rows = [
        (json!({ "assignees": [named(7)] }), 7),
        (json!({ "assignees": ["absent", named(3)] }), 3),
        (json!({ "skill": "fr" }), 19),
        (json!({ "skill": "de" }), 18),
        (json!({ "skill": "de", "locks": ["l"] }), 18),
    ];
    let jobs = rows.len() as u64;
    for (n, (mut job, place)) in rows.into_iter().enumerate() {
        job["payload"] = json!(n);
        let (what, since) = (job.to_string(), Instant::now());
        let id = w.enqueue_with(job).await;
        assert_eq!(prompt_job(&what, waiters.remove(place), since).await.id, id, "{what}");
    }
    assert!(waiters.iter().all(|waiter| !waiter.is_answered()));
    let looks = looks(&other).await - before;
    assert_eq!(looks, jobs, "a look a job");
    w.check().await;
}

#[tokio::test]
async fn worker_no_longer_excluded_is_woken() {
    let w = World::start_process().await;
    for more in [json!({}), json!({ "assignees": ["ann", "bob"] }), json!({ "skill": "de" })] {
        let mut job = json!({ "payload": more, "excluded": ["ann"] });
        job.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        let id = w.enqueue_with(job).await;
        let waiter = w.start_wait(json!({ "worker": "ann", "skills": ["de"] })).await;
        let since = Instant::now();
        w.patch(&format!("/jobs/{id}"), json!({ "excluded": ["cleo"] })).await.is(200);
        let held = prompt_job(&more.to_string(), waiter, since).await;
        assert_eq!(held.id, id);
        w.complete(&held).await.is(200);
    }
    w.check().await;
}

#[tokio::test]
async fn wait_continues_after_very_many_jobs_of_others() {
    let w = World::start().await;
    for start in [0, 1_000, 2_000] {
        let job = |n| json!({ "payload": start + n, "excluded": ["carol"] });
        w.post("/jobs", (0..1_000).map(job).collect::<Value>()).await.is(200);
    }
    for call in [json!({ "worker": "carol" }), json!({}), json!({ "skills": ["de"] })] {
        let id = w.enqueue_with(json!({ "payload": call })).await;
        let since = Instant::now();
        let (held, at) = w.start_reserve(call.clone()).job_at().await;
        assert_eq!(held.id, id, "{call}");
        Took::between(since, at).assert_within(SAFETY_TICK, &call);
        w.complete(&held).await.is(200);
    }
    w.check().await;
}

#[tokio::test]
async fn job_that_the_first_may_not_have_wakes_the_next() {
    let w = World::start_process().await;
    let mut waiters = Vec::new();
    for name in ["ann", "bob", "cleo", "dan"] {
        waiters.push(w.start_wait(json!({ "worker": name, "skills": ["de"] })).await);
    }
    let rows = [json!({ "excluded": ["ann", "bob"] }), json!({ "excluded": ["ann", "bob"], "skill": "de" })];
    for (n, mut job) in rows.into_iter().enumerate() {
        job["payload"] = json!(n);
        let since = Instant::now();
        let what = job.to_string();
        let id = w.enqueue_with(job).await;
        assert_eq!(prompt_job(&what, waiters.remove(2), since).await.id, id, "{what}");
    }
    assert!(waiters.iter().all(|waiter| !waiter.is_answered()));
    w.check().await;
}

/// Ann has skipped one job of several opinions; she is named for another, which Bob holds, and is woken for the third.
#[tokio::test]
async fn worker_whose_skip_is_taken_back_is_woken_for_another_job() {
    let w = World::start_process().await;
    let job = json!({ "payload": 1, "assignees": ["ann", "bob", "cleo"] });
    w.create_batch(json!({ "overlap": 3, "job": job })).await;
    let skipped = w.reserve_as("ann").await;
    w.post("/jobs/abandon", json!({ "reservation": skipped.reservation, "skip": true })).await.is(200);
    let first = w.reserve_as("bob").await;
    let held = if first.id == skipped.id { w.reserve_as("cleo").await } else { first };
    let waiter = w.start_wait(json!({ "worker": "ann" })).await;
    let since = Instant::now();
    w.patch(&format!("/jobs/{}", held.id), json!({ "assignees": ["ann", "bob", "cleo"] })).await.is(200);
    let third = prompt_job("the third job", waiter, since).await;
    assert!(third.id != skipped.id && third.id != held.id, "{}", third.id);
    w.check().await;
}

#[tokio::test]
async fn hand_over_wakes_the_one_who_gets_the_job() {
    let w = World::start_process().await;
    let (_second, other) = w.start_instance().await;
    let id = w.enqueue(1).await;
    let mut held = w.reserve_as("ann").await;
    let calls = [json!({}), json!({ "worker": "bob" }), json!({ "worker": "cleo", "skills": ["de"] })];
    let mut waiters = other.start_waits(calls.to_vec()).await;
    let before = looks(&other).await;
    for mut call in [json!({ "to": "bob" }), json!({ "skill": "de" })] {
        call["reservation"] = json!(held.reservation);
        let (what, since) = (call.to_string(), Instant::now());
        w.post("/jobs/hand-over", call).await.is(200);
        held = prompt_job(&what, waiters.remove(1), since).await;
        assert_eq!(held.id, id, "{what}");
    }
    assert_eq!(looks(&other).await - before, 2, "a look a job");
    assert!(!waiters[0].is_answered());
    w.complete(&held).await.is(200);
    w.check().await;
}

/// Each has work of its own, and all of it needs one lock.
#[tokio::test]
async fn forty_with_one_lock_are_served_one_after_the_other() {
    serve_forty_with_one_lock(|n| json!({ "assignees": [named(n)], "locks": ["l"], "payload": n })).await;
}

#[tokio::test]
async fn forty_with_one_skill_are_served_one_after_the_other() {
    serve_forty_with_one_lock(|n| json!({ "skill": "de", "locks": ["l"], "payload": n })).await;
}

async fn serve_forty_with_one_lock(job: fn(usize) -> Value) {
    const PEOPLE: usize = 40;
    let w = World::start_process().await;
    let (_second, other) = w.start_instance().await;
    let mut waiters = Vec::new();
    for (client, ours) in [(&*w, 0..PEOPLE / 2), (&other, PEOPLE / 2..PEOPLE)] {
        let calls = ours.map(|n| json!({ "worker": named(n), "skills": ["de"] }));
        waiters.extend(client.start_waits(calls.collect()).await);
    }
    w.enqueue_many((0..PEOPLE).map(job)).await;
    let (mut since, mut served, mut worst) = (Instant::now(), BTreeSet::new(), Duration::ZERO);
    while !waiters.is_empty() {
        let place = eventually("the lock is held", async || waiters.iter().position(Waiter::is_answered)).await;
        let (held, at) = waiters.remove(place).job_at().await;
        worst = worst.max(Took::between(since, at).running());
        assert!(waiters.iter().all(|waiter| !waiter.is_answered()), "one at a time");
        served.insert(held.number("payload"));
        since = Instant::now();
        w.complete(&held).await.is(200);
    }
    assert_eq!(served.len(), PEOPLE);
    eprintln!("the longest that the lock was free: {worst:?}");
    assert!(worst < PROMPT_LIMIT, "{worst:?}");
    w.check().await;
}

/// More lines than one look counts.
#[tokio::test]
async fn lost_hint_of_a_line_is_made_good_by_the_safety_tick() {
    const PEOPLE: usize = 250;
    let w = World::start_process().await;
    let wired = w.start_wired_instance().await;
    let calls = (0..PEOPLE).map(|n| json!({ "worker": named(n), "skills": [format!("skill-{n}")] }));
    let mut waiters = wired.start_waits(calls.collect()).await;
    wired.hint_connection(HintConnection::Silent);
    let since = Instant::now();
    for (n, place) in [PEOPLE - 1, 0, PEOPLE / 2].into_iter().enumerate() {
        w.enqueue_with(json!({ "assignees": [named(place)], "payload": n })).await;
    }
    w.enqueue_with(json!({ "skill": "skill-99", "payload": "skill" })).await;
    for place in [PEOPLE - 1, PEOPLE / 2, 99, 0] {
        let (_, at) = waiters.remove(place).job_at().await;
        Took::between(since, at).assert_within(SAFETY_TICK + PROMPT_LIMIT * 2, place);
    }
    assert!(waiters.iter().all(|waiter| !waiter.is_answered()));
    wired.hint_connection(HintConnection::Open);
    w.check().await;
}
