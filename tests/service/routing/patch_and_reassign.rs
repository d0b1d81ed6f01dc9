//! An operator changes who may have a job, and gives what waits for one worker to others.

use serde_json::{Value, json};

use crate::world::{World, assert_contains, assert_events};

async fn reassign(w: &World, body: Value) -> Value {
    w.post("/jobs/reassign", body).await.is(200)
}

#[tokio::test]
async fn patch_moves_a_waiting_job_between_lines() {
    let w = World::start().await;
    let id = w.enqueue(1).await;
    let path = format!("/jobs/{id}");
    w.patch(&path, json!({ "assignees": ["bob"] })).await.is(200);
    assert_eq!(w.empty_reason(json!({ "worker": "ann" })).await, "ineligible");
    w.patch(&path, json!({ "assignees": null, "skill": "de" })).await.is(200);
    assert_eq!(w.empty_reason(json!({ "worker": "bob" })).await, "ineligible");
    assert_contains(&w.job(&id).await, json!({ "assignees": null, "skill": "de" }));
    w.patch(&path, json!({ "skill": null, "excluded": ["ann"] })).await.is(200);
    assert_eq!(w.empty_reason(json!({ "worker": "ann" })).await, "ineligible");
    assert_eq!(w.reserve_as("bob").await.id, id);
    assert_events(&w.events_of(&id).await, &["enqueued", "changed", "changed", "changed", "reserved"]);
    w.check().await;
}

#[tokio::test]
async fn patch_of_rule_and_priority_is_one_change() {
    let w = World::start().await;
    let id = w.enqueue(1).await;
    let answer = w.patch(&format!("/jobs/{id}"), json!({ "assignees": ["bob"], "priority": 3 })).await.is(200);
    assert_eq!(answer["priority"], 3);
    assert_contains(&w.reserve_as("bob").await.body, json!({ "id": id, "priority": 3 }));
    assert_events(&w.events_of(&id).await, &["enqueued", "changed", "reserved"]);
    w.check().await;
}

#[tokio::test]
async fn blocked_job_that_gets_an_assignee_waits_in_their_line() {
    let w = World::start().await;
    w.enqueue_with(json!({ "payload": 1, "locks": ["desk"] })).await;
    let id = w.enqueue_with(json!({ "payload": 2, "locks": ["desk"] })).await;
    let held = w.reserve_as("ann").await;
    assert_eq!(w.empty_reason(json!({ "worker": "bob" })).await, "blocked");
    assert_eq!(w.state(&id).await, "blocked");
    w.patch(&format!("/jobs/{id}"), json!({ "assignees": ["bob"] })).await.is(200);
    assert_eq!(w.state(&id).await, "waiting");
    w.patch(&format!("/jobs/{id}"), json!({ "assignees": null })).await.is(200);
    assert_eq!(w.state(&id).await, "blocked", "for everybody it is parked");
    w.complete(&held).await.is(200);
    assert_eq!(w.reserve_as("cleo").await.id, id);
    w.check().await;
}

#[tokio::test]
async fn job_that_leaves_for_a_line_passes_its_baton() {
    let w = World::start().await;
    let first = w.enqueue_with(json!({ "payload": 1, "locks": ["desk"] })).await;
    let second = w.enqueue_with(json!({ "payload": 2, "locks": ["desk"] })).await;
    let held = w.reserve_as("ann").await;
    assert_eq!(w.empty_reason(json!({ "worker": "bob" })).await, "blocked");
    w.abandon(&held).await.is(200);
    w.patch(&format!("/jobs/{first}"), json!({ "assignees": ["dan"] })).await.is(200);
    assert_eq!(w.reserve_as("cleo").await.id, second);
    w.check().await;
}

#[tokio::test]
async fn patch_of_who_may_have_it_ends_a_hand_over() {
    let w = World::start().await;
    let id = w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    w.post("/jobs/hand-over", json!({ "reservation": held.reservation, "to": "bob" })).await.is(200);
    w.patch(&format!("/jobs/{id}"), json!({ "assignees": ["cleo"] })).await.is(200);
    assert_eq!(w.job(&id).await["handed_to"], json!(null));
    assert_eq!(w.empty_reason(json!({ "worker": "bob" })).await, "ineligible");
    assert_eq!(w.reserve_as("cleo").await.id, id);
    w.check().await;
}

