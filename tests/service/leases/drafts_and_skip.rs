//! Drafts, skips and the grace period of a lease.

use serde_json::{Value, json};

use crate::world::{ReservedJob, World, assert_contains, assert_events, number};

impl World {
    async fn type_in(&self, held: &ReservedJob, draft: impl Into<Value>) {
        self.post("/jobs/extend", json!({ "reservation": held.reservation, "draft": draft.into() })).await.is(200);
    }

    pub(super) async fn leave(&self, held: &ReservedJob, more: Value) -> Value {
        let mut body = json!({ "reservation": held.reservation });
        body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        self.post("/jobs/abandon", body).await.is(200)
    }

    pub(super) async fn skip(&self, held: &ReservedJob) {
        self.leave(held, json!({ "skip": true })).await;
    }
}

#[tokio::test]
async fn draft_is_returned_on_resume() {
    let w = World::start().await;
    w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    assert_eq!(held.body["draft"], Value::Null);
    w.type_in(&held, json!({ "text": "half a sen" })).await;
    w.type_in(&held, json!({ "text": "half a sentence" })).await;
    let again = w.reserve_as("ann").await;
    assert_contains(&again.body, json!({ "resumed": true, "draft": { "text": "half a sentence" } }));
    assert_eq!(again.reservation, held.reservation);
    w.extend(&held).await.is(200);
    assert_eq!(w.reserve_as("ann").await.body["draft"], json!({ "text": "half a sentence" }), "an extend leaves it");
    w.type_in(&held, Value::Null).await;
    assert_eq!(w.reserve_as("ann").await.body["draft"], Value::Null);
    w.check().await;
}

#[tokio::test]
async fn drafts_of_one_reservation_have_a_rate() {
    let w = World::start().await;
    let settings = json!({ "worker_limit": 0 });
    w.update_settings(settings).await;
    w.enqueue_many((0..2).map(|n| json!({ "payload": n }))).await;
    let (held, other) = (w.reserve_as("ann").await, w.reserve_as("ann").await);
    let draft = |held: &ReservedJob, n: usize| json!({ "reservation": held.reservation, "draft": n });
    let calls = (0..60).map(|n| draft(&held, n)).collect::<Value>();
    let answers = w.post("/jobs/extend", calls).await.is(200);
    let answers = answers["jobs"].as_array().expect("an answer for each");
    let (stored, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer["state"] == "reserved");
    assert!((10..=12).contains(&stored.len()), "at once: {answers:?}");
    let refused = &refused[0]["error"];
    assert_contains(refused, json!({ "type": "/problems/rate-limited", "status": 429 }));
    assert!((1..=1_000).contains(&number(refused, "retry_after_ms")), "{refused}");
    // Only drafts count, and only those of that reservation.
    w.extend(&held).await.is(200);
    w.type_in(&other, 1).await;
    let late = json!({ "reservation": held.reservation, "draft": 99, "grace_ms": 60_000 });
    let answer = w.post("/jobs/abandon", late).await;
    assert!(answer.header("retry-after").is_some(), "a grace may go on and on");
    answer.is(429);
    w.complete(&held).await.is(200);
    w.check().await;
}

#[tokio::test]
async fn results_of_one_reservation_have_a_rate() {
    let w = World::start().await;
    w.update_settings(json!({ "worker_limit": 0 })).await;
    w.enqueue_many((0..3).map(|n| json!({ "payload": n }))).await;
    let (late, undone, other) = (w.reserve_as("ann").await, w.reserve_as("ann").await, w.reserve_as("ann").await);
    w.release(&late.id).await;
    let results = (0..60).map(|n| json!({ "reservation": late.reservation, "result": n })).collect::<Value>();
    let answers = w.post("/jobs/complete", results).await.is(200);
    let answers = answers["jobs"].as_array().expect("an answer for each");
    let kept = answers.iter().filter(|answer| answer["error"]["status"] == 409).count();
    assert!((10..=12).contains(&kept), "{answers:?}");
    assert!(answers.iter().filter(|answer| answer["error"]["status"] == 429).count() >= 48, "{answers:?}");

    let mut refused = None;
    for n in 0..60 {
        let result = json!({ "reservation": undone.reservation, "result": n, "undo_ms": 60_000 });
        let answer = w.post("/jobs/complete", result).await;
        if answer.status == 429 {
            refused = Some(answer);
            break;
        }
        answer.is(200);
        w.post("/jobs/undo", json!({ "reservation": undone.reservation })).await.is(200);
    }
    let refused = refused.expect("sixty in a few seconds").is(429);
    assert!((1..=1_000).contains(&number(&refused, "retry_after_ms")), "{refused}");
    // Neither what has no result nor another reservation is limited.
    w.extend(&undone).await.is(200);
    w.post("/jobs/complete", json!({ "reservation": other.reservation, "result": 1 })).await.is(200);
    w.check().await;
}

