//! A job shows who completed it, how long they held it, and why others returned it.

use serde_json::{Value, json};

use crate::world::{World, assert_contains};

/// `completed` of the last completion event.
async fn last_completed_event(w: &World) -> Value {
    let mut stream = w.listen_after("?type=completed", "default@0-0-0").await;
    let events = stream.read_events(w.event_count("completed").await).await;
    events.last().expect("an event")["completed"].clone()
}

#[tokio::test]
async fn completed_job_shows_worker_and_hold_time() {
    let w = World::start().await;
    w.stop_clock();
    let id = w.enqueue(1).await;
    assert_eq!(w.job(&id).await["completed"], Value::Null);
    let held = w.reserve_as("ann").await;
    w.advance_clock(4_000);
    w.extend(&held).await.is(200);
    w.advance_clock(1_000);
    w.complete_with(&held, "fine").await.is(200);
    let job = w.job(&id).await;
    let expected_details = json!({
        "worker": "ann", "reserved_at": held.body["reserved_at"], "at": job["ended_at"], "held_ms": 5_000, "late": false,
    });
    assert_eq!(job["completed"], expected_details);
    let list = w.get("/queues/default/jobs?state=completed").await.is(200);
    assert_eq!(list["jobs"][0]["completed"], expected_details);
    assert_eq!(last_completed_event(&w).await, expected_details);

    let by_unnamed = w.enqueue(2).await;
    w.complete(&w.reserve().await).await.is(200);
    assert_contains(&w.job(&by_unnamed).await["completed"], json!({ "worker": null, "held_ms": 0, "late": false }));
    w.check().await;
}

#[tokio::test]
async fn late_completion_shows_its_own_reservation() {
    let w = World::start().await;
    w.stop_clock();
    for is_swept in [false, true] {
        let id = w.enqueue(json!({ "is_swept": is_swept })).await;
        let held = w.reserve_as("ann").await;
        w.advance_clock(400_000);
        if is_swept {
            w.sweep().await;
        }
        assert_eq!(w.complete(&held).await.is(200)["late"], true);
        let job = w.job(&id).await;
        let expected_details = json!({
            "worker": "ann", "reserved_at": held.body["reserved_at"], "at": job["ended_at"], "held_ms": 400_000,
            "late": true,
        });
        assert_eq!(job["completed"], expected_details);
        assert_eq!(last_completed_event(&w).await, expected_details);
    }
    w.check().await;
}

#[tokio::test]
async fn lost_reservations_do_not_replace_the_completer() {
    let w = World::start().await;
    let id = w.enqueue(1).await;
    let lost = w.reserve_as("bob").await;
    w.advance_clock(300_000);
    let held = w.reserve_as("ann").await;
    w.complete_with(&lost, "too late").await.lost("expired", "reserved");
    w.complete_with(&held, "in time").await.is(200);
    w.complete_with(&lost, "too late again").await.lost("expired", "completed");
    w.complete_with(&held, "in time").await.is(200);
    let job = w.job(&id).await;
    assert_contains(
        &job,
        json!({ "completed": { "worker": "ann", "reserved_at": held.body["reserved_at"], "late": false } }),
    );
    assert_eq!(job["late_results"].as_array().map(Vec::len), Some(2));
    w.check().await;
}

#[tokio::test]
async fn batch_results_show_who_completed_each_job() {
    let w = World::start().await;
    w.stop_clock();
    let batch = w.create_batch(json!({ "jobs": [{ "payload": 0 }, { "payload": 1 }, { "payload": 2 }] })).await;
    for (worker, ms) in [("ann", 1_000), ("bob", 2_000)] {
        let held = w.reserve_as(worker).await;
        w.advance_clock(ms);
        w.complete(&held).await.is(200);
    }
    let results = w.results(&batch, 10).await;
    assert_contains(&results[0]["completed"], json!({ "worker": "ann", "held_ms": 1_000, "late": false }));
    assert_contains(&results[1]["completed"], json!({ "worker": "bob", "held_ms": 2_000, "late": false }));
    assert_eq!(results[2]["completed"], Value::Null);
    w.check().await;
}

#[tokio::test]
async fn job_shows_reasons_of_its_last_five_reservations() {
    let w = World::start().await;
    let id = w.enqueue(1).await;
    let long = "\u{fc}".repeat(128);
    for reason in ["forgotten", "not my language", "lunch", &long, "no glasses", "gone home"] {
        let held = w.reserve_as("ann").await;
        w.post("/jobs/abandon", json!({ "reservation": held.reservation, "reason": reason })).await.is(200);
    }
    let reasons = async || {
        let job = w.job(&id).await;
        let reasons = job["reasons"].as_array().expect("reasons").iter();
        reasons.map(|reason| (reason["worker"].clone(), reason["reason"].clone())).collect::<Vec<_>>()
    };
    let expected = ["gone home", "no glasses", &long, "lunch", "not my language"];
    assert_eq!(reasons().await, expected.map(|reason| (json!("ann"), json!(reason))));
    // An abandon without a reason counts among the last five too.
    w.abandon(&w.reserve().await).await.is(200);
    w.fail(&w.reserve().await).await.is(200);
    assert_eq!(reasons().await, expected[..3].iter().map(|reason| (json!("ann"), json!(reason))).collect::<Vec<_>>());
    assert_eq!(w.job(&id).await["errors"].as_array().map(Vec::len), Some(1), "why it failed stands elsewhere");
    w.check().await;
}