#[tokio::test]
async fn forty_jobs_of_a_leaver_go_to_another() {
    let w = World::start().await;
    for n in 0..40 {
        w.enqueue_with(json!({ "payload": n, "assignees": ["bob"] })).await;
    }
    let shared = w.enqueue_with(json!({ "payload": 40, "assignees": ["bob", "dan"] })).await;
    let answer = reassign(&w, json!({ "queue": "default", "from": "bob", "to": ["cleo"] })).await;
    assert_contains(&answer, json!({ "changed": 41, "refused": 0, "more": false, "next": null }));
    assert_eq!(w.job(&shared).await["assignees"], json!(["cleo", "dan"]));
    assert_eq!(w.empty_reason(json!({ "worker": "bob" })).await, "ineligible");
    assert_eq!(w.list_ids("waiting&line=@cleo").await.len(), 41);
    w.check().await;
}

#[tokio::test]
async fn reassign_continues_after_those_it_refused() {
    let w = World::start().await;
    for n in 0..250 {
        let mut job = json!({ "payload": n, "assignees": ["bob"] });
        if n % 2 == 0 {
            job["excluded"] = json!(["cleo"]);
        }
        w.enqueue_with(job).await;
    }
    let (mut changed, mut refused, mut after) = (0, 0, Value::Null);
    loop {
        let mut call = json!({ "queue": "default", "from": "bob", "to": ["cleo"] });
        if !after.is_null() {
            call["after"] = after;
        }
        let part = reassign(&w, call).await;
        changed += part["changed"].as_u64().expect("a number");
        refused += part["refused"].as_u64().expect("a number");
        after = part["next"].clone();
        if after.is_null() {
            break;
        }
    }
    assert_eq!((changed, refused), (125, 125));
    w.check().await;
}

#[tokio::test]
async fn job_without_a_last_assignee_is_for_everybody() {
    let w = World::start().await;
    let alone = w.enqueue_with(json!({ "payload": 1, "assignees": ["bob"] })).await;
    let shared = w.enqueue_with(json!({ "payload": 2, "assignees": ["bob", "dan"] })).await;
    let answer = reassign(&w, json!({ "queue": "default", "from": "bob", "to": null })).await;
    assert_contains(&answer, json!({ "changed": 2, "refused": 0 }));
    assert_eq!(w.job(&alone).await["assignees"], json!(null));
    assert_eq!(w.job(&shared).await["assignees"], json!(["dan"]));
    assert_eq!(w.reserve_as("ann").await.id, alone);
    assert_eq!(w.empty_reason(json!({ "worker": "cleo" })).await, "ineligible");
    w.check().await;
}

#[tokio::test]
async fn job_handed_to_a_leaver_is_handed_to_the_successor() {
    let w = World::start().await;
    let id = w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    let call = json!({ "reservation": held.reservation, "to": "bob", "note": "urgent" });
    w.post("/jobs/hand-over", call).await.is(200);
    reassign(&w, json!({ "queue": "default", "from": "bob", "to": ["cleo"] })).await;
    assert_eq!(w.empty_reason(json!({ "worker": "bob" })).await, "ineligible");
    let got = w.reserve_as("cleo").await;
    assert_contains(&got.body, json!({ "id": id }));
    assert_eq!(got.body["note"]["text"], "urgent");
    w.check().await;
}

#[tokio::test]
async fn reassign_refuses_a_ninth_assignee_and_a_job_without_one() {
    let w = World::start().await;
    let names: Vec<_> = ["bob"].into_iter().map(str::to_owned).chain((0..7).map(|n| format!("w{n}"))).collect();
    let full = w.enqueue_with(json!({ "payload": 1, "assignees": names })).await;
    let shut = w.enqueue_with(json!({ "payload": 2, "assignees": ["bob", "dan"], "excluded": ["dan"] })).await;
    let answer = reassign(&w, json!({ "queue": "default", "from": "bob", "to": ["cleo", "fay"] })).await;
    assert_contains(&answer, json!({ "changed": 1, "refused": 1 }));
    assert_eq!(w.job(&full).await["assignees"], json!(names));
    w.patch(&format!("/jobs/{shut}"), json!({ "assignees": ["bob", "dan"] })).await.is(200);
    let answer = reassign(&w, json!({ "queue": "default", "from": "bob", "to": null })).await;
    assert_contains(&answer, json!({ "changed": 1, "refused": 1 }));
    assert_eq!(w.job(&shut).await["assignees"], json!(["bob", "dan"]), "dan alone is excluded");
    assert_eq!(w.job(&full).await["assignees"], json!(names[1..]));
    w.check().await;
}

