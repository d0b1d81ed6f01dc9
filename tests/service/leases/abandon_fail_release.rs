//! A job that comes back: given back, failed, taken away.

use serde_json::json;

use crate::world::{World, assert_contains, assert_events, keyspace};

#[tokio::test]
async fn abandoned_job_returns_to_its_place_at_once() {
    let w = World::start().await;
    let id = w.enqueue_with(json!({ "payload": 1, "max_attempts": 1 })).await;
    w.enqueue(2).await;
    let place = w.score_of(&id).await;
    let held = w.reserve_as("ann").await;
    let body = json!({ "reservation": held.reservation, "reason": "lunch ü" });
    let answer = w.post("/jobs/abandon", body.clone()).await.is(200);
    assert_eq!(answer, json!({ "id": id, "state": "waiting", "duplicate": false }));
    assert_eq!(w.score_of(&id).await, place);
    assert!(w.has_dedupe_key(&id).await);
    assert_contains(
        &w.job(&id).await,
        json!({ "attempts": 0, "counts": { "handed_out": 1, "abandoned": 1 }, "reserved": null }),
    );
    assert_events(&w.events_of(&id).await, &["enqueued", "reserved", "abandoned"]);
    assert_eq!(keyspace::events(&w.engine, "default").await.last().map(|event| event.note.as_str()), Some("lunch ü"));

    let again = w.post("/jobs/abandon", body).await.is(200);
    assert_eq!(again, json!({ "id": id, "state": "waiting", "duplicate": true }), "counted once");
    assert_contains(&w.job(&id).await, json!({ "counts": { "abandoned": 1 } }));
    let next = w.reserve_as("bob").await;
    assert_eq!((next.id.clone(), next.number("attempt")), (id, 1), "no attempt");
    w.extend(&held).await.lost("abandoned", "reserved");
    w.complete(&held).await.lost("abandoned", "reserved");
    w.fail(&held).await.lost("abandoned", "reserved");
    assert_eq!(w.abandon(&held).await.is(200)["state"], "reserved", "the same call again, and where the job is now");
    w.check().await;
}

#[tokio::test]
async fn abandon_with_delay_keeps_the_jobs_place() {
    let w = World::start().await;
    w.stop_clock();
    let (id, other) = (w.enqueue(1).await, w.enqueue(2).await);
    let place = w.score_of(&id).await;
    let held = w.reserve().await;
    assert_eq!(w.abandon_with_delay(&held, 30_000).await.is(200)["state"], "delayed");
    let job = w.job(&id).await;
    assert!(job["due_at"].is_string(), "{job}");
    assert_eq!(w.abandon_with_delay(&held, 30_000).await.is(200)["duplicate"], true);
    assert!(w.has_dedupe_key(&id).await);
    w.advance_clock(29_000);
    assert_eq!(w.sweep().await["due"], 0);
    w.advance_clock(1_000);
    assert_eq!(w.sweep().await["due"], 1);
    assert_eq!(w.score_of(&id).await, place);
    assert_events(&w.events_of(&id).await, &["enqueued", "reserved", "abandoned", "due"]);
    assert_eq!((w.reserve().await.id, w.reserve().await.id), (id, other));
    w.check().await;
}

#[tokio::test]
async fn fail_counts_an_attempt_and_keeps_five_errors() {
    let w = World::start().await;
    let id = w.enqueue(1).await;
    let place = w.score_of(&id).await;
    for n in 1..=7 {
        let held = w.reserve_as("ann").await;
        assert_eq!(held.number("attempt"), n);
        let response = w.fail_with(&held, &format!("error {n}")).await.is(200);
        assert_eq!(response, json!({ "id": id, "state": "waiting", "duplicate": false }));
        assert_eq!(w.fail_with(&held, &format!("error {n}")).await.is(200)["duplicate"], true);
        assert_eq!(w.score_of(&id).await, place);
    }
    let job = w.job(&id).await;
    assert_contains(&job, json!({ "attempts": 7, "counts": { "handed_out": 7, "failed": 7, "expired": 0 } }));
    let errors: Vec<_> = job["errors"].as_array().expect("errors").iter().map(|error| error["error"].clone()).collect();
    assert_eq!(errors, [7, 6, 5, 4, 3].map(|n| json!(format!("error {n}"))), "the last five, newest first");
    assert!(job["errors"].as_array().expect("errors").iter().all(|error| error["worker"] == "ann"));
    w.post("/jobs/fail", json!({ "reservation": w.reserve().await.reservation })).await.is(200);
    assert_contains(&w.job(&id).await["errors"][0], json!({ "worker": null, "error": "" }));
    w.check().await;
}

