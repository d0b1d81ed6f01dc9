//! Jobs that are cancelled, purged, forgotten.

use serde_json::{Value, json};

use crate::world::{RETENTION_MS, World, assert_contains, assert_events, id_of, number};

#[tokio::test]
async fn cancel_keeps_the_payload_and_frees_its_dedupe_key() {
    let w = World::start().await;
    let payload = json!({ "large": "x".repeat(2_000) });
    let id = w.enqueue(payload.clone()).await;
    let answer = w.cancel(&id).await.is(200);
    assert_eq!(answer, json!({ "id": id, "state": "cancelled" }));
    let job = w.job(&id).await;
    assert_contains(&job, json!({ "state": "cancelled", "payload": payload, "reserved": null }));
    assert!(job["ended_at"].is_string());
    assert!(!w.has_dedupe_key(&id).await);
    assert_eq!(w.empty_reason(json!({})).await, "empty");
    assert_eq!(w.cancel(&id).await.is(200), answer, "again, the same");
    assert_eq!(w.force_cancel(&id).await.is(200), answer);
    assert_events(&w.events_of(&id).await, &["enqueued", "cancelled"]);
    assert_contains(
        &w.queue().await,
        json!({ "counts": { "cancelled": 1, "completed": 0 }, "totals": { "cancelled": 1 } }),
    );
    w.check().await;
}

#[tokio::test]
async fn delayed_and_dead_jobs_can_be_cancelled() {
    let w = World::start().await;
    w.stop_clock();
    let delayed = w.enqueue_with(json!({ "payload": 1, "delay_ms": 1_000 })).await;
    let rested = w.enqueue(2).await;
    w.abandon_with_delay(&w.reserve().await, 1_000).await.is(200);
    let dead = w.enqueue_with(json!({ "payload": 3, "max_attempts": 1 })).await;
    w.fail(&w.reserve().await).await.is(200);
    for (id, payload) in [(&delayed, 1), (&rested, 2), (&dead, 3)] {
        w.cancel(id).await.is(200);
        assert_contains(&w.job(id).await, json!({ "state": "cancelled", "payload": payload }));
    }
    w.advance_clock(10_000);
    assert_eq!(w.sweep().await["due"], 0);
    assert_events(&w.events_of(&dead).await, &["enqueued", "reserved", "failed", "dead", "cancelled"]);
    w.check().await;
}

#[tokio::test]
async fn cancel_of_a_reserved_job_needs_force() {
    let w = World::start().await;
    let id = w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    w.cancel(&id).await.wrong_state("reserved");
    w.delete(&format!("/jobs/{id}?force=false")).await.wrong_state("reserved");
    w.extend(&held).await.is(200);
    w.force_cancel(&id).await.is(200);
    assert!(!w.has_dedupe_key(&id).await);
    w.extend(&held).await.lost("cancelled", "cancelled");
    w.complete_with(&held, "work").await.lost("cancelled", "cancelled");
    assert_eq!(w.job(&id).await["late_results"][0]["result"], "work");
    assert_events(&w.events_of(&id).await, &["enqueued", "reserved", "extended", "cancelled"]);
    w.enqueue(2).await;
    w.reserve_as("ann").await;
    w.check().await;
}

#[tokio::test]
async fn completed_and_unknown_jobs_cannot_be_cancelled() {
    let w = World::start().await;
    let id = w.enqueue(1).await;
    w.complete(&w.reserve().await).await.is(200);
    let job = w.job(&id).await;
    w.cancel(&id).await.wrong_state("completed");
    w.force_cancel(&id).await.wrong_state("completed");
    assert_eq!(w.job(&id).await, job);
    for id in [
        "default-7ZZZZZZZZZZZZZZZZZZZZZZZZZ",
        "nowhere-7ZZZZZZZZZZZZZZZZZZZZZZZZZ",
        "x",
        "default-7zzzzzzzzzzzzzzzzzzzzzzzzz",
    ] {
        w.cancel(id).await.refused("unknown-job");
        w.get(&format!("/jobs/{id}")).await.refused("unknown-job");
        w.set_priority(id, 1).await.refused("unknown-job");
    }
    w.check().await;
}

#[tokio::test]
async fn late_completion_does_not_revive_a_cancelled_job() {
    let w = World::start().await;
    let id = w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    w.advance_clock(300_000);
    w.sweep().await;
    w.cancel(&id).await.is(200);
    w.complete_with(&held, 1).await.lost("expired", "cancelled");
    assert_eq!(w.state(&id).await, "cancelled");
    w.check().await;
}

#[tokio::test]
async fn ended_jobs_are_removed_after_retention() {
    let w = World::start().await;
    w.stop_clock();
    w.update_settings(json!({ "retention_ms": 20_000 })).await;
    let completed = w.enqueue(json!({ "large": "x".repeat(2_000) })).await;
    let held = w.reserve().await;
    w.complete_with(&held, 1).await.is(200);
    let cancelled = w.enqueue(2).await;
    w.cancel(&cancelled).await.is(200);
    let dead = w.enqueue_with(json!({ "payload": 3, "max_attempts": 1 })).await;
    w.fail(&w.reserve().await).await.is(200);
    let keyed =
        |n: u64| w.request("POST", "/jobs").header("idempotency-key", "k").json(json!({ "payload": n }).to_string());
    let waiting = w.enqueue(4).await;
    let stub = id_of(&keyed(4).send().await.is(200));
    assert_eq!(stub, waiting);
    w.advance_clock(19_000);
    assert_eq!(w.sweep().await["forgotten"], 0);
    w.check().await;
    w.advance_clock(1_000);
    assert_eq!(w.sweep().await["forgotten"], 3, "the memory of the enqueue that met a twin goes too");
    for id in [&completed, &cancelled] {
        w.get(&format!("/jobs/{id}")).await.refused("unknown-job");
    }
    assert_eq!((w.state(&dead).await, w.state(&waiting).await), ("dead".into(), "waiting".into()));
    w.complete_with(&held, 1).await.unknown_reservation();
    assert_contains(
        &w.queue().await,
        json!({ "counts": { "completed": 0, "cancelled": 0 }, "totals": { "completed": 1 } }),
    );
    w.check().await;
}

