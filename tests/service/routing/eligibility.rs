//! Each job is given only to those who may have it, by any call.

use serde_json::{Value, json};

use crate::world::{World, assert_contains, assert_events};

#[tokio::test]
async fn assigned_job_is_given_to_its_assignees_only() {
    let w = World::start().await;
    let id = w.enqueue_with(json!({ "payload": 1, "assignees": ["bob", "cleo"] })).await;
    for other in [json!({}), json!({ "worker": "ann" }), json!({ "worker": "bo" }), json!({ "worker": "bobb" })] {
        assert_eq!(w.empty_reason(other).await, "ineligible");
    }
    assert_eq!(w.reserve_as("cleo").await.id, id);
    assert_eq!(w.empty_reason(json!({ "worker": "bob" })).await, "reserved");
    w.check().await;
}

#[tokio::test]
async fn job_with_a_skill_is_given_to_those_who_have_it() {
    let w = World::start().await;
    let id = w.enqueue_with(json!({ "payload": 1, "skill": "de" })).await;
    for skills in [json!([]), json!(["fr"]), json!(["d", "dee", "DE"])] {
        assert_eq!(w.empty_reason(json!({ "worker": "ann", "skills": skills })).await, "ineligible");
    }
    assert_eq!(w.empty_reason(json!({ "worker": "ann" })).await, "ineligible");
    assert_eq!(w.reserve_with(json!({ "worker": "ann", "skills": ["fr", "de"] })).await.id, id);
    w.check().await;
}

#[tokio::test]
async fn unnamed_caller_with_the_skill_is_given_the_job() {
    let w = World::start().await;
    let id = w.enqueue_with(json!({ "payload": 1, "skill": "de" })).await;
    assert_eq!(w.reserve_with(json!({ "skills": ["de"] })).await.id, id);
    w.check().await;
}

#[tokio::test]
async fn excluded_worker_is_passed_over_and_order_stays() {
    let w = World::start().await;
    let mut ids = Vec::new();
    for n in 0..3 {
        ids.push(w.enqueue_with(json!({ "payload": n, "excluded": ["carol"] })).await);
    }
    let own = w.enqueue(3).await;
    assert_eq!(w.reserve_as("carol").await.id, own);
    assert_eq!(w.empty_reason(json!({})).await, "ineligible", "without a name it could be carol");
    for id in ids {
        let held = w.reserve_as("ann").await;
        assert_eq!(held.id, id);
        w.complete(&held).await.is(200);
    }
    w.check().await;
}

#[tokio::test]
async fn excluded_assignee_is_given_nothing() {
    let w = World::start().await;
    let id = w.enqueue_with(json!({ "payload": 1, "assignees": ["ann", "bob"], "excluded": ["ann"] })).await;
    assert_eq!(w.empty_reason(json!({ "worker": "ann" })).await, "ineligible");
    assert_eq!(w.reserve_as("bob").await.id, id);
    w.check().await;
}

#[tokio::test]
async fn assignee_without_the_skill_is_given_nothing() {
    let w = World::start().await;
    let id = w.enqueue_with(json!({ "payload": 1, "assignees": ["ann"], "skill": "de" })).await;
    assert_eq!(w.empty_reason(json!({ "worker": "ann" })).await, "ineligible");
    assert_eq!(w.empty_reason(json!({ "worker": "bob", "skills": ["de"] })).await, "ineligible");
    assert_eq!(w.reserve_with(json!({ "worker": "ann", "skills": ["de"] })).await.id, id);
    w.check().await;
}

#[tokio::test]
async fn job_that_is_named_is_refused_with_the_rule() {
    let w = World::start().await;
    let rows = [
        (json!({ "payload": 1, "assignees": ["bob"] }), "assignees"),
        (json!({ "payload": 2, "skill": "de" }), "skill"),
        (json!({ "payload": 3, "excluded": ["ann"] }), "excluded"),
    ];
    for (job, rule) in rows {
        let id = w.enqueue_with(job).await;
        let refused = w.send_reserve(json!({ "worker": "ann", "id": id })).await.refused("not-eligible");
        assert_eq!(refused["rule"], rule);
        assert_eq!(w.state(&id).await, "waiting");
        w.reserve_with(json!({ "worker": "bob", "skills": ["de"], "id": id })).await;
        w.post("/jobs/release", json!({ "id": id })).await.is(200);
    }
    w.check().await;
}