#[tokio::test]
async fn draft_survives_expiry_for_its_worker_only() {
    let w = World::start().await;
    let id = w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    w.type_in(&held, "ann's work").await;
    w.advance_clock(300_000);
    let bob = w.reserve_as("bob").await;
    assert_eq!((bob.id.as_str(), &bob.body["draft"]), (id.as_str(), &Value::Null));
    w.abandon(&bob).await.is(200);
    let unnamed = w.reserve().await;
    assert_eq!(unnamed.body["draft"], Value::Null);
    w.fail(&unnamed).await.is(200);
    assert_eq!(w.reserve_as("ann").await.body["draft"], "ann's work");
    w.check().await;
}

#[tokio::test]
async fn share_drafts_shows_drafts_to_other_workers() {
    let w = World::start().await;
    w.update_settings(json!({ "share_drafts": true })).await;
    w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    w.leave(&held, json!({ "draft": "begun" })).await;
    let bob = w.reserve_as("bob").await;
    assert_eq!(bob.body["draft"], "begun");
    w.complete(&bob).await.is(200);
    w.check().await;
}

#[tokio::test]
async fn draft_up_to_the_size_limit_is_returned_unchanged() {
    let w = World::plan().flag("--max-payload-bytes", "20000").start().await;
    w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    for draft in [json!("x".repeat(19_990)), json!({ "deep": [1.5, "é\u{0}"] })] {
        w.type_in(&held, draft.clone()).await;
        assert_eq!(w.reserve_as("ann").await.body["draft"], draft);
    }
    let large = json!({ "reservation": held.reservation, "draft": "x".repeat(20_000) });
    assert_eq!(w.post("/jobs/extend", large.clone()).await.status, 413);
    assert_eq!(w.post("/jobs/abandon", large).await.status, 413);
    assert_eq!(w.state(&held.id).await, "reserved");
    w.check().await;
}

#[tokio::test]
async fn skipped_job_is_offered_only_to_other_workers() {
    let w = World::start().await;
    let (first, second) = (w.enqueue(1).await, w.enqueue(2).await);
    w.skip(&w.reserve_as("ann").await).await;
    assert_eq!(w.reserve_as("bob").await.id, first, "in its old place");
    let ann = w.reserve_as("ann").await;
    assert_eq!(ann.id, second);
    w.complete(&ann).await.is(200);
    w.release(&first).await;
    assert_eq!(w.empty_reason(json!({ "worker": "ann" })).await, "skipped");
    assert_eq!(w.empty_reason(json!({ "worker": "ann", "queues": ["default", "other"] })).await, "skipped");
    w.update_settings(json!({ "paused": true })).await;
    assert_eq!(w.empty_reason(json!({ "worker": "ann" })).await, "paused");
    w.update_settings(json!({ "paused": null })).await;
    assert_eq!(w.reserve_with(json!({ "worker": "ann", "id": first })).await.id, first, "a deep link is not hindered");
    w.check().await;
}

#[tokio::test]
async fn job_remembers_its_last_sixteen_skips() {
    let w = World::start().await;
    let id = w.enqueue(1).await;
    for n in 0..17 {
        w.skip(&w.reserve_as(&format!("w{n}")).await).await;
    }
    for n in 1..17 {
        assert_eq!(w.empty_reason(json!({ "worker": format!("w{n}") })).await, "skipped");
    }
    assert_eq!(w.reserve_as("w0").await.id, id);
    w.check().await;
}

