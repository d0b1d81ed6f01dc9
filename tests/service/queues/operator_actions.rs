//! Actions of operators: requeue, priority, pause, settings, sweep.

use serde_json::{Value, json};

use crate::world::{RETENTION_MS, World, assert_contains, assert_events, keyspace};

#[tokio::test]
async fn requeued_dead_job_joins_the_end_and_keeps_its_history() {
    let w = World::start().await;
    let id = w.enqueue_with(json!({ "payload": 1, "max_attempts": 1 })).await;
    let held = w.reserve().await;
    w.fail_with(&held, "broken").await.is(200);
    let (other, place) = (w.enqueue(2).await, w.score_of(&id).await);
    assert_eq!(w.requeue(&id).await, 1);
    assert!(w.score_of(&id).await > place.max(w.score_of(&other).await));
    assert!(w.has_dedupe_key(&id).await, "the job has its dedupe key again");
    let job = w.job(&id).await;
    assert_contains(
        &job,
        json!({ "state": "waiting", "attempts": 0, "counts": { "failed": 1, "handed_out": 1 }, "ended_at": null }),
    );
    assert_eq!(job["errors"][0]["error"], "broken");
    assert_events(&w.events_of(&id).await, &["enqueued", "reserved", "failed", "dead", "requeued"]);
    w.extend(&held).await.lost("failed", "waiting");
    assert_eq!(w.requeue(&id).await, 0, "a waiting job is not moved");
    assert_eq!(w.reserve().await.id, other);
    let again = w.reserve().await;
    assert_eq!((again.id.as_str(), again.number("attempt")), (id.as_str(), 1));
    assert_eq!(w.requeue(&id).await, 0, "a reserved job is not moved");
    w.complete(&again).await.is(200);
    w.post("/jobs/requeue", json!({ "id": id })).await.wrong_state("completed");
    w.cancel(&other).await.wrong_state("reserved");
    w.force_cancel(&other).await.is(200);
    w.post("/jobs/requeue", json!({ "id": other })).await.wrong_state("cancelled");
    w.post("/jobs/requeue", json!({ "id": "default-7ZZZZZZZZZZZZZZZZZZZZZZZZZ" })).await.refused("unknown-job");
    w.check().await;
}

#[tokio::test]
async fn requeue_moves_all_dead_jobs_of_a_queue() {
    let w = World::start().await;
    w.update_settings(json!({ "max_attempts": 1 })).await;
    w.enqueue_many((0..250).map(|n| json!({ "payload": n }))).await;
    for _ in 0..3 {
        w.reserve_all(json!({ "limit": 100 })).await;
    }
    w.advance_clock(300_000);
    assert_eq!(w.sweep().await["dead"], 250);
    assert_eq!(w.requeue_all().await, 250);
    assert_eq!(w.requeue_all().await, 0);
    assert_contains(
        &w.queue().await,
        json!({ "counts": { "waiting": 250, "dead": 0 }, "totals": { "requeued": 250 } }),
    );
    w.check().await;
}

#[tokio::test]
async fn requeue_makes_a_delayed_job_ready() {
    let w = World::start().await;
    let rested = w.enqueue(1).await;
    let place = w.score_of(&rested).await;
    w.abandon_with_delay(&w.reserve().await, 60_000).await.is(200);
    let fresh = w.enqueue_with(json!({ "payload": 2, "delay_ms": 60_000 })).await;
    let waiting = w.enqueue(3).await;
    assert_eq!((w.requeue(&rested).await, w.requeue(&fresh).await), (1, 1));
    assert_eq!(w.score_of(&rested).await, place, "it keeps its old place");
    assert!(w.score_of(&fresh).await > w.score_of(&waiting).await, "a job that never waited gets a new place");
    assert_events(&w.events_of(&fresh).await, &["enqueued", "due"]);
    assert!(w.job(&rested).await["due_at"].is_null());
    w.advance_clock(60_000);
    assert_eq!(w.sweep().await["due"], 0);
    w.check().await;
}

