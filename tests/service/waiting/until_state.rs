//! Waiting until a job, a batch or a list reaches a state.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::world::{
    Client, Took, World, assert_contains,
    batch_verbs::items,
    waiters::{PROMPT_LIMIT, Waiter},
    wire::HintConnection,
};

/// Starts a read that waits, and gives it time to fall asleep.
async fn start_watch(client: &Client, path: &str) -> Waiter {
    let waiter = client.long_poll(path);
    sleep(Duration::from_millis(100)).await;
    assert!(!waiter.is_answered(), "{path}");
    waiter
}

/// Asserts that the waiter is answered at once.
async fn answered_at_once(waiter: Waiter, since: Instant) -> crate::world::Answer {
    let (answer, at) = waiter.answer().await;
    Took::between(since, at).assert_within(PROMPT_LIMIT, "the answer");
    answer
}

#[tokio::test]
async fn job_wait_returns_at_its_end_and_not_before() {
    for (end, state) in [
        ("complete", "completed"),
        ("late", "completed"),
        ("fail", "dead"),
        ("expire", "dead"),
        ("cancel", "cancelled"),
        ("force", "cancelled"),
        ("purge", "gone"),
    ] {
        let w = World::start().await;
        let (_second, other) = w.start_instance().await;
        let id = w.enqueue_with(json!({ "payload": 1, "max_attempts": if end == "late" { 0 } else { 3 } })).await;
        let path = format!("/jobs/{id}");
        let (here, there) = (start_watch(&w, &path).await, start_watch(&other, &path).await);
        w.enqueue_with(json!({ "payload": 2, "priority": 99 })).await;
        for _ in 0..2 {
            w.fail(&w.reserve().await).await.is(200);
        }
        let mut held = w.reserve_as("ann").await;
        w.extend(&held).await.is(200);
        if ["cancel", "late"].contains(&end) {
            if end == "cancel" {
                w.abandon(&held).await.is(200);
            } else {
                w.advance_clock(300_000);
                w.sweep().await;
            }
        } else if end == "complete" {
            held = w.reserve_as("ann").await;
        }
        sleep(Duration::from_millis(200)).await;
        assert!(!here.is_answered() && !there.is_answered(), "{end}: the job has not ended");
        let since = Instant::now();
        match end {
            "complete" | "late" => drop(w.complete_with(&held, "well").await.is(200)),
            "fail" => drop(w.fail(&held).await.is(200)),
            "expire" => {
                w.advance_clock(300_000);
                w.sweep().await;
            }
            "cancel" => drop(w.cancel(&id).await.is(200)),
            "force" => drop(w.force_cancel(&id).await.is(200)),
            _ => drop(w.delete("/queues/default?state=all&force=true").await.is(200)),
        }
        for waiter in [here, there] {
            let answer = answered_at_once(waiter, since).await;
            if state == "gone" {
                answer.refused("unknown-job");
            } else {
                assert_eq!(answer.is(200)["state"], state, "{end}");
            }
        }
        if state == "completed" {
            assert_eq!(w.job(&id).await["result"], "well");
        }
        w.check().await;
    }
}

#[tokio::test]
async fn batch_wait_returns_at_its_end_and_not_before() {
    for (end, state) in [("complete", "completed"), ("fail", "failed"), ("cancel", "cancelled"), ("seal", "completed")]
    {
        let w = World::start().await;
        let (_second, other) = w.start_instance().await;
        let doomed = |n: u64| json!({ "payload": n, "max_attempts": 1 });
        let id = w.create_batch(json!({ "sealed": false, "jobs": [doomed(0), doomed(1)] })).await;
        let path = format!("/batches/{id}");
        let (here, there) = (start_watch(&w, &path).await, start_watch(&other, &path).await);
        w.append(&id, &items(2..3)).await.is(200);
        let held = [w.reserve().await, w.reserve().await, w.reserve().await];
        w.complete(&held[0]).await.is(200);
        w.complete(&held[2]).await.is(200);
        if end == "seal" {
            w.complete(&held[1]).await.is(200);
        } else {
            w.seal(&id).await.is(200);
        }
        if end == "cancel" {
            w.cancel_batch(&id).await.is(200);
        }
        sleep(Duration::from_millis(200)).await;
        assert!(!here.is_answered() && !there.is_answered(), "{end}: the batch has not ended");
        let since = Instant::now();
        match end {
            "fail" => drop(w.fail(&held[1]).await.is(200)),
            "seal" => drop(w.seal(&id).await.is(200)),
            _ => drop(w.complete(&held[1]).await.is(200)),
        }
        for waiter in [here, there] {
            let batch = answered_at_once(waiter, since).await.is(200);
            assert_contains(&batch, json!({ "state": state, "counts": { "reserved": 0, "total": 3 } }));
            assert!(batch["ended_at"].is_string(), "{batch}");
        }
        w.check().await;
    }
}

