//! A completion is final at the millisecond at which its time is over, whichever call looks first, and before if it would be lost.

use serde_json::json;

use crate::world::{ReservedJob, World, assert_contains, assert_events};

/// A world whose clock stands still, and a job of which Ann's completion can be taken back for so many ms more.
async fn closing(left: u64) -> (World, ReservedJob) {
    let w = World::start().await;
    w.stop_clock();
    w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    w.advance_clock(60_000);
    w.close(&held, json!({ "verdict": "no" }), 10_000).await.is(200);
    w.advance_clock(10_000 - left);
    (w, held)
}

async fn assert_final(w: &World, held: &ReservedJob) {
    let done = json!({ "state": "completed", "result": { "verdict": "no" }, "reserved": null, "late_results": [],
        "completed": { "worker": "ann", "late": false, "held_ms": 60_000 }, "counts": { "handed_out": 1, "expired": 0 } });
    assert_contains(&w.job(&held.id).await, done);
    assert_contains(&w.queue().await["totals"], json!({ "completed": 1, "expired": 0, "cancelled": 0, "released": 0 }));
    assert_events(&w.events_of(&held.id).await, &["enqueued", "reserved", "closing", "completed"]);
    w.undo(held).await.lost("completed", "completed");
    let again = w.complete_with(held, json!({ "verdict": "no" })).await.is(200);
    assert_contains(&again, json!({ "state": "completed", "duplicate": true, "final": true }));
    w.check().await;
}

#[tokio::test]
async fn sweep_makes_it_final_at_its_end() {
    let (w, held) = closing(1).await;
    w.sweep().await;
    assert_contains(&w.job(&held.id).await, json!({ "state": "reserved", "result": null }));
    w.advance_clock(1);
    assert_eq!(w.sweep().await["expired"], 0, "no reservation expired");
    assert_final(&w, &held).await;
}

#[tokio::test]
async fn undo_counts_until_its_end() {
    let (w, held) = closing(1).await;
    w.undo(&held).await.is(200);
    let (w, held) = closing(0).await;
    w.undo(&held).await.lost("completed", "completed");
    assert_final(&w, &held).await;
}

#[tokio::test]
async fn reserve_makes_it_final_at_its_end() {
    let (w, held) = closing(1).await;
    assert_eq!(w.empty_reason(json!({ "worker": "bob" })).await, "reserved");
    w.advance_clock(1);
    assert_eq!(w.empty_reason(json!({ "worker": "bob" })).await, "empty");
    assert_final(&w, &held).await;
}

#[tokio::test]
async fn settle_calls_make_it_final_at_its_end() {
    let (w, held) = closing(0).await;
    w.extend(&held).await.lost("completed", "completed");
    assert_final(&w, &held).await;
    let (w, held) = closing(0).await;
    w.abandon(&held).await.lost("completed", "completed");
    assert_final(&w, &held).await;
    let (w, held) = closing(0).await;
    let again = w.complete_with(&held, json!({ "verdict": "no" })).await.is(200);
    assert_contains(&again, json!({ "state": "completed", "duplicate": true, "final": true }));
    assert_final(&w, &held).await;
    let (w, held) = closing(0).await;
    w.complete_with(&held, "another").await.lost("completed", "completed");
    let kept = &w.job(&held.id).await;
    assert_contains(
        kept,
        json!({ "result": { "verdict": "no" }, "late_results": [{ "result": "another", "worker": "ann" }] }),
    );
    w.check().await;
}

#[tokio::test]
async fn operator_who_takes_it_away_makes_it_final() {
    let (w, held) = closing(5_000).await;
    w.cancel(&held.id).await.wrong_state("reserved");
    w.force_cancel(&held.id).await.wrong_state("completed");
    assert_final(&w, &held).await;
    let (w, held) = closing(0).await;
    w.cancel(&held.id).await.wrong_state("completed");
    assert_final(&w, &held).await;
    let (w, held) = closing(5_000).await;
    assert_eq!(w.release_worker("ann").await, 0);
    assert_eq!(w.state(&held.id).await, "reserved", "a release by worker leaves it alone");
    assert_eq!(w.release(&held.id).await, 0);
    assert_final(&w, &held).await;
    let (w, held) = closing(5_000).await;
    let purged = w.delete("/queues/default?state=reserved&force=true").await.is(200);
    assert_contains(&purged, json!({ "removed": 0, "more": false }));
    assert_final(&w, &held).await;
}

#[tokio::test]
async fn expiry_of_the_job_makes_it_final() {
    for look in ["sweep", "undo", "complete"] {
        let w = World::start().await;
        w.stop_clock();
        w.enqueue_with(json!({ "payload": 1, "expires_ms": 64_000 })).await;
        let held = w.reserve_as("ann").await;
        w.advance_clock(60_000);
        let closed = w.close(&held, json!({ "verdict": "no" }), 10_000).await.is(200);
        assert_eq!(closed["final_in_ms"], 4_000, "no longer than the job");
        w.advance_clock(4_000);
        match look {
            "sweep" => assert_eq!(w.sweep().await["expired"], 0),
            "undo" => w.undo(&held).await.lost("completed", "completed"),
            _ => w.complete_with(&held, "another").await.lost("completed", "completed"),
        }
        assert_contains(
            &w.job(&held.id).await,
            json!({ "state": "completed", "result": { "verdict": "no" }, "cancelled": null }),
        );
        w.check().await;
    }
    let w = World::start().await;
    w.stop_clock();
    w.enqueue_with(json!({ "payload": 1, "expires_ms": 64_000 })).await;
    let held = w.reserve_as("ann").await;
    w.advance_clock(60_000);
    w.close(&held, "a", 10_000).await.is(200);
    assert_eq!(w.undo(&held).await.is(200)["expires_in_ms"], 4_000, "held no longer than the job lives");
    w.advance_clock(4_000);
    w.sweep().await;
    assert_contains(&w.job(&held.id).await, json!({ "state": "cancelled", "cancelled": { "reason": "expired" } }));
    w.check().await;
}

#[tokio::test]
async fn usual_list_with_a_closing_job_completes_the_others() {
    let w = World::start().await;
    w.enqueue_many((0..3).map(|n| json!({ "payload": n }))).await;
    let held = w.reserve_all(json!({ "limit": 3 })).await;
    w.close(&held[1], "kept", 60_000).await.is(200);
    let items = held.iter().map(|held| json!({ "reservation": held.reservation, "result": "other" })).collect();
    let answers = w.post("/jobs/complete", items).await.is(200);
    for n in [0, 2] {
        assert_contains(&answers["jobs"][n], json!({ "state": "completed", "final": true }));
    }
    assert_contains(&answers["jobs"][1]["error"], json!({ "status": 409, "type": "/problems/closing" }));
    assert_contains(&w.job(&held[1].id).await, json!({ "state": "reserved", "result": null }));
    w.check().await;
}
