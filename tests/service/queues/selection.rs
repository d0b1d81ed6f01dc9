//! Operators select jobs of a state by client, batch, error or time; a call over many jobs continues after the previous
//! one.

use serde_json::{Value, json};

use crate::world::{World, batch_verbs::items, number};

/// Dead jobs of two clients, every third because of a timeout.
async fn with_the_dead(w: &World, count: usize) {
    w.update_settings(json!({ "max_attempts": 1 })).await;
    let job = |n: usize| json!({ "payload": n, "client": if n.is_multiple_of(2) { "acme" } else { "other" } });
    w.enqueue_many((0..count).map(job)).await;
    loop {
        let held = w.reserve_all(json!({ "limit": 100 })).await;
        if held.is_empty() {
            return;
        }
        let error_of = |payload: &Value| {
            if payload.as_u64().is_some_and(|n| n.is_multiple_of(3)) { "a (timeout) of" } else { "boom" }
        };
        let fail = |held: &crate::world::ReservedJob| json!({ "reservation": held.reservation, "error": error_of(&held.body["payload"]) });
        w.post("/jobs/fail", held.iter().map(fail).collect()).await.is(200);
    }
}

async fn dead(w: &World) -> u64 {
    number(&w.queue().await["counts"], "dead")
}

#[tokio::test]
async fn requeue_by_client_or_error_moves_only_matching_jobs() {
    let w = World::start().await;
    with_the_dead(&w, 600).await;
    let requeue = async |what: Value| w.post("/jobs/requeue", what).await;
    let of = json!({ "queue": "default", "client": "acme", "error": "(timeout)" });
    assert_eq!(requeue(of).await.is(200), json!({ "requeued": 100, "more": false, "next": null }));
    assert_eq!(requeue(json!({ "queue": "default", "client": "none" })).await.is(200)["requeued"], 0);
    assert_eq!(requeue(json!({ "queue": "default", "error": "boom" })).await.is(200)["requeued"], 400);
    assert_eq!(dead(&w).await, 100);
    requeue(json!({ "queue": "default", "error": "" })).await.invalid_at(&["/error"]);
    requeue(json!({ "queue": "default", "after": "7" })).await.invalid_at(&["/after"]);
    requeue(json!({ "queue": "default", "batch": "other-01KAJ3V7Q2M8Z4R6T9XW5Y0000" })).await.invalid_at(&["/batch"]);
    w.check().await;
}

#[tokio::test]
async fn purge_by_client_or_error_removes_only_matching_jobs() {
    let w = World::start().await;
    with_the_dead(&w, 300).await;
    let batch = w.create_batch(json!({ "jobs": items(0..3), "client": "acme" })).await;
    w.enqueue_with(json!({ "payload": "mine", "client": "acme" })).await;
    let purge = async |query: &str| w.delete(&format!("/queues/default?{query}")).await;
    assert_eq!(purge("state=dead&client=acme&error=%28timeout%29").await.is(200)["removed"], 50);
    assert_eq!(dead(&w).await, 250);
    assert_eq!(purge(&format!("state=waiting&batch={batch}")).await.is(200)["removed"], 3);
    assert_eq!(purge("state=all&client=acme").await.is(200)["removed"], 101);
    assert_eq!(dead(&w).await, 150);
    purge("state=dead&error=").await.invalid_by("parameter", &["error"]);
    purge("state=dead&after=zz").await.invalid_by("parameter", &["after"]);
    purge("state=dead&batch=other-01KAJ3V7Q2M8Z4R6T9XW5Y0000").await.invalid_by("parameter", &["batch"]);
    w.check().await;
}

#[tokio::test]
async fn bounded_purge_returns_a_cursor_for_the_next_call() {
    let w = World::start().await;
    let of = |client: &'static str, part: usize| {
        (0..1_000).map(move |n| json!({ "payload": [part, n], "client": client, "priority": if client == "goes" { 9 } else { 0 } }))
    };
    for part in 0..11 {
        w.enqueue_many(of("goes", part)).await;
    }
    for part in 11..13 {
        w.enqueue_many(of("stays", part)).await;
    }
    let first = w.delete("/queues/default?state=waiting&client=goes").await.is(200);
    assert_eq!((&first["removed"], &first["more"]), (&json!(10_000), &json!(true)));
    let next = first["next"].as_str().expect("a cursor");
    let mut meter = w.meter().await;
    let second = w.delete(&format!("/queues/default?state=waiting&client=goes&after={next}")).await.is(200);
    assert_eq!(second, json!({ "removed": 1_000, "more": false, "next": null }));
    let steps = meter.assert_bounded("the rest of a purge", &w.engine).await.len();
    assert!(steps <= 12, "the cursor skips jobs that were seen: {steps} scripts for 1,000 jobs");
    w.check().await;
}