#[tokio::test]
async fn failure_of_the_last_attempt_moves_the_job_to_dead() {
    let w = World::start().await;
    let id = w.enqueue_with(json!({ "payload": 1, "max_attempts": 2 })).await;
    let place = w.score_of(&id).await;
    w.fail(&w.reserve().await).await.is(200);
    let last = w.reserve().await;
    let response = w.fail(&last).await.is(200);
    assert_eq!(response, json!({ "id": id, "state": "dead", "duplicate": false }));
    assert_eq!(w.fail(&last).await.is(200), json!({ "id": id, "state": "dead", "duplicate": true }));
    assert_contains(
        &w.job(&id).await,
        json!({ "state": "dead", "attempts": 2, "counts": { "failed": 2 }, "payload": 1 }),
    );
    assert!(!w.has_dedupe_key(&id).await);
    assert_eq!(w.score_of(&id).await, place);
    assert_events(&w.events_of(&id).await, &["enqueued", "reserved", "failed", "reserved", "failed", "dead"]);
    assert_contains(&w.queue().await, json!({ "counts": { "dead": 1 }, "totals": { "dead": 1, "failed": 2 } }));
    w.extend(&last).await.lost("failed", "dead");
    let new = w.enqueue(1).await;
    assert_ne!(new, id);
    w.check().await;
}

#[tokio::test]
async fn backoff_jitter_adds_at_most_a_fifth() {
    let w = World::start().await;
    w.update_settings(json!({ "backoff": { "type": "fixed", "delay_ms": 10_000 } })).await;
    let exponential = json!({ "type": "exponential", "delay_ms": 1_000, "max_ms": 5_000 });
    let cases = [(json!(1), json!(null), [10_000; 5]), (json!(2), exponential, [1_000, 2_000, 4_000, 5_000, 5_000])];
    for (payload, backoff, rests) in cases {
        let mut job = json!({ "payload": payload, "priority": 1 });
        if !backoff.is_null() {
            job["backoff"] = backoff;
        }
        let id = w.enqueue_with(job).await;
        let place = w.score_of(&id).await;
        for rest in rests {
            let held = w.reserve_with(json!({ "id": id })).await;
            let before = w.engine.now().await;
            assert_eq!(w.fail(&held).await.is(200)["state"], "delayed");
            let after = w.engine.now().await;
            let due: jiff::Timestamp = w.job(&id).await["due_at"].as_str().expect("a time").parse().expect("RFC 3339");
            let due = u64::try_from(due.as_millisecond()).expect("after 1970");
            assert!(due >= before + rest && due <= after + rest + rest / 5, "{rest} after {before}: {due}");
            w.advance_clock(rest + rest / 5);
            assert_eq!(w.sweep().await["due"], 1);
            assert_eq!(w.score_of(&id).await, place);
        }
        w.cancel(&id).await.is(200);
    }
    w.check().await;
}

#[tokio::test]
async fn release_returns_jobs_without_an_attempt() {
    let w = World::start().await;
    w.update_settings(json!({ "worker_limit": 0, "max_attempts": 1 })).await;
    let ids = w.enqueue_many((0..4).map(|n| json!({ "payload": n }))).await;
    let place = w.score_of(&ids[0]).await;
    let held = w.reserve_as("ann").await;
    assert_eq!(w.release(&ids[0]).await, 1);
    assert_eq!(w.release(&ids[0]).await, 0, "it has no lease");
    assert_eq!(w.score_of(&ids[0]).await, place);
    assert!(w.has_dedupe_key(&ids[0]).await);
    let counts = json!({ "attempts": 0, "counts": { "released": 1, "expired": 0, "failed": 0, "abandoned": 0 } });
    assert_contains(&w.job(&ids[0]).await, counts);
    assert_events(&w.events_of(&ids[0]).await, &["enqueued", "reserved", "released"]);
    w.extend(&held).await.lost("released", "waiting");
    w.complete_with(&held, "too late").await.lost("released", "waiting");
    assert_eq!(w.job(&ids[0]).await["late_results"][0]["result"], "too late");

    w.reserve_all(json!({ "worker": "ann", "limit": 3 })).await;
    w.reserve_as("bob").await;
    assert_eq!(w.release_worker("ann").await, 3);
    assert_eq!(w.release_worker("ann").await, 0);
    assert_contains(
        &w.queue().await,
        json!({ "counts": { "waiting": 3, "reserved": 1 }, "totals": { "released": 4 } }),
    );
    w.post("/jobs/release", json!({ "id": "default-7ZZZZZZZZZZZZZZZZZZZZZZZZZ" })).await.refused("unknown-job");
    w.check().await;
}

