//! The check of a result: what does not fit is refused, and changes nothing.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{VERDICT, harmful, no_verdict, refused_at};
use crate::world::{Plan, World, assert_contains, assert_events, eventually};

/// For how long an instance uses a form without reading it again.
const FORM_COUNTS: Duration = Duration::from_secs(2);

async fn formed() -> World {
    formed_by(World::plan()).await
}

async fn formed_by(plan: Plan) -> World {
    let w = plan.start().await;
    w.update_settings(json!({ "result_schema": VERDICT.clone() })).await;
    w
}

#[tokio::test]
async fn result_that_does_not_fit_changes_nothing() {
    let w = formed().await;
    let id = w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    w.post("/jobs/extend", json!({ "reservation": held.reservation, "draft": "half a" })).await.is(200);
    let before = w.job(&id).await;
    let problem = w.complete_with(&held, json!({ "verdict": "a secret", "score": 9, "more": 1 })).await;
    refused_at(&problem, &["/verdict", "/score", "/more"]);
    assert!(!problem.text().contains("a secret"), "no part of the result: {}", problem.text());
    refused_at(&w.complete_with(&held, json!({})).await, &["/verdict"]);
    refused_at(&w.complete_with(&held, json!([1])).await, &[""]);
    refused_at(&w.complete(&held).await, &[""]);
    refused_at(&w.close(&held, "no object", 10_000).await, &[""]);
    assert_eq!(w.job(&id).await, before, "lease, draft and attempt are untouched");
    assert_events(&w.events_of(&id).await, &["enqueued", "reserved", "extended"]);

    w.complete_with(&held, harmful()).await.is(200);
    assert_eq!(w.job(&id).await["result"], harmful());
    w.check().await;
}