#[tokio::test]
async fn list_wait_returns_with_its_first_job() {
    let w = World::start().await;
    let (_second, other) = w.start_instance().await;
    w.enqueue_with(json!({ "payload": 0, "client": "other", "delay_ms": 60_000 })).await;
    let list = |state: &str| format!("/queues/default/jobs?state={state}");
    let waiting = start_watch(&other, &list("waiting")).await;
    let acme = start_watch(&other, &format!("{}&client=acme", list("waiting"))).await;
    let (completed, dead) = (start_watch(&other, &list("completed")).await, start_watch(&w, &list("dead")).await);
    let jobs = |answer: crate::world::Answer| answer.is(200)["jobs"].clone();

    let since = Instant::now();
    let first = w.enqueue_with(json!({ "payload": 1, "client": "other" })).await;
    assert_eq!(jobs(answered_at_once(waiting, since).await)[0]["id"], first.as_str());
    let since = Instant::now();
    let second = w.enqueue_with(json!({ "payload": 2, "client": "acme", "max_attempts": 1 })).await;
    let page = jobs(answered_at_once(acme, since).await);
    assert_eq!((page.as_array().map(Vec::len), &page[0]["id"]), (Some(1), &json!(second)));
    let held = [w.reserve().await, w.reserve().await];
    let of = |id: &str| held.iter().find(|held| held.id == id).expect("held");
    assert!(!completed.is_answered() && !dead.is_answered());
    let since = Instant::now();
    w.complete_with(of(&first), json!({ "verdict": "harmless" })).await.is(200);
    assert_contains(
        &jobs(answered_at_once(completed, since).await),
        json!([{ "id": first, "result": { "verdict": "harmless" } }]),
    );
    let since = Instant::now();
    w.fail(of(&second)).await.is(200);
    assert_eq!(jobs(answered_at_once(dead, since).await)[0]["id"], second.as_str());

    // The producer's feed: results after the last one that was read.
    let page = w.get(&list("completed")).await.is(200);
    let after = page["jobs"][0]["id"].clone();
    assert!(after.is_string());
    let since = Instant::now();
    assert_eq!(
        jobs(answered_at_once(w.long_poll(&list("completed")), since).await)[0]["id"],
        after,
        "a list with jobs does not wait"
    );
    w.check().await;
}

#[tokio::test]
async fn wait_timeout_returns_the_current_state() {
    let w = World::start().await;
    let id = w.enqueue(1).await;
    let batch = w.create_batch(json!({ "jobs": items(0..1) })).await;
    let begin = Instant::now();
    let look = |path: String| {
        let client = (*w).clone();
        Waiter::send(async move { client.get(&path).await })
    };
    let looks = [
        look(format!("/jobs/{id}?wait_ms=3000")),
        look(format!("/batches/{batch}?wait_ms=3000")),
        look("/queues/default/jobs?state=dead&wait_ms=3000".to_owned()),
    ];
    sleep(Duration::from_millis(100)).await;
    w.reserve_with(json!({ "id": id })).await;
    let mut answers = Vec::new();
    for waiter in looks {
        let (answer, took) = waiter.timed_answer().await;
        assert!(took.real() >= Duration::from_secs(3), "{took:?}");
        took.assert_within(Duration::from_secs(3) + PROMPT_LIMIT, "the answer");
        answers.push(answer.is(200));
    }
    assert_eq!(answers[0]["state"], "reserved", "the current state");
    assert_eq!((&answers[1]["state"], &answers[2]["jobs"]), (&json!("sealed"), &json!([])));
    // A read of an unknown or ended job does not wait.
    let unknown = |path: &str, at: usize| format!("/{path}/default-7ZZZZZZZZZZZZZZZZZZZZZ{at:04}?wait_ms=30000");
    w.get(&unknown("jobs", 1)).await.refused("unknown-job");
    w.get(&unknown("batches", 0)).await.refused("unknown-batch");
    w.get("/queues/nowhere/jobs?wait_ms=30000").await.refused("unknown-queue");
    w.force_cancel(&id).await.is(200);
    assert_eq!(w.get(&format!("/jobs/{id}?wait_ms=30000")).await.is(200)["state"], "cancelled");
    Took::since(begin).assert_within(Duration::from_secs(8), "the answer");
    w.check().await;
}

#[tokio::test]
async fn job_wait_returns_without_hints() {
    let w = World::start().await;
    let wired = w.start_wired_instance().await;
    for (what, ear) in [("refused", HintConnection::Refused), ("deaf", HintConnection::Silent)] {
        let id = w.enqueue(what).await;
        let held = w.reserve().await;
        let waiter = start_watch(&wired, &format!("/jobs/{id}")).await;
        wired.hint_connection(ear);
        let since = Instant::now();
        w.complete(&held).await.is(200);
        let (answer, at) = waiter.answer().await;
        assert_eq!(answer.is(200)["state"], "completed");
        // The safety tick, plus a margin for a busy machine.
        Took::between(since, at).assert_within(Duration::from_secs(6), what);
        wired.hint_connection(HintConnection::Open);
    }
    let id = w.enqueue("frozen").await;
    let held = w.reserve().await;
    let waiter = start_watch(&wired, &format!("/jobs/{id}")).await;
    wired.freeze(true);
    w.complete(&held).await.is(200);
    sleep(Duration::from_millis(2_500)).await;
    assert!(!waiter.is_answered(), "it still waits");
    wired.freeze(false);
    let since = Instant::now();
    let (answer, at) = waiter.answer().await;
    assert_eq!(answer.is(200)["state"], "completed");
    Took::between(since, at).assert_within(Duration::from_secs(2), "the answer");
    w.check().await;
}

/// A list is read again after changes, but not once for each of a thousand changes at once.
#[tokio::test]
async fn thousand_events_cause_few_list_reads() {
    let w = World::start_process().await;
    let (_second, other) = w.start_instance().await;
    w.enqueue_with(json!({ "payload": 1, "priority": 0, "max_attempts": 1 })).await;
    let held = w.reserve().await;
    let waiter = start_watch(&other, "/queues/default/jobs?state=dead").await;
    let before = other.script_runs("list").await;
    w.enqueue_many((0..1_000).map(|n| json!({ "payload": ["crowd", n] }))).await;
    sleep(Duration::from_millis(500)).await;
    let looks = other.script_runs("list").await - before;
    assert!(looks <= 50, "1000 events in a few scripts were {looks} looks at the list");
    let since = Instant::now();
    w.fail(&held).await.is(200);
    let page: Value = answered_at_once(waiter, since).await.is(200);
    assert_eq!(page["jobs"][0]["id"], held.id.as_str());
    w.check().await;
}