#[tokio::test]
async fn job_remembers_its_last_five_reservations() {
    let w = World::start().await;
    w.enqueue(1).await;
    let mut held = Vec::new();
    for _ in 0..6 {
        let one = w.reserve().await;
        w.abandon(&one).await.is(200);
        held.push(one);
    }
    w.extend(&held[0]).await.unknown_reservation();
    for remembered in &held[1..] {
        w.extend(remembered).await.lost("abandoned", "waiting");
    }
    w.check().await;
}

#[tokio::test]
async fn settle_arrays_are_answered_item_by_item() {
    let w = World::start().await;
    w.enqueue_many((0..6).map(|n| json!({ "payload": n, "queue": if n < 4 { "default" } else { "other" } }))).await;
    let mut held = w.reserve_all(json!({ "limit": 4 })).await;
    held.extend(w.reserve_all(json!({ "queues": ["other"], "limit": 2 })).await);
    w.abandon(&held[1]).await.is(200);
    let unknown = format!("{}.7ZZZZZZZZZZZZZZZZZZZZZZZZZ", held[0].id);
    let of = |n: usize| json!({ "reservation": held[n].reservation });
    let answer = w
        .post(
            "/jobs/complete",
            json!([of(4), of(1), { "reservation": unknown }, of(0), { "reservation": "x" }, of(0), 7]),
        )
        .await
        .is(200);
    let entries = answer["jobs"].as_array().expect("jobs");
    assert_contains(&entries[0], json!({ "id": held[4].id, "state": "completed", "duplicate": false }));
    assert_contains(&entries[1]["error"], json!({ "status": 409, "reason": "abandoned", "job_state": "waiting" }));
    assert_contains(&entries[2]["error"], json!({ "status": 409, "reason": "unknown" }));
    assert_contains(&entries[3], json!({ "id": held[0].id, "duplicate": false }));
    assert_contains(&entries[4]["error"], json!({ "status": 422, "errors": [{ "pointer": "/reservation" }] }));
    assert_contains(&entries[5], json!({ "id": held[0].id, "duplicate": true }));
    assert_contains(&entries[6]["error"], json!({ "status": 422, "errors": [{ "pointer": "" }] }));
    for (call, word) in [("extend", "reserved"), ("abandon", "waiting")] {
        let answer = w.post(&format!("/jobs/{call}"), json!([of(2), of(5)])).await.is(200);
        assert_eq!((&answer["jobs"][0]["state"], &answer["jobs"][1]["state"]), (&json!(word), &json!(word)));
        w.post(&format!("/jobs/{call}"), json!([])).await.invalid_at(&[""]);
        let many: Vec<_> = (0..101).map(|_| of(2)).collect();
        w.post(&format!("/jobs/{call}"), json!(many)).await.refused("too-many-items");
    }
    assert_eq!(w.post("/jobs/fail", json!([of(3)])).await.is(200)["jobs"][0]["state"], "waiting");
    w.check().await;
}

#[tokio::test]
async fn max_attempts_equals_the_number_of_reservations() {
    let w = World::start().await;
    for attempts in [1, 4] {
        let id = w.enqueue_with(json!({ "payload": attempts, "max_attempts": attempts })).await;
        for n in 1..=attempts {
            let held = w.reserve().await;
            assert_eq!(held.id, id, "hand-out {n} of {attempts}");
            if n % 2 == 0 {
                w.fail(&held).await.is(200);
            } else {
                w.advance_clock(300_000);
                w.sweep().await;
            }
        }
        assert_eq!(w.state(&id).await, "dead");
        w.empty_reason(json!({})).await;
    }
    w.check().await;
}
