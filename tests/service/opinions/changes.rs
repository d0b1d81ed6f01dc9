//! An operator's change leaves each job of a batch with an overlap a worker of its own, or it is not made.

use serde_json::{Value, json};

use crate::world::{World, assert_contains, batch_verbs::member_id};

const LEASE_MS: u64 = 10_000;

/// A batch with so many jobs for these workers.
async fn ask(w: &World, overlap: u64, assignees: &[&str]) -> String {
    let job = json!({ "payload": "picture", "assignees": assignees, "lease_ms": LEASE_MS });
    w.create_batch(json!({ "overlap": overlap, "job": job })).await
}

async fn reassign(w: &World, from: &str, to: &[&str]) -> Value {
    w.post("/jobs/reassign", json!({ "queue": "default", "from": from, "to": to })).await.is(200)
}

async fn assign(w: &World, id: &str, assignees: &[&str]) {
    w.patch(&format!("/jobs/{id}"), json!({ "assignees": assignees })).await.is(200);
}

async fn assert_refused(w: &World, id: &str, change: Value) {
    let before = w.job(id).await;
    let refused = w.patch(&format!("/jobs/{id}"), change.clone()).await;
    assert_eq!((refused.status, refused.refused("not-eligible")["rule"].clone()), (409, json!("overlap")), "{change}");
    assert_eq!(w.job(id).await, before, "{change}");
}

async fn complete_as(w: &World, worker: &str) {
    let held = w.reserve_as(worker).await;
    w.complete(&held).await.is(200);
}

#[tokio::test]
async fn job_is_not_reassigned_to_who_has_answered() {
    let w = World::start().await;
    let batch = ask(&w, 2, &["bob", "cleo"]).await;
    complete_as(&w, "cleo").await;
    assert_contains(&reassign(&w, "bob", &["cleo"]).await, json!({ "changed": 0, "refused": 1, "more": false }));
    assert_contains(&reassign(&w, "bob", &["cleo", "dan"]).await, json!({ "changed": 1, "refused": 0 }));
    assert_eq!(w.empty_reason(json!({ "worker": "cleo" })).await, "ineligible");
    complete_as(&w, "dan").await;
    assert_eq!(w.batch(&batch).await["state"], "completed");
    w.check().await;
}

#[tokio::test]
async fn reassign_leaves_as_many_workers_as_the_overlap() {
    let w = World::start().await;
    let batch = ask(&w, 2, &["ann", "bob"]).await;
    assert_contains(&reassign(&w, "bob", &["ann"]).await, json!({ "changed": 1, "refused": 1 }));
    assert_contains(&reassign(&w, "bob", &["cleo"]).await, json!({ "changed": 1, "refused": 0 }));
    let [first, second] = [0, 1].map(|n| member_id(&batch, n));
    assert_eq!(w.job(&first).await["assignees"], json!(["ann"]));
    assert_eq!(w.job(&second).await["assignees"], json!(["ann", "cleo"]));
    complete_as(&w, "ann").await;
    complete_as(&w, "cleo").await;
    w.check().await;
}

#[tokio::test]
async fn patch_that_leaves_a_job_without_a_worker_is_refused() {
    let w = World::start().await;
    let batch = ask(&w, 2, &["bob", "cleo"]).await;
    complete_as(&w, "cleo").await;
    let id = member_id(&batch, 1);
    for change in [json!({ "assignees": ["cleo"] }), json!({ "excluded": ["bob"], "priority": 3 })] {
        assert_refused(&w, &id, change).await;
    }
    let path = format!("/jobs/{id}");
    w.patch(&path, json!({ "assignees": ["cleo"], "fallback_ms": 60_000 })).await.is(200);
    assert_refused(&w, &id, json!({ "fallback_ms": null })).await;
    w.patch(&path, json!({ "assignees": null, "fallback_ms": null, "excluded": ["bob"] })).await.is(200);
    assert_refused(&w, &id, json!({ "assignees": ["cleo", "bob"], "excluded": ["bob"] })).await;
    w.patch(&path, json!({ "priority": 3 })).await.is(200);
    complete_as(&w, "dan").await;
    w.check().await;
}

#[tokio::test]
async fn three_jobs_need_three_of_their_own_workers() {
    let w = World::start().await;
    let batch = ask(&w, 3, &["ann", "bob", "cleo"]).await;
    let ids = [0, 1, 2].map(|n| member_id(&batch, n));
    assign(&w, &ids[0], &["ann", "bob"]).await;
    assign(&w, &ids[1], &["ann"]).await;
    for assignees in [&["ann"][..], &["bob"], &["bob", "ann"]] {
        assert_refused(&w, &ids[2], json!({ "assignees": assignees })).await;
    }
    assign(&w, &ids[2], &["bob", "cleo"]).await;
    assert_refused(&w, &ids[0], json!({ "assignees": ["ann"] })).await;
    for worker in ["cleo", "bob", "ann"] {
        complete_as(&w, worker).await;
    }
    assert_eq!(w.batch(&batch).await["state"], "completed");
    w.check().await;
}

