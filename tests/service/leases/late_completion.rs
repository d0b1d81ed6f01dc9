//! Completions: in time, late, repeated, or after the job was lost. No result is discarded.

use serde_json::{Value, json};

use crate::world::{World, assert_contains, assert_events};

#[tokio::test]
async fn completion_keeps_the_result_and_frees_the_dedupe_key() {
    let w = World::start().await;
    let id = w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    let response = w.complete_with(&held, json!({ "ok": true })).await.is(200);
    assert_eq!(
        response,
        json!({ "id": id, "state": "completed", "duplicate": false, "late": false, "final": true, "final_in_ms": null })
    );
    let job = w.job(&id).await;
    assert_contains(
        &job,
        json!({
            "state": "completed", "result": { "ok": true }, "payload": 1, "reserved": null, "late_results": [],
            "counts": { "handed_out": 1, "expired": 0 },
        }),
    );
    assert!(job["ended_at"].is_string());
    assert!(!w.has_dedupe_key(&id).await);
    assert_events(&w.events_of(&id).await, &["enqueued", "reserved", "completed"]);
    w.extend(&held).await.lost("completed", "completed");
    w.abandon(&held).await.lost("completed", "completed");
    w.fail(&held).await.lost("completed", "completed");
    assert_eq!(w.job(&id).await, job, "nothing changes");
    w.check().await;
}

#[tokio::test]
async fn repeated_completion_counts_once() {
    let w = World::start().await;
    let id = w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    w.complete_with(&held, 1).await.is(200);
    for _ in 0..3 {
        let again = w.complete_with(&held, 1).await.is(200);
        assert_eq!(
            again,
            json!({ "id": id, "state": "completed", "duplicate": true, "late": false, "final": true, "final_in_ms": null })
        );
    }
    for _ in 0..2 {
        w.complete_with(&held, 2).await.lost("completed", "completed");
        w.complete(&held).await.lost("completed", "completed");
    }
    let job = w.job(&id).await;
    assert_eq!(job["result"], 1);
    let late: Vec<_> =
        job["late_results"].as_array().expect("a list").iter().map(|late| late["result"].clone()).collect();
    assert!(late.contains(&json!(2)), "{late:?}");
    assert_eq!(late.iter().filter(|&late| *late == json!(2)).count(), 1, "a repeated one is kept once");
    assert_contains(&w.queue().await, json!({ "counts": { "completed": 1 }, "totals": { "completed": 1 } }));
    w.check().await;
}

#[tokio::test]
async fn overdue_completion_counts_before_a_sweep() {
    let w = World::start().await;
    let id = w.enqueue_with(json!({ "payload": 1, "max_attempts": 1 })).await;
    let held = w.reserve_as("ann").await;
    w.advance_clock(300_000);
    assert_contains(&w.queue().await["reservations"], json!({ "live": 0, "overdue": 1, "soonest_expires_in_ms": 0 }));
    let response = w.complete_with(&held, "late").await.is(200);
    assert_eq!(
        response,
        json!({ "id": id, "state": "completed", "duplicate": false, "late": true, "final": true, "final_in_ms": null })
    );
    assert_contains(&w.job(&id).await, json!({ "state": "completed", "result": "late", "counts": { "expired": 1 } }));
    assert!(!w.has_dedupe_key(&id).await);
    assert_eq!(w.events_of(&id).await.last().map(String::as_str), Some("completed late"));
    assert_eq!(w.complete_with(&held, "late").await.is(200)["duplicate"], true);
    assert_eq!(w.sweep().await["expired"], 0);
    w.check().await;
}

#[tokio::test]
async fn late_completion_counts_while_the_job_is_free() {
    let w = World::start().await;
    let id = w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    w.advance_clock(300_000);
    w.sweep().await;
    let response = w.complete_with(&held, "late").await.is(200);
    assert_eq!(
        response,
        json!({ "id": id, "state": "completed", "duplicate": false, "late": true, "final": true, "final_in_ms": null })
    );
    assert_events(&w.events_of(&id).await, &["enqueued", "reserved", "expired", "completed late"]);
    assert_contains(&w.job(&id).await, json!({ "result": "late", "counts": { "handed_out": 1, "expired": 1 } }));
    assert!(!w.has_dedupe_key(&id).await);
    let again = w.complete_with(&held, "late").await.is(200);
    assert_eq!(
        again,
        json!({ "id": id, "state": "completed", "duplicate": true, "late": true, "final": true, "final_in_ms": null })
    );
    assert_eq!(w.empty_reason(json!({})).await, "empty");
    w.extend(&held).await.lost("completed", "completed");
    w.check().await;
}

#[tokio::test]
async fn late_completion_completes_a_dead_job() {
    let w = World::start().await;
    let id = w.enqueue_with(json!({ "payload": 1, "max_attempts": 1 })).await;
    let held = w.reserve_as("ann").await;
    w.advance_clock(300_000);
    assert_eq!(w.sweep().await["dead"], 1);
    let successor = w.enqueue(1).await;
    assert_eq!(w.complete_with(&held, "late").await.is(200)["late"], true);
    assert_events(&w.events_of(&id).await, &["enqueued", "reserved", "expired", "dead", "completed late"]);
    assert_contains(&w.queue().await["counts"], json!({ "dead": 0, "completed": 1, "waiting": 1 }));
    assert!(w.has_dedupe_key(&successor).await, "the key of the job that came after is not touched");
    w.check().await;
}