#[tokio::test]
async fn reprioritized_job_joins_the_end_of_its_new_priority() {
    let w = World::start().await;
    let ids = w.enqueue_many((0..4).map(|n| json!({ "payload": n }))).await;
    let answer = w.set_priority(&ids[2], 10).await.is(200);
    assert_contains(&answer, json!({ "id": ids[2], "state": "waiting", "priority": 10 }));
    w.set_priority(&ids[3], 10).await.is(200);
    let place = w.score_of(&ids[0]).await;
    w.set_priority(&ids[0], 50).await.is(200);
    assert_eq!(w.score_of(&ids[0]).await, place, "the same priority changes nothing");
    assert_events(&w.events_of(&ids[0]).await, &["enqueued"]);
    w.set_priority(&ids[0], 99).await.is(200);
    w.set_priority(&ids[0], 50).await.is(200);
    assert!(w.score_of(&ids[0]).await > w.score_of(&ids[1]).await, "a changed and restored priority loses the place");
    assert_events(&w.events_of(&ids[0]).await, &["enqueued", "changed", "changed"]);
    assert_eq!(w.job(&ids[2]).await["priority"], 10);
    let handed: Vec<_> = w
        .reserve_all(json!({ "limit": 4 }))
        .await
        .into_iter()
        .map(|held| (held.id, held.body["priority"].clone()))
        .collect();
    let expected = [(2, 10), (3, 10), (1, 50), (0, 50)].map(|(n, p): (usize, u64)| (ids[n].clone(), json!(p)));
    assert_eq!(handed, expected);
    w.check().await;
}

#[tokio::test]
async fn reserved_or_delayed_job_returns_with_its_new_priority() {
    let w = World::start().await;
    w.stop_clock();
    let (reserved, rested) = (w.enqueue(1).await, w.enqueue(2).await);
    let (held, resting) = (w.reserve().await, w.reserve().await);
    w.abandon_with_delay(&resting, 1_000).await.is(200);
    let fresh = w.enqueue_with(json!({ "payload": 3, "delay_ms": 1_000 })).await;
    let waiting = w.enqueue(4).await;
    assert_eq!(w.set_priority(&reserved, 5).await.is(200)["state"], "reserved");
    assert_eq!(w.set_priority(&rested, 6).await.is(200)["state"], "delayed");
    assert_eq!(w.set_priority(&fresh, 4).await.is(200)["state"], "delayed");
    assert_eq!(w.extend(&held).await.is(200)["state"], "reserved", "the reservation is not affected");
    w.abandon(&held).await.is(200);
    w.advance_clock(1_000);
    w.sweep().await;
    let handed: Vec<_> = w.reserve_all(json!({ "limit": 4 })).await.into_iter().map(|held| held.id).collect();
    assert_eq!(handed, [fresh, reserved, rested, waiting]);
    w.check().await;
}

#[tokio::test]
async fn priority_of_an_ended_job_is_refused() {
    let w = World::start().await;
    for how in ["completed", "dead", "cancelled"] {
        let id = w.enqueue_with(json!({ "payload": how, "max_attempts": 1 })).await;
        match how {
            "completed" => w.complete(&w.reserve().await).await,
            "dead" => w.fail(&w.reserve().await).await,
            _ => w.cancel(&id).await,
        }
        .is(200);
        w.set_priority(&id, 1).await.wrong_state(how);
    }
    w.set_priority("default-7ZZZZZZZZZZZZZZZZZZZZZZZZZ", 1).await.refused("unknown-job");
    w.check().await;
}

#[tokio::test]
async fn paused_queue_refuses_only_new_reservations() {
    let w = World::start().await;
    let held = {
        w.enqueue(1).await;
        w.reserve_as("ann").await
    };
    assert_eq!(w.update_settings(json!({ "paused": true })).await["paused"], true);
    let id = w.enqueue(2).await;
    assert_eq!(w.empty_reason(json!({})).await, "paused");
    assert_eq!(w.empty_reason(json!({ "worker": "bob" })).await, "paused");
    w.send_reserve(json!({ "id": id })).await.wrong_state("waiting");
    let resumed = w.reserve_as("ann").await;
    assert_eq!((&resumed.id, &resumed.body["resumed"]), (&held.id, &json!(true)), "a reservation survives a pause");
    w.extend(&resumed).await.is(200);
    w.complete(&resumed).await.is(200);
    w.update_settings(json!({ "paused": true })).await;
    w.update_settings(json!({ "paused": null })).await;
    assert_eq!(w.reserve().await.id, id);
    let events = keyspace::events(&w.engine, "default").await;
    let kinds: Vec<_> = events.iter().map(|event| &*event.kind).filter(|kind| kind.ends_with("paused")).collect();
    assert_eq!(kinds, ["paused", "unpaused"]);
    w.check().await;
}