#[tokio::test]
async fn many_skipped_jobs_hide_no_other_job() {
    let w = World::start().await;
    w.update_settings(json!({ "worker_limit": 0 })).await;
    for batch in 0..2 {
        w.enqueue_many((0..450).map(|n| json!({ "payload": batch * 450 + n }))).await;
    }
    for _ in 0..9 {
        for held in w.reserve_all(json!({ "worker": "ann", "limit": 100 })).await {
            w.skip(&held).await;
        }
    }
    assert_eq!(w.empty_reason(json!({ "worker": "ann" })).await, "skipped");
    let last = w.enqueue("another").await;
    let both = w.reserve_all(json!({ "worker": "ann", "limit": 2 })).await;
    assert_eq!(both.iter().map(|held| held.id.as_str()).collect::<Vec<_>>(), [last]);
    assert_eq!(w.reserve_all(json!({ "worker": "bob", "limit": 100 })).await.len(), 100);
    w.check().await;
}

#[tokio::test]
async fn skip_needs_a_worker_name() {
    let w = World::start().await;
    w.enqueue(1).await;
    let held = w.reserve().await;
    let refusal = w.post("/jobs/abandon", json!({ "reservation": held.reservation, "skip": true })).await;
    refusal.invalid_at(&["/skip"]);
    assert_eq!(w.state(&held.id).await, "reserved");
    w.check().await;
}

#[tokio::test]
async fn grace_keeps_the_lease_until_it_ends() {
    let w = World::start().await;
    w.stop_clock();
    let id = w.enqueue_with(json!({ "payload": 1, "max_attempts": 1 })).await;
    let held = w.reserve_as("ann").await;
    let response = w.leave(&held, json!({ "grace_ms": 15_000, "draft": "typed" })).await;
    assert_contains(&response, json!({ "state": "reserved", "duplicate": false }));
    w.advance_clock(14_999);
    let again = w.reserve_as("ann").await;
    assert_contains(&again.body, json!({ "resumed": true, "draft": "typed", "expires_in_ms": 300_000 }));
    w.leave(&again, json!({ "grace_ms": 15_000 })).await;
    w.advance_clock(15_000);
    w.sweep().await;
    assert_contains(
        &w.job(&id).await,
        json!({ "state": "waiting", "attempts": 0, "counts": { "abandoned": 1, "expired": 0 } }),
    );
    w.extend(&again).await.lost("abandoned", "waiting");
    assert_events(&w.events_of(&id).await, &["enqueued", "reserved", "resumed", "abandoned"]);
    w.check().await;
}

#[tokio::test]
async fn extend_after_grace_abandon_restores_the_lease() {
    let w = World::start().await;
    w.stop_clock();
    let id = w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    w.leave(&held, json!({ "grace_ms": 1_000 })).await;
    w.extend(&held).await.is(200);
    w.advance_clock(299_999);
    w.sweep().await;
    assert_eq!(w.state(&id).await, "reserved");
    w.leave(&held, json!({ "grace_ms": 60_000 })).await;
    w.advance_clock(1);
    w.sweep().await;
    assert_contains(&w.job(&id).await, json!({ "counts": { "abandoned": 1, "expired": 0 } }));
    w.check().await;
}

#[tokio::test]
async fn abandon_with_an_old_resume_count_is_ignored() {
    let w = World::start().await;
    w.stop_clock();
    w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    let reloaded = w.reserve_as("ann").await;
    assert_eq!(reloaded.number("resumes"), 1);
    for beacon in [json!({ "resumes": 0 }), json!({ "resumes": 0, "grace_ms": 1, "draft": "old", "skip": true })] {
        assert_eq!(w.leave(&held, beacon).await["state"], "reserved");
        w.advance_clock(10);
        w.sweep().await;
        assert_eq!(w.state(&held.id).await, "reserved");
    }
    assert_eq!(w.reserve_as("ann").await.body["draft"], Value::Null);
    assert_eq!(w.leave(&held, json!({ "resumes": 3 })).await["state"], "waiting");
    w.check().await;
}

#[tokio::test]
async fn late_completion_after_grace_counts_if_job_is_free() {
    let w = World::start().await;
    w.stop_clock();
    let id = w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    w.leave(&held, json!({ "grace_ms": 15_000, "skip": true })).await;
    w.advance_clock(15_000);
    w.sweep().await;
    assert_eq!(w.empty_reason(json!({ "worker": "ann" })).await, "skipped", "the grace ended as a skip");
    let done = w.complete_with(&held, "late").await.is(200);
    assert_contains(&done, json!({ "state": "completed", "late": true }));
    w.abandon(&held).await.lost("completed", "completed");
    assert_eq!(w.job(&id).await["result"], "late");
    w.check().await;
}
