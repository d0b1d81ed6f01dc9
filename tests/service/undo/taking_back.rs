//! A worker takes a completion back within its time, and holds the job again.

use serde_json::{Value, json};

use crate::world::{ReservedJob, World, assert_contains, assert_events};

#[tokio::test]
async fn undone_job_is_held_again_with_its_result_as_draft() {
    let w = World::start().await;
    w.stop_clock();
    w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    w.advance_clock(200_000);
    let closed = w.close(&held, json!({ "verdict": "no" }), 10_000).await.is(200);
    let answer = json!({ "id": held.id, "state": "reserved", "duplicate": false, "late": false, "final": false, "final_in_ms": 10_000 });
    assert_eq!(closed, answer);
    w.advance_clock(4_000);
    let undone = w.undo(&held).await.is(200);
    let again = json!({ "state": "reserved", "duplicate": false, "expires_in_ms": 300_000, "resumes": 1, "draft": { "verdict": "no" } });
    assert_contains(&undone, again);
    let twice = w.undo(&held).await.is(200);
    assert_contains(
        &twice,
        json!({ "duplicate": true, "expires_in_ms": 300_000, "resumes": 1, "draft": { "verdict": "no" } }),
    );
    let resumed = w.reserve_as("ann").await;
    assert_contains(&resumed.body, json!({ "id": held.id, "resumes": 2, "draft": { "verdict": "no" } }));
    assert_contains(
        &w.complete_with(&held, "yes").await.is(200),
        json!({ "state": "completed", "final": true, "final_in_ms": null }),
    );
    assert_contains(
        &w.job(&held.id).await,
        json!({ "result": "yes", "late_results": [], "counts": { "handed_out": 1, "expired": 0 } }),
    );
    assert_events(&w.events_of(&held.id).await, &["enqueued", "reserved", "closing", "undone", "resumed", "completed"]);
    w.check().await;
}

#[tokio::test]
async fn completion_without_a_result_keeps_the_draft() {
    let w = World::start().await;
    w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    w.post("/jobs/extend", json!({ "reservation": held.reservation, "draft": "half" })).await.is(200);
    w.close(&held, Value::Null, 10_000).await.is(200);
    assert_eq!(w.undo(&held).await.is(200)["draft"], Value::Null, "null is a result too");
    w.post("/jobs/extend", json!({ "reservation": held.reservation, "draft": "half" })).await.is(200);
    w.post("/jobs/complete", json!({ "reservation": held.reservation, "undo_ms": 10_000 })).await.is(200);
    assert_eq!(w.undo(&held).await.is(200)["draft"], "half");
    w.check().await;
}

#[tokio::test]
async fn closing_job_is_over_for_its_worker() {
    let w = World::start().await;
    w.update_settings(json!({ "worker_limit": 1 })).await;
    let (_, second, _) = (w.enqueue(1).await, w.enqueue(2).await, w.enqueue(3).await);
    let first = w.reserve_as("ann").await;
    w.close(&first, "a", 10_000).await.is(200);
    let listed = w.get("/workers/ann/reservations?queue=default").await.is(200);
    assert_eq!(listed["reservations"], json!([]));
    assert_eq!(w.get("/workers").await.is(200)["held"], json!([]));
    assert_eq!(w.get("/queues/default/workers").await.is(200)["workers"], json!([]));
    w.send_reserve(json!({ "worker": "ann", "id": first.id })).await.wrong_state("reserved");
    let next = w.reserve_as("ann").await;
    assert_eq!(next.id, second, "neither counted nor resumed");
    w.undo(&first).await.is(200);
    let mut both: Vec<_> =
        w.reserve_all(json!({ "worker": "ann", "limit": 5 })).await.into_iter().map(|job| job.id).collect();
    let mut expected = [first.id.clone(), second];
    both.sort();
    expected.sort();
    assert_eq!(both, expected, "she holds two, and is given no third");
    w.complete(&first).await.is(200);
    assert_eq!(w.reserve_as("ann").await.id, next.id, "the limit is kept again");
    w.complete(&next).await.is(200);
    w.complete(&w.reserve_as("ann").await).await.is(200);
    w.check().await;
}

#[tokio::test]
async fn closing_job_accepts_the_same_completion_and_nothing_else() {
    let w = World::start().await;
    w.stop_clock();
    w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    w.close(&held, "a", 10_000).await.is(200);
    w.advance_clock(3_000);
    for undo_ms in [10_000, 60_000] {
        let again = w.close(&held, "a", undo_ms).await.is(200);
        assert_contains(&again, json!({ "duplicate": true, "final": false, "final_in_ms": 7_000 }));
    }
    let plain = w.complete_with(&held, "a").await.is(200);
    assert_contains(&plain, json!({ "duplicate": true, "state": "reserved", "final": false, "final_in_ms": 7_000 }));
    let reservation = &held.reservation;
    let refused = [
        w.close(&held, "b", 10_000).await,
        w.complete_with(&held, "b").await,
        w.complete(&held).await,
        w.extend(&held).await,
        w.abandon(&held).await,
        w.fail(&held).await,
        w.post("/jobs/hand-over", json!({ "reservation": reservation, "to": "bob" })).await,
        w.post("/jobs/abandon", json!({ "reservation": reservation, "grace_ms": 1_000 })).await,
    ];
    for answer in refused {
        assert_eq!(answer.refused("closing")["final_in_ms"], 7_000);
    }
    w.advance_clock(7_000);
    w.sweep().await;
    assert_contains(&w.job(&held.id).await, json!({ "state": "completed", "result": "a", "late_results": [] }));
    w.check().await;
}