#[tokio::test]
async fn holder_and_who_may_be_late_have_one_job() {
    let w = World::start().await;
    let batch = ask(&w, 3, &["ann", "bob", "cleo"]).await;
    let first = w.reserve_as("ann").await;
    let other = member_id(&batch, 1);
    assert_refused(&w, &other, json!({ "assignees": ["ann"] })).await;
    w.advance_clock(LEASE_MS);
    w.sweep().await;
    assert_refused(&w, &other, json!({ "assignees": ["ann"] })).await;
    assign(&w, &first.id, &["ann"]).await;
    w.force_cancel(&first.id).await.is(200);
    assert_refused(&w, &other, json!({ "assignees": ["ann"] })).await;
    complete_as(&w, "bob").await;
    complete_as(&w, "cleo").await;
    w.check().await;
}

#[tokio::test]
async fn job_that_its_holder_may_give_back_keeps_a_worker() {
    let w = World::start().await;
    let batch = ask(&w, 2, &["ann", "bob", "cleo"]).await;
    let held = w.reserve_as("bob").await;
    let other = member_id(&batch, 1);
    assign(&w, &held.id, &["ann"]).await;
    assert_refused(&w, &other, json!({ "assignees": ["ann"] })).await;
    w.post("/jobs/abandon", json!({ "reservation": held.reservation })).await.is(200);
    complete_as(&w, "ann").await;
    complete_as(&w, "cleo").await;
    w.check().await;
}

#[tokio::test]
async fn change_that_makes_nothing_worse_is_made() {
    let w = World::start().await;
    let batch = ask(&w, 2, &["ann", "bob"]).await;
    for worker in ["ann", "bob"] {
        let held = w.reserve_as(worker).await;
        w.post("/jobs/abandon", json!({ "reservation": held.reservation, "skip": true })).await.is(200);
    }
    let [first, second] = [0, 1].map(|n| member_id(&batch, n));
    w.patch(&format!("/jobs/{first}"), json!({ "excluded": ["dan"] })).await.is(200);
    assert_contains(&reassign(&w, "ann", &["bob"]).await, json!({ "changed": 2, "refused": 0 }));
    assign(&w, &first, &["cleo"]).await;
    assign(&w, &second, &["dan"]).await;
    assert_refused(&w, &first, json!({ "assignees": ["dan"], "excluded": ["bob"] })).await;
    complete_as(&w, "cleo").await;
    complete_as(&w, "dan").await;
    w.check().await;
}

#[tokio::test]
async fn worker_who_skipped_one_job_is_offered_the_one_assigned() {
    let w = World::start().await;
    let batch = ask(&w, 2, &["ann", "bob"]).await;
    let skipped = w.reserve_as("ann").await;
    w.post("/jobs/abandon", json!({ "reservation": skipped.reservation, "skip": true })).await.is(200);
    let other = member_id(&batch, 1);
    assert_ne!(skipped.id, other);
    assign(&w, &other, &["ann"]).await;
    assert_eq!(w.reserve_as("ann").await.id, other);
    assert_eq!(w.reserve_as("bob").await.id, skipped.id);
    w.check().await;
}

#[tokio::test]
async fn dead_job_past_its_expiry_needs_no_worker() {
    let w = World::start().await;
    w.stop_clock();
    let job = json!({ "payload": 1, "assignees": ["ann", "bob"], "max_attempts": 1, "expires_ms": 60_000 });
    let batch = w.create_batch(json!({ "overlap": 2, "job": job })).await;
    let held = w.reserve_as("ann").await;
    w.fail(&held).await.is(200);
    let other = member_id(&batch, 1);
    assert_eq!((w.state(&held.id).await.as_str(), held.id == other), ("dead", false));
    assign(&w, &held.id, &["ann"]).await;
    let path = format!("/jobs/{other}");
    w.patch(&path, json!({ "expires_ms": 120_000 })).await.is(200);
    assert_refused(&w, &other, json!({ "assignees": ["ann"] })).await;
    w.advance_clock(60_000);
    assign(&w, &other, &["ann"]).await;
    assert_refused(&w, &held.id, json!({ "expires_ms": 60_000 })).await;
    complete_as(&w, "ann").await;
    w.check().await;
}

#[tokio::test]
async fn reassignment_of_many_opinions_takes_several_calls() {
    let w = World::start().await;
    let names: Vec<_> = (0..8).map(|n| format!("w{n}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    for _ in 0..12 {
        ask(&w, 8, &names).await;
    }
    let (mut changed, mut calls, mut after) = (0, 0, Value::Null);
    loop {
        let mut call = json!({ "queue": "default", "from": "w0", "to": ["ann"] });
        if !after.is_null() {
            call["after"] = after;
        }
        let answer = w.post("/jobs/reassign", call).await.is(200);
        assert_eq!(answer["refused"], 0, "{answer}");
        // Each job costs a look at the seven others.
        let those = answer["changed"].as_u64().expect("a number");
        assert!(those <= 20, "{answer}");
        (changed, calls, after) = (changed + those, calls + 1, answer["next"].clone());
        if answer["more"] == false {
            break;
        }
    }
    assert!(changed == 96 && calls >= 5, "{changed} in {calls}");
    w.check().await;
}