#[tokio::test]
async fn order_is_that_of_one_line() {
    let w = World::start().await;
    w.update_settings(json!({ "worker_limit": 0 })).await;
    let jobs = [
        json!({ "payload": 0, "assignees": ["ann"] }),
        json!({ "payload": 1 }),
        json!({ "payload": 2, "skill": "de" }),
        json!({ "payload": 3, "priority": 1, "skill": "fr" }),
        json!({ "payload": 4 }),
        json!({ "payload": 5, "assignees": ["bob"] }),
    ];
    for job in jobs {
        w.enqueue_with(job).await;
    }
    let held = w.reserve_all(json!({ "worker": "ann", "skills": ["de", "fr"], "limit": 10 })).await;
    let payloads: Vec<_> = held.iter().map(|held| held.number("payload")).collect();
    assert_eq!(payloads, [3, 0, 1, 2, 4]);
    w.check().await;
}

#[tokio::test]
async fn holder_resumes_what_is_not_for_them_any_more() {
    let w = World::start().await;
    let id = w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    w.patch(&format!("/jobs/{id}"), json!({ "assignees": ["bob"] })).await.is(200);
    let again = w.reserve_as("ann").await;
    assert_contains(&again.body, json!({ "id": id, "resumed": true }));
    w.abandon(&held).await.is(200);
    assert_eq!(w.empty_reason(json!({ "worker": "ann" })).await, "ineligible");
    assert_eq!(w.reserve_as("bob").await.id, id);
    w.check().await;
}

#[tokio::test]
async fn lines_of_a_queue_are_shown_and_listed() {
    let w = World::start().await;
    let mut ids = Vec::new();
    let jobs = [json!(["bob"]), json!(["ann", "bob"]), Value::Null];
    for (n, assignees) in jobs.into_iter().enumerate() {
        let mut job = json!({ "payload": n, "assignees": assignees, "skill": "de" });
        if job["assignees"].is_null() {
            job.as_object_mut().expect("an object").remove("assignees");
        }
        ids.push(w.enqueue_with(job).await);
    }
    let lines = w.queue().await["lines"].clone();
    let counts: Vec<_> =
        lines.as_array().expect("lines").iter().map(|line| (&line["line"], &line["waiting"])).collect();
    assert_eq!(counts, [(&json!("+de"), &json!(1)), (&json!("@ann"), &json!(1)), (&json!("@bob"), &json!(2))]);
    assert_eq!(w.queue().await["counts"]["waiting"], 3);
    assert_eq!(w.list_ids("waiting&line=@bob").await, ids[..2]);
    assert_eq!(w.list_ids("waiting&line=%2Bde").await, ids[2..]);
    assert_eq!(w.list_ids("waiting").await, ids);
    w.check().await;
}

#[tokio::test]
async fn purge_and_priority_of_all_reach_restricted_jobs() {
    let w = World::start().await;
    for n in 0..250 {
        w.enqueue_with(json!({ "payload": n, "assignees": ["bob"] })).await;
    }
    w.enqueue(1_000).await;
    let all = json!({ "queue": "default", "state": "waiting", "priority": 7 });
    let mut changed = 0;
    let mut after = json!(null);
    loop {
        let mut call = all.clone();
        if !after.is_null() {
            call["after"] = after;
        }
        let part = w.post("/jobs/reprioritize", call).await.is(200);
        changed += part["changed"].as_u64().expect("a number");
        after = part["next"].clone();
        if after.is_null() {
            break;
        }
    }
    assert_eq!(changed, 251);
    assert_eq!(w.reserve_as("bob").await.number("priority"), 7);
    w.check().await;
    let purged = w.delete("/queues/default?state=waiting&force=true").await.is(200);
    assert_eq!(purged["removed"], 250);
    assert_eq!(w.queue().await["counts"]["waiting"], 0);
    w.check().await;
}

#[tokio::test]
async fn restricted_job_at_a_held_lock_is_passed_over() {
    let w = World::start().await;
    let first = w.enqueue_with(json!({ "payload": 1, "locks": ["desk"] })).await;
    let held = w.reserve_as("ann").await;
    assert_eq!(held.id, first);
    let id = w.enqueue_with(json!({ "payload": 2, "locks": ["desk"], "assignees": ["bob"] })).await;
    let later = w.enqueue_with(json!({ "payload": 3, "assignees": ["bob"] })).await;
    assert_eq!(w.state(&id).await, "waiting", "it is never parked");
    assert_eq!(w.reserve_as("bob").await.id, later);
    w.release(&later).await;
    w.force_cancel(&later).await;
    assert_eq!(w.empty_reason(json!({ "worker": "bob" })).await, "blocked");
    w.complete(&held).await.is(200);
    assert_eq!(w.reserve_as("bob").await.id, id);
    assert_events(&w.events_of(&id).await, &["enqueued", "reserved"]);
    w.check().await;
}