#[tokio::test]
async fn completion_sent_before_an_undo_changes_nothing_after_it() {
    let w = World::start().await;
    w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    w.close(&held, "a", 10_000).await.is(200);
    w.undo(&held).await.is(200);
    let mut stale = json!({ "reservation": held.reservation, "result": "a", "resumes": 0 });
    for undo_ms in [0, 10_000] {
        let mut stale = stale.clone();
        stale["undo_ms"] = json!(undo_ms);
        w.post("/jobs/complete", stale).await.refused("undone");
    }
    // A page that comes back holds the job no less undone, also after a grace.
    w.post("/jobs/abandon", json!({ "reservation": held.reservation, "grace_ms": 60_000 })).await.is(200);
    let resumed = w.reserve_as("ann").await;
    assert_eq!(resumed.number("resumes"), 2);
    w.post("/jobs/complete", stale.clone()).await.refused("undone");
    w.close(&resumed, "b", 10_000).await.is(200);
    w.post("/jobs/complete", stale.clone()).await.refused("undone");
    w.undo(&held).await.is(200);
    for resumes in [0, 2] {
        stale["resumes"] = json!(resumes);
        w.post("/jobs/complete", stale.clone()).await.refused("undone");
    }
    w.complete_with(&held, "c").await.is(200);
    assert_contains(&w.job(&held.id).await, json!({ "result": "c", "late_results": [] }));
    w.check().await;
}

/// A job that Ann has completed and taken back.
async fn taken_back() -> (World, ReservedJob) {
    let w = World::start().await;
    w.stop_clock();
    w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    w.close(&held, "a", 10_000).await.is(200);
    w.undo(&held).await.is(200);
    (w, held)
}

#[tokio::test]
async fn completion_after_an_undo_and_a_resume_counts() {
    for resumes in [1_u32, 7, 9] {
        let (w, held) = taken_back().await;
        for _ in 0..resumes {
            w.reserve_as("ann").await;
        }
        let complete = |known| {
            w.post("/jobs/complete", json!({ "reservation": held.reservation, "result": "b", "resumes": known }))
        };
        complete(0).await.refused("undone");
        // Seven resumes are counted; earlier ones may have been before the undo.
        let first = 1 + resumes.saturating_sub(7);
        complete(first - 1).await.refused("undone");
        assert_contains(&complete(first).await.is(200), json!({ "duplicate": false, "late": false }));
        w.check().await;
    }
}

#[tokio::test]
async fn completion_sent_before_an_undo_is_refused_after_the_lease() {
    for grace in [None, Some(60_000)] {
        let (w, held) = taken_back().await;
        if let Some(grace) = grace {
            let left = json!({ "reservation": held.reservation, "grace_ms": grace });
            w.post("/jobs/abandon", left).await.is(200);
        }
        w.advance_clock(300_000);
        w.close(&held, "a", 10_000).await.refused("undone");
        w.sweep().await;
        assert_eq!(w.state(&held.id).await, "waiting");
        w.close(&held, "a", 0).await.refused("undone");
        assert_contains(&w.job(&held.id).await, json!({ "state": "waiting", "late_results": [], "reasons": [] }));
        let late = json!({ "reservation": held.reservation, "result": "b", "resumes": 1 });
        assert_contains(&w.post("/jobs/complete", late).await.is(200), json!({ "late": true }));
        assert_contains(&w.job(&held.id).await, json!({ "result": "b" }));
        w.check().await;
    }
}

#[tokio::test]
async fn resumed_job_accepts_a_completion_of_an_earlier_page() {
    let w = World::start().await;
    w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    assert_eq!(w.reserve_as("ann").await.number("resumes"), 1);
    w.close(&held, "kept offline", 10_000).await.is(200);
    w.undo(&held).await.is(200);
    w.check().await;
}

#[tokio::test]
async fn late_completion_is_final_at_once() {
    let w = World::start().await;
    w.stop_clock();
    w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    w.advance_clock(300_000);
    let late = w.close(&held, "a", 10_000).await.is(200);
    assert_contains(&late, json!({ "state": "completed", "late": true, "final": true, "final_in_ms": null }));
    w.undo(&held).await.lost("completed", "completed");
    w.check().await;
}

#[tokio::test]
async fn undo_has_at_least_the_time_that_was_left() {
    let w = World::start().await;
    w.stop_clock();
    w.update_settings(json!({ "lease_ms": 20_000, "max_hold_ms": 30_000 })).await;
    let take = async |wait: u64| -> ReservedJob {
        w.enqueue(wait).await;
        let held = w.reserve_as("ann").await;
        w.advance_clock(wait);
        held
    };
    let held = take(5_000).await;
    w.close(&held, "a", 60_000).await.is(200);
    w.advance_clock(1_000);
    assert_eq!(w.undo(&held).await.is(200)["expires_in_ms"], 20_000, "the lease of its hand-out");
    w.complete(&held).await.is(200);
    let held = take(18_000).await;
    w.close(&held, "a", 60_000).await.is(200);
    w.advance_clock(50_000);
    assert_eq!(w.undo(&held).await.is(200)["expires_in_ms"], 2_000, "the longest hold is over meanwhile");
    w.complete(&held).await.is(200);
    w.check().await;
}

#[tokio::test]
async fn unnamed_worker_takes_back_too() {
    let w = World::start().await;
    w.enqueue(1).await;
    let held = w.reserve().await;
    w.close(&held, "a", 10_000).await.is(200);
    assert_eq!(w.undo(&held).await.is(200)["draft"], "a");
    assert_contains(&w.undo(&held).await.is(200), json!({ "duplicate": true, "draft": "a" }));
    w.complete(&held).await.is(200);
    w.check().await;
}