#[tokio::test]
async fn setting_null_restores_the_default() {
    let w = World::start().await;
    let defaults = json!({
        "paused": false, "lease_ms": 300_000, "max_hold_ms": 86_400_000, "warn_ms": 60_000, "max_attempts": 0,
        "backoff": null, "dedupe": true, "worker_limit": 1, "share_drafts": false, "browse": false,
        "retention_ms": RETENTION_MS, "retention_max": 100_000, "max_jobs": 0,
        "sheets": false, "sheets_days": 35, "time_zone": "UTC",
        "result_schema_sha256": null,
    });
    w.get("/queues/default").await.refused("unknown-queue");
    assert_eq!(w.update_settings(json!({})).await, defaults, "a PATCH creates the queue");
    let others = json!({
        "paused": true, "lease_ms": 1_000, "max_hold_ms": 0, "warn_ms": 0, "max_attempts": 5,
        "backoff": { "type": "exponential", "delay_ms": 10, "max_ms": 20 }, "dedupe": false, "worker_limit": 0, "share_drafts": true, "browse": true,
        "retention_ms": 10_000, "retention_max": 0, "max_jobs": 7,
        "sheets": true, "sheets_days": 400, "time_zone": "Asia/Kolkata",
    });
    for (key, value) in others.as_object().expect("an object") {
        let mut expected = defaults.clone();
        expected[key] = value.clone();
        assert_eq!(w.update_settings(json!({ key: value })).await, expected);
        assert_eq!(w.queue().await["settings"], expected);
        assert_eq!(w.update_settings(json!({ key: null })).await, defaults, "{key}");
    }
    let mut expected = others.clone();
    expected["result_schema_sha256"] = Value::Null;
    assert_eq!(w.update_settings(others).await, expected);
    assert_eq!(
        w.update_settings(json!({ "backoff": { "type": "fixed", "delay_ms": 9 } })).await["backoff"],
        json!({ "type": "fixed", "delay_ms": 9, "max_ms": null })
    );
    let wrong = json!({ "paused": 1, "lease_ms": 999, "warn_ms": -1, "retention_ms": 9_999, "lesae_ms": 1, "worker_limit": 1.5, "backoff": { "type": "slow" } });
    w.patch("/queues/default", wrong).await.invalid_at(&[
        "/paused",
        "/lease_ms",
        "/warn_ms",
        "/retention_ms",
        "/lesae_ms",
        "/worker_limit",
        "/backoff/type",
        "/backoff/delay_ms",
    ]);
    w.patch("/queues/a%20b", json!({})).await.invalid_by("parameter", &["queue"]);
    w.check().await;
}

#[tokio::test]
async fn sweep_reports_moved_jobs_and_none_the_second_time() {
    let w = World::start().await;
    w.enqueue_many((0..3).map(|n| json!({ "payload": n, "max_attempts": if n == 0 { 1 } else { 0 } }))).await;
    w.enqueue_with(json!({ "payload": 9, "delay_ms": 5_000 })).await;
    w.reserve_all(json!({ "limit": 3 })).await;
    w.advance_clock(300_000);
    let step = w.post("/queues/default/sweep", json!({})).await.is(200);
    assert_eq!(step, json!({ "expired": 3, "due": 1, "dead": 1, "forgotten": 0, "more": false }));
    let step = w.request("POST", "/queues/default/sweep").send().await.is(200);
    assert_eq!(step, json!({ "expired": 0, "due": 0, "dead": 0, "forgotten": 0, "more": false }));
    w.post("/queues/nowhere/sweep", json!({})).await.refused("unknown-queue");
    w.post("/queues/default/sweep", json!({ "now": true })).await.invalid_at(&["/now"]);
    w.check().await;
}