#[tokio::test]
async fn selection_reads_each_unmatched_job_once_per_call() {
    let w = World::start().await;
    with_the_dead(&w, 1_000).await;
    let mut meter = w.meter().await;
    w.delete("/queues/default?state=dead&client=none").await.is(200);
    let purge_scripts = meter.assert_bounded("a purge that selects no job", &w.engine).await.len();
    w.post("/jobs/requeue", json!({ "queue": "default", "client": "none" })).await.is(200);
    let requeue_scripts = meter.assert_bounded("a requeue that selects no job", &w.engine).await.len();
    assert!(
        purge_scripts <= 7 && requeue_scripts <= 7,
        "200 a script: {purge_scripts} and {requeue_scripts} scripts for 1,000 jobs"
    );
    w.check().await;
}

#[tokio::test]
async fn list_and_change_select_the_same_jobs() {
    let w = World::start().await;
    with_the_dead(&w, 30).await;
    let shown = async |state: &str, only: &str| {
        let page = w.get(&format!("/queues/default/jobs?state={state}&limit=100&{only}")).await.is(200);
        page["jobs"].as_array().expect("jobs").len() as u64
    };
    let only = "client=acme&error=%28timeout%29";
    assert_eq!(shown("dead", only).await, 5);
    assert_eq!(shown("dead", "client=acme&error=%28timeout%29&enqueued_before=2000-01-01T00:00:00Z").await, 0);
    let what = json!({ "queue": "default", "client": "acme", "error": "(timeout)" });
    assert_eq!(w.post("/jobs/requeue", what).await.is(200)["requeued"], 5);
    assert_eq!(shown("waiting", only).await, 5, "errors are kept after a requeue");
    let what = json!({ "queue": "default", "priority": 1, "client": "acme", "error": "(timeout)" });
    assert_eq!(w.post("/jobs/reprioritize", what).await.is(200)["changed"], 5);
    assert_eq!(w.delete(&format!("/queues/default?state=waiting&{only}")).await.is(200)["removed"], 5);
    let other = w.get("/queues/default/jobs?batch=other-01KAJ3V7Q2M8Z4R6T9XW5Y0000").await;
    other.invalid_by("parameter", &["batch"]);
    w.check().await;
}

#[tokio::test]
async fn enqueued_before_excludes_jobs_of_that_very_time() {
    let w = World::start().await;
    w.enqueue_many((0..3).map(|n| json!({ "payload": ["old", n] }))).await;
    w.advance_clock(60_000);
    let first_new = w.enqueue("new").await;
    w.enqueue("newer").await;
    let time = w.job(&first_new).await["enqueued_at"].as_str().expect("a time").to_owned();
    let list = w.get(&format!("/queues/default/jobs?enqueued_before={time}")).await.is(200);
    assert_eq!(list["jobs"].as_array().map(Vec::len), Some(3), "a job of that very time is not selected");
    let moved =
        w.post("/jobs/reprioritize", json!({ "queue": "default", "priority": 1, "enqueued_before": time })).await;
    assert_eq!(moved.is(200)["changed"], 3);
    let removed = w.delete(&format!("/queues/default?state=waiting&enqueued_before={time}")).await.is(200);
    assert_eq!(removed, json!({ "removed": 3, "more": false, "next": null }));
    w.update_settings(json!({ "max_attempts": 1 })).await;
    w.fail(&w.reserve().await).await.is(200);
    let raise = async |before: &str| {
        let what = json!({ "queue": "default", "enqueued_before": before });
        w.post("/jobs/requeue", what).await.is(200)["requeued"].clone()
    };
    assert_eq!(raise(&time).await, 0);
    assert_eq!(raise("9999-01-01T00:00:00+01:00").await, 1);
    w.delete("/queues/default?state=dead&enqueued_before=soon").await.invalid_by("parameter", &["enqueued_before"]);
    w.check().await;
}