#[tokio::test]
async fn retention_max_spares_jobs_younger_than_ten_seconds() {
    let w = World::start().await;
    w.update_settings(json!({ "retention_max": 2 })).await;
    let mut ids = Vec::new();
    for n in 0..5 {
        ids.push(w.enqueue(n).await);
        w.complete(&w.reserve().await).await.is(200);
        w.advance_clock(100);
    }
    assert_eq!(w.sweep().await["forgotten"], 0, "too young");
    w.advance_clock(10_000);
    assert_eq!(w.sweep().await["forgotten"], 3);
    for (n, id) in ids.iter().enumerate() {
        assert_eq!(w.get(&format!("/jobs/{id}")).await.status, if n < 3 { 404 } else { 200 }, "the oldest go first");
    }
    w.check().await;
}

#[tokio::test]
async fn retention_leaves_only_history_and_totals() {
    let w = World::start().await;
    w.enqueue_many((0..30).map(|n| json!({ "payload": n, "client": format!("c{}", n % 3), "priority": n % 4 }))).await;
    for held in w.reserve_all(json!({ "limit": 100 })).await {
        w.complete_with(&held, "done").await.is(200);
    }
    w.advance_clock(RETENTION_MS);
    w.sweep().await;
    let mut keys: Vec<String> = w.engine.run("KEYS intray:{default}:2:*").await;
    keys.sort();
    assert_eq!(keys, ["intray:{default}:2:history", "intray:{default}:2:totals"]);
    w.check().await;
}

#[tokio::test]
async fn purge_removes_only_the_given_state() {
    let w = World::start().await;
    let one_of_each = async || {
        w.send_enqueue(json!({ "payload": "completed", "priority": 0 })).await.is(201);
        w.complete_with(&w.reserve().await, 1).await.is(200);
        w.send_enqueue(json!({ "payload": "dead", "priority": 0, "max_attempts": 1 })).await.is(201);
        w.fail(&w.reserve().await).await.is(200);
        w.cancel(&w.enqueue("cancelled").await).await.is(200);
        w.send_enqueue(json!({ "payload": "reserved", "priority": 0 })).await.is(201);
        let held = w.reserve_as("ann").await;
        w.enqueue(json!({ "waiting": "x".repeat(2_000) })).await;
        w.enqueue_with(json!({ "payload": "delayed", "delay_ms": 60_000 })).await;
        held
    };
    let purge = async |query: &str| w.delete(&format!("/queues/default?{query}")).await;
    for state in ["completed", "dead", "cancelled", "waiting", "delayed"] {
        let held = one_of_each().await;
        assert_eq!(
            purge(&format!("state={state}")).await.is(200),
            json!({ "removed": 1, "more": false, "next": null }),
            "{state}"
        );
        let mut expected =
            json!({ "waiting": 1, "delayed": 1, "reserved": 1, "completed": 1, "dead": 1, "cancelled": 1 });
        expected[state] = 0.into();
        assert_contains(&w.queue().await["counts"], expected);
        w.check().await;
        assert_eq!(
            purge("state=all").await.is(200),
            json!({ "removed": 4, "more": false, "next": null }),
            "all but the reserved"
        );
        purge("state=reserved").await.invalid_by("parameter", &["force"]);
        assert_eq!(purge("state=reserved&force=true").await.is(200)["removed"], 1);
        w.extend(&held).await.unknown_reservation();
        w.check().await;
    }
    one_of_each().await;
    assert_eq!(purge("state=all&force=true").await.is(200), json!({ "removed": 6, "more": false, "next": null }));
    assert_eq!(purge("state=blocked").await.is(200), json!({ "removed": 0, "more": false, "next": null }));
    purge("").await.invalid_by("parameter", &["state"]);
    purge("state=some").await.invalid_by("parameter", &["state"]);
    w.delete("/queues/nowhere?state=all").await.refused("unknown-queue");
    w.check().await;
}

#[tokio::test]
async fn purge_in_steps_removes_everything() {
    let w = World::start().await;
    w.enqueue_many((0..1_000).map(|n| json!({ "payload": n }))).await;
    w.enqueue_many((1_000..1_500).map(|n| json!({ "payload": n }))).await;
    let mut removed = 0;
    loop {
        let answer = w.delete("/queues/default?state=waiting").await.is(200);
        removed += number(&answer, "removed");
        if answer["more"] == Value::Bool(false) {
            break;
        }
    }
    assert_eq!(removed, 1_500);
    assert_contains(&w.queue().await, json!({ "counts": { "waiting": 0 }, "totals": { "cancelled": 1_500 } }));
    w.check().await;
}