#[tokio::test]
async fn patch_that_excludes_each_assignee_is_refused() {
    let w = World::start().await;
    let id = w.enqueue_with(json!({ "payload": 1, "assignees": ["ann", "bob"], "excluded": ["cleo"] })).await;
    let path = format!("/jobs/{id}");
    w.patch(&path, json!({ "excluded": ["ann", "bob", "dan"], "priority": 3 })).await.invalid_at(&["/excluded"]);
    w.patch(&path, json!({ "assignees": ["cleo"] })).await.invalid_at(&["/assignees"]);
    let job = w.job(&id).await;
    assert_contains(&job, json!({ "assignees": ["ann", "bob"], "excluded": ["cleo"], "priority": 50 }));
    w.patch(&path, json!({ "excluded": ["ann"] })).await.is(200);
    assert_eq!(w.reserve_as("bob").await.id, id);
    assert_events(&w.events_of(&id).await, &["enqueued", "changed", "reserved"]);
    w.check().await;
}

/// Cleo has skipped it.
async fn skipped_job(w: &World, assignees: Value) -> String {
    let id = w.enqueue_with(json!({ "payload": 1, "assignees": assignees })).await;
    let held = w.reserve_as("cleo").await;
    w.post("/jobs/abandon", json!({ "reservation": held.reservation, "skip": true })).await.is(200);
    assert_eq!(w.empty_reason(json!({ "worker": "cleo" })).await, "skipped");
    id
}

#[tokio::test]
async fn worker_named_by_an_operator_is_offered_what_they_skipped() {
    let w = World::start_process().await;
    for before in [json!(null), json!(["cleo"]), json!(["bob", "cleo"])] {
        let id = match &before {
            Value::Null => {
                let id = skipped_job(&w, json!(["cleo"])).await;
                w.patch(&format!("/jobs/{id}"), json!({ "assignees": null })).await.is(200);
                assert_eq!(w.empty_reason(json!({ "worker": "cleo" })).await, "skipped", "no worker is named");
                id
            }
            names => skipped_job(&w, names.clone()).await,
        };
        let waiter = w.start_wait(json!({ "worker": "cleo" })).await;
        w.patch(&format!("/jobs/{id}"), json!({ "assignees": ["cleo"] })).await.is(200);
        let (held, _) = waiter.job_at().await;
        assert_eq!(held.id, id, "{before}");
        w.complete(&held).await.is(200);
        let changes = w.events_of(&id).await.into_iter().filter(|kind| kind == "changed").count();
        assert_eq!(changes, if before.is_null() { 2 } else { 1 }, "{before}");
    }
    w.check().await;
}

#[tokio::test]
async fn worker_given_anothers_job_is_offered_what_they_skipped() {
    let w = World::start().await;
    for from in [json!(["bob", "cleo"]), json!(["cleo", "bob"])] {
        let id = skipped_job(&w, from).await;
        assert_eq!(reassign(&w, json!({ "queue": "default", "from": "bob", "to": ["cleo"] })).await["changed"], 1);
        let held = w.reserve_as("cleo").await;
        assert_eq!(held.id, id);
        w.complete(&held).await.is(200);
    }
    w.check().await;
}

/// Only the second PATCH is of the job's own worker.
#[tokio::test]
async fn worker_named_within_a_grace_does_not_skip_at_its_end() {
    const GRACE_MS: u64 = 10_000;
    let w = World::start().await;
    for (change, is_offered) in [(json!({ "priority": 3 }), false), (json!({ "assignees": ["cleo"] }), true)] {
        let id = w.enqueue_with(json!({ "payload": change, "assignees": ["cleo"] })).await;
        let held = w.reserve_as("cleo").await;
        let leave = json!({ "reservation": held.reservation, "skip": true, "grace_ms": GRACE_MS });
        w.post("/jobs/abandon", leave).await.is(200);
        w.patch(&format!("/jobs/{id}"), change.clone()).await.is(200);
        w.advance_clock(GRACE_MS);
        w.sweep().await;
        assert_contains(&w.job(&id).await, json!({ "state": "waiting", "counts": { "abandoned": 1 } }));
        if is_offered {
            assert_eq!(w.reserve_as("cleo").await.id, id);
        } else {
            assert_eq!(w.empty_reason(json!({ "worker": "cleo" })).await, "skipped");
            w.cancel(&id).await.is(200);
        }
    }
    w.check().await;
}