#[tokio::test]
async fn result_with_a_member_twice_is_refused() {
    let w = formed().await;
    w.enqueue(1).await;
    let held = w.reserve().await;
    let complete = async |result: &str| {
        let body = format!(r#"{{"reservation":"{}","result":{result}}}"#, held.reservation);
        w.post_text("/jobs/complete", body).await
    };
    refused_at(&complete(r#"{"verdict":"fine","verdict":"harmful"}"#).await, &["/verdict"]);
    refused_at(&complete(r#"{"verdict":"fine","score":1e999}"#).await, &["/score"]);
    complete(r#"{"verdict":"fine","score":2.0}"#).await.is(200);
    w.check().await;
}

#[tokio::test]
async fn items_of_an_array_are_refused_by_themselves() {
    let w = formed().await;
    w.update_settings(json!({ "worker_limit": 0 })).await;
    w.configure("free", json!({})).await;
    let ids = w.enqueue_many((0..3).map(|n| json!({ "payload": n }))).await;
    w.enqueue_with(json!({ "queue": "free", "payload": 1 })).await;
    let held = w.reserve_all(json!({ "limit": 3 })).await;
    let free = w.reserve_with(json!({ "queues": ["free"] })).await;
    let item = |reservation: &str, result: Value| json!({ "reservation": reservation, "result": result });
    let unknown = "default-7ZZZZZZZZZZZZZZZZZZZZZZZZZ.7ZZZZZZZZZZZZZZZZZZZZZZZZZ";
    let items = json!([
        item(&held[0].reservation, harmful()),
        item(&held[1].reservation, no_verdict()),
        item(unknown, no_verdict()),
        item(&free.reservation, no_verdict()),
        item(&held[2].reservation, harmful()),
    ]);
    let jobs = w.post("/jobs/complete", items).await.is(200)["jobs"].take();
    assert_eq!(
        (&jobs[0]["state"], &jobs[3]["state"], &jobs[4]["state"]),
        (&json!("completed"), &json!("completed"), &json!("completed"))
    );
    assert_eq!(jobs[1]["error"]["type"], "/problems/invalid-result");
    assert_eq!(jobs[1]["error"]["errors"][0]["pointer"], "/verdict");
    assert_eq!((&jobs[2]["error"]["reason"], jobs[2]["error"].get("errors")), (&json!("unknown"), None));
    assert_eq!(w.state(&ids[1]).await, "reserved");
    w.check().await;
}

#[tokio::test]
async fn late_result_that_does_not_fit_is_refused_while_it_could_count() {
    let w = formed().await;
    let id = w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    w.advance_clock(300_000);
    refused_at(&w.complete_with(&held, no_verdict()).await, &["/verdict"]);
    w.sweep().await;
    let before = w.job(&id).await;
    refused_at(&w.complete_with(&held, no_verdict()).await, &["/verdict"]);
    assert_eq!(w.job(&id).await, before);
    let other = w.reserve_as("bob").await;
    w.complete_with(&held, no_verdict()).await.lost("expired", "reserved");
    assert_eq!(w.job(&id).await["late_results"], json!([]), "it is not kept as a late one");
    w.complete_with(&held, harmful()).await.lost("expired", "reserved");
    assert_eq!(w.job(&id).await["late_results"][0]["result"], harmful());
    w.complete_with(&other, harmful()).await.is(200);
    w.check().await;
}

#[tokio::test]
async fn repeated_completion_is_answered_though_the_form_has_changed() {
    let w = World::start().await;
    w.stop_clock();
    let id = w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    w.complete_with(&held, no_verdict()).await.is(200);
    let closing = w.enqueue(2).await;
    let open = w.reserve_as("bob").await;
    w.close(&open, no_verdict(), 10_000).await.is(200);

    w.update_settings(json!({ "result_schema": VERDICT.clone() })).await;
    assert_eq!(w.complete_with(&held, no_verdict()).await.is(200)["duplicate"], true);
    w.complete_with(&held, json!({ "other": 1 })).await.lost("completed", "completed");
    assert_eq!(w.job(&id).await["late_results"], json!([]));
    let again = w.close(&open, no_verdict(), 10_000).await.is(200);
    assert_eq!((&again["duplicate"], &again["final"]), (&json!(true), &json!(false)));
    w.close(&open, json!({ "other": 1 }), 10_000).await.refused("closing");

    w.advance_clock(10_000);
    let again = w.close(&open, no_verdict(), 10_000).await.is(200);
    assert_eq!((&again["duplicate"], &again["final"]), (&json!(true), &json!(true)), "before a sweep");
    w.complete_with(&open, json!({ "other": 1 })).await.lost("completed", "completed");
    w.sweep().await;
    assert_eq!(w.job(&closing).await["result"], no_verdict(), "it was checked when it was handed in");
    w.complete_with(&open, json!({ "other": 1 })).await.lost("completed", "completed");
    w.check().await;
}

#[tokio::test]
async fn undone_reservation_is_named_before_its_result() {
    let w = formed().await;
    w.stop_clock();
    let id = w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    w.close(&held, harmful(), 10_000).await.is(200);
    w.undo(&held).await.is(200);
    let complete = async |result: Value, resumes: u64| {
        w.post("/jobs/complete", json!({ "reservation": held.reservation, "result": result, "resumes": resumes })).await
    };
    complete(no_verdict(), 0).await.refused("undone");
    refused_at(&complete(no_verdict(), 1).await, &["/verdict"]);
    w.advance_clock(300_000);
    w.sweep().await;
    complete(no_verdict(), 0).await.refused("undone");
    refused_at(&complete(no_verdict(), 1).await, &["/verdict"]);
    complete(harmful(), 1).await.is(200);
    assert_eq!(w.state(&id).await, "completed");
    w.check().await;
}

#[tokio::test]
async fn form_of_the_moment_of_completion_counts() {
    let w = World::start().await;
    w.enqueue_many((0..2).map(|n| json!({ "payload": n }))).await;
    let (first, second) = (w.reserve_as("ann").await, w.reserve_as("bob").await);
    w.update_settings(json!({ "result_schema": VERDICT.clone() })).await;
    refused_at(&w.complete_with(&first, no_verdict()).await, &["/verdict"]);
    w.complete_with(&first, harmful()).await.is(200);
    w.update_settings(json!({ "result_schema": null })).await;
    w.complete_with(&second, no_verdict()).await.is(200);
    w.check().await;
}

#[tokio::test]
async fn result_that_fits_costs_no_further_script() {
    let w = formed_by(World::plan().own_process()).await;
    w.enqueue_many((0..3).map(|n| json!({ "payload": n }))).await;
    let [first, second, third] = [w.reserve_as("ann").await, w.reserve_as("bob").await, w.reserve_as("cleo").await];
    let mut meter = w.meter().await;
    let begin = Instant::now();
    let ended = w.script_runs("complete").await;
    w.complete_with(&first, harmful()).await.is(200);
    let reading = meter.script_runs(&w.engine).await.iter().filter(|run| run.reads_a_form()).count();
    assert_eq!(reading, 1, "the form is read for the first");
    w.complete_with(&second, harmful()).await.is(200);
    let again = meter.script_runs(&w.engine).await.iter().filter(|run| run.reads_a_form()).count();
    assert!(again == 0 || begin.elapsed() >= FORM_COUNTS, "it counts for two seconds");
    assert_eq!(w.script_runs("complete").await - ended, 2, "one each");
    refused_at(&w.complete_with(&third, no_verdict()).await, &["/verdict"]);
    w.check().await;
}

#[tokio::test]
async fn form_that_cannot_be_read_refuses_the_completion() {
    let w = formed_by(World::plan().own_process()).await;
    let id = w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    let _: u64 = w.engine.run(&format!("HSET {} text {{}}", super::FORM_KEY)).await;
    let problem = w.complete_with(&held, harmful()).await;
    let problem = problem.refused("unavailable");
    assert_eq!(problem["applied"], false);
    assert_eq!(problem["detail"], "the result cannot be checked at the moment; the call had no effect");
    let line = "default: the form of the queue is not the one that was set";
    eventually("the log says why", async || w.service.output().contains(line).then_some(())).await;
    assert_eq!(w.state(&id).await, "reserved");
    let shown = w.queue().await;
    assert_eq!(shown["result_schema"], Value::Null);
    assert!(shown["settings"]["result_schema_sha256"].is_string(), "{shown}");
    let lost = w.get("/queues/default/form").await;
    let lost = lost.refused("unavailable");
    assert!(lost["detail"].as_str().is_some_and(|detail| detail.contains("set it again")), "{lost}");
    w.update_settings(json!({ "result_schema": VERDICT.clone() })).await;
    w.complete_with(&held, harmful()).await.is(200);
    w.check().await;
}

#[tokio::test]
async fn corrections_do_not_count_as_stored() {
    let w = formed().await;
    w.enqueue(1).await;
    let held = w.reserve().await;
    for _ in 0..30 {
        refused_at(&w.complete_with(&held, no_verdict()).await, &["/verdict"]);
    }
    w.complete_with(&held, harmful()).await.is(200);
    w.check().await;
}

#[tokio::test]
async fn array_of_misfits_is_one_script() {
    let w = formed_by(World::plan().own_process()).await;
    w.enqueue(1).await;
    let held = w.reserve().await;
    refused_at(&w.complete_with(&held, no_verdict()).await, &["/verdict"]);
    let before = w.script_runs("complete").await;
    let item = |n: usize| json!({ "reservation": format!("default-{n:026}.{n:026}"), "result": no_verdict() });
    let jobs = w.post("/jobs/complete", (0..100).map(item).collect()).await.is(200)["jobs"].take();
    for item in jobs.as_array().expect("jobs") {
        assert_contains(&item["error"], json!({ "status": 409, "reason": "unknown" }));
    }
    assert_eq!(w.script_runs("complete").await - before, 1);
    w.check().await;
}

/// For any number of queues.
#[tokio::test]
async fn array_waits_once_for_a_redis_that_hangs() {
    const TIMEOUT: Duration = Duration::from_secs(3);
    let w = World::plan().flag("--redis-timeout-ms", &TIMEOUT.as_millis().to_string()).start().await;
    let mut items = Vec::new();
    for n in 0..10 {
        let queue = format!("q{n}");
        w.configure(&queue, json!({ "result_schema": VERDICT.clone() })).await;
        items.push(json!({ "reservation": format!("{queue}-{n:026}.{n:026}"), "result": harmful() }));
    }
    w.engine.freeze();
    let begin = Instant::now();
    let jobs = w.post("/jobs/complete", json!(items)).await.is(200)["jobs"].take();
    let took = begin.elapsed();
    w.engine.thaw();
    for item in jobs.as_array().expect("jobs") {
        assert_contains(&item["error"], json!({ "status": 503, "applied": false }));
    }
    assert!(took < TIMEOUT * 5, "one after the other it would be ten times the timeout: {took:?}");
    w.check().await;
}