#[tokio::test]
async fn late_completion_does_not_affect_a_new_holder() {
    let w = World::start().await;
    let id = w.enqueue(1).await;
    let ann = w.reserve_as("ann").await;
    w.advance_clock(300_000);
    let bob = w.reserve_as("bob").await;
    let before = w.job(&id).await;
    w.complete_with(&ann, json!({ "by": "ann" })).await.lost("expired", "reserved");
    let after = w.job(&id).await;
    assert_eq!(
        (&after["state"], &after["reserved"], &after["counts"]),
        (&before["state"], &before["reserved"], &before["counts"])
    );
    assert_contains(&after["late_results"], json!([{ "worker": "ann", "result": { "by": "ann" } }]));
    assert_events(&w.events_of(&id).await, &["enqueued", "reserved", "expired", "reserved"]);
    w.extend(&bob).await.is(200);
    w.complete_with(&bob, json!({ "by": "bob" })).await.is(200);
    w.complete_with(&ann, json!({ "by": "ann" })).await.lost("expired", "completed");
    assert_contains(&w.job(&id).await, json!({ "result": { "by": "bob" }, "late_results": [{ "worker": "ann" }] }));
    w.check().await;
}

#[tokio::test]
async fn late_completion_needs_the_latest_reservation() {
    let w = World::start().await;
    w.enqueue(1).await;
    let first = w.reserve_as("ann").await;
    w.advance_clock(300_000);
    w.sweep().await;
    let second = w.reserve_as("bob").await;
    w.advance_clock(300_000);
    w.sweep().await;
    w.complete_with(&first, 1).await.lost("expired", "waiting");
    assert_eq!(w.complete_with(&second, 2).await.is(200)["late"], true);
    w.check().await;
}

#[tokio::test]
async fn returned_reservation_cannot_complete() {
    let w = World::start().await;
    let id = w.enqueue(1).await;
    let mut expected = Vec::new();
    for (n, how) in ["abandoned", "failed", "released"].into_iter().enumerate() {
        let held = w.reserve_as("ann").await;
        match how {
            "abandoned" => w.abandon(&held).await.is(200),
            "failed" => w.fail(&held).await.is(200),
            _ => w.release(&id).await.into(),
        };
        w.complete_with(&held, n).await.lost(how, "waiting");
        expected.push(json!({ "worker": "ann", "result": n }));
    }
    assert_contains(&w.job(&id).await["late_results"], Value::Array(expected));
    w.check().await;
}

#[tokio::test]
async fn last_five_late_results_are_kept_with_the_job() {
    let w = World::start().await;
    w.update_settings(json!({ "retention_ms": 10_000 })).await;
    let id = w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    w.complete_with(&held, "right").await.is(200);
    for n in 0..7 {
        w.complete_with(&held, n).await.lost("completed", "completed");
    }
    let job = w.job(&id).await;
    let late: Vec<_> =
        job["late_results"].as_array().expect("a list").iter().map(|late| late["result"].clone()).collect();
    assert_eq!(late, (2..7).map(Value::from).collect::<Vec<_>>());
    w.check().await;
    w.advance_clock(10_000);
    assert_eq!(w.sweep().await["forgotten"], 1);
    w.complete_with(&held, "right").await.unknown_reservation();
    w.check().await;
}

#[tokio::test]
async fn unknown_reservation_is_refused_without_a_trace() {
    let w = World::start().await;
    let id = w.enqueue(1).await;
    let job = w.job(&id).await;
    for reservation in [
        format!("{id}.7ZZZZZZZZZZZZZZZZZZZZZZZZZ"),
        "nowhere-7ZZZZZZZZZZZZZZZZZZZZZZZZZ.7ZZZZZZZZZZZZZZZZZZZZZZZZZ".into(),
    ] {
        for call in ["extend", "abandon", "fail"] {
            w.post(&format!("/jobs/{call}"), json!({ "reservation": reservation })).await.unknown_reservation();
        }
        w.post("/jobs/complete", json!({ "reservation": reservation, "result": 1 })).await.unknown_reservation();
    }
    assert_eq!(w.job(&id).await, job);
    w.get("/queues/nowhere").await.refused("unknown-queue");
    w.check().await;
}

#[tokio::test]
async fn result_is_returned_byte_for_byte() {
    let w = World::start().await;
    for result in ["null", "0", "[]", r#"{"a":1,"a":2}"#, "1e400", "9007199254740993", r#""ü\u0000""#] {
        let id = w.enqueue(result).await;
        let held = w.reserve().await;
        let body = format!(r#"{{"reservation":"{}","result":{result}}}"#, held.reservation);
        w.post_text("/jobs/complete", body.clone()).await.is(200);
        assert_eq!(w.get(&format!("/jobs/{id}")).await.text_at("/result"), result, "byte for byte");
        assert_eq!(w.post_text("/jobs/complete", body).await.is(200)["duplicate"], true);
    }
    w.check().await;
}
