//! Producers put jobs into a line: where each lands, and which are the same job.

use serde_json::{Value, json};

use crate::world::{World, assert_contains, assert_events, id_of, number};

#[tokio::test]
async fn new_job_waits_and_holds_its_dedupe_key() {
    let w = World::start().await;
    let answer = w.send_enqueue(json!({ "payload": { "n": 1 } })).await;
    let response = answer.is(201);
    let id = id_of(&response);
    assert_eq!(
        response,
        json!({ "id": id, "queue": "default", "state": "waiting", "duplicate": false, "differs": [] })
    );
    assert_eq!(answer.header("location"), Some(format!("jobs/{id}").as_str()));
    assert!(w.has_dedupe_key(&id).await);
    assert_events(&w.events_of(&id).await, &["enqueued"]);
    assert_contains(
        &w.job(&id).await,
        json!({
            "id": id, "queue": "default", "state": "waiting", "payload": { "n": 1 }, "priority": 50, "client": null,
            "traceparent": null, "lease_ms": null, "max_attempts": null, "backoff": null, "attempts": 0,
            "counts": { "handed_out": 0, "expired": 0, "failed": 0, "abandoned": 0, "released": 0 },
            "reserved": null, "errors": [], "result": null, "late_results": [], "due_at": null, "ended_at": null,
        }),
    );
    let second = w.enqueue(2).await;
    assert!(w.score_of(&id).await < w.score_of(&second).await);
    w.check().await;
}

#[tokio::test]
async fn job_keeps_every_enqueue_option() {
    let w = World::start().await;
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let response = json!({
        "queue": "a-b.c_d", "payload": "x", "priority": 7, "client": "acme ü", "dedupe_key": "k", "lease_ms": 60_000,
        "max_attempts": 3, "backoff": { "type": "exponential", "delay_ms": 1_000, "max_ms": 60_000 },
    });
    let request = w.request("POST", "/jobs").header("traceparent", trace).json(response.to_string());
    let id = id_of(&request.send().await.is(201));
    assert!(id.starts_with("a-b.c_d-"));
    let kept = json!({
        "queue": "a-b.c_d", "priority": 7, "client": "acme ü", "traceparent": trace, "lease_ms": 60_000, "max_attempts": 3,
        "backoff": { "type": "exponential", "delay_ms": 1_000, "max_ms": 60_000 },
    });
    assert_contains(&w.job(&id).await, kept);
    let held = w.reserve_with(json!({ "queues": ["a-b.c_d"], "worker": "ann" })).await;
    assert_contains(
        &held.body,
        json!({
            "id": id, "queue": "a-b.c_d", "payload": "x", "attempt": 1, "expires_in_ms": 60_000, "warn_in_ms": 0,
            "priority": 7, "client": "acme ü", "worker": "ann", "resumed": false, "resumes": 0, "traceparent": trace,
        }),
    );
    assert!(held.reservation.starts_with(&format!("{id}.")));
    w.check().await;
}

#[tokio::test]
async fn delayed_job_joins_the_end_of_the_queue_when_due() {
    let w = World::start().await;
    let delayed = w.send_enqueue(json!({ "payload": 1, "delay_ms": 60_000 })).await.is(201);
    assert_eq!(delayed["state"], "delayed");
    let delayed = id_of(&delayed);
    assert!(w.has_dedupe_key(&delayed).await);
    assert_eq!(w.empty_reason(json!({})).await, "delayed");
    let later = w.enqueue(2).await;
    assert_eq!(w.sweep().await["due"], 0);

    w.advance_clock(60_000);
    assert_eq!(w.sweep().await["due"], 1);
    assert_eq!(w.state(&delayed).await, "waiting");
    assert!(w.score_of(&later).await < w.score_of(&delayed).await, "its place is that of its first readiness");
    assert_events(&w.events_of(&delayed).await, &["enqueued", "due"]);
    assert_eq!((w.reserve().await.id, w.reserve().await.id), (later, delayed));
    w.check().await;
}

#[tokio::test]
async fn run_at_follows_the_redis_clock() {
    let w = World::start().await;
    let at = i64::try_from(w.engine.now().await + 90_000).expect("a time");
    let at = jiff::Timestamp::from_millisecond(at).expect("a time").to_string();
    let id = w.enqueue_with(json!({ "payload": 1, "run_at": at })).await;
    let due_at = w.job(&id).await["due_at"].clone();
    let due_at: jiff::Timestamp = due_at.as_str().expect("a time").parse().expect("RFC 3339");
    assert_eq!(due_at, at.parse().expect("RFC 3339"));
    w.advance_clock(80_000);
    assert_eq!(w.empty_reason(json!({})).await, "delayed");
    w.advance_clock(10_001);
    assert_eq!(w.reserve().await.id, id, "a reserve finds what is due without any sweep");
    let past = w.send_enqueue(json!({ "payload": 2, "run_at": "2020-01-01T00:00:00Z" })).await.is(201);
    assert_eq!(past["state"], "waiting");
    w.check().await;
}

#[tokio::test]
async fn enqueue_array_refuses_only_invalid_items() {
    let w = World::start().await;
    let answer = w
        .post(
            "/jobs",
            json!([
                { "payload": 1 }, { "payload": 1 }, { "payload": 2, "priority": 100 }, 3, { "payload": 4, "queue": "other" },
                { "payload": 5, "delay_ms": 1_000 }, { "queue": "default" }, { "payload": 6, "lock": "x" },
            ]),
        )
        .await
        .is(200);
    let jobs = answer["jobs"].as_array().expect("jobs");
    assert_eq!(jobs.len(), 8);
    assert_eq!((&jobs[0]["state"], &jobs[0]["duplicate"]), (&json!("waiting"), &json!(false)));
    assert_eq!((id_of(&jobs[1]), &jobs[1]["duplicate"]), (id_of(&jobs[0]), &json!(true)), "twins within a list");
    let pointer = |entry: &Value| entry["error"]["errors"][0]["pointer"].clone();
    assert_eq!(pointer(&jobs[2]), "/priority");
    assert_eq!(pointer(&jobs[3]), "");
    assert_eq!(jobs[4]["queue"], "other");
    assert_eq!(jobs[5]["state"], "delayed");
    assert_eq!(pointer(&jobs[6]), "/payload");
    assert_eq!(pointer(&jobs[7]), "/lock");
    assert!(jobs.iter().filter_map(|job| job.get("error")).all(|error| error["status"] == 422));
    assert_contains(&w.queue().await, json!({ "counts": { "waiting": 1, "delayed": 1 }, "totals": { "enqueued": 2 } }));
    w.check().await;
}

#[tokio::test]
async fn enqueue_array_keeps_its_order() {
    let w = World::start().await;
    let ids = w.enqueue_many((0..1_000).map(|n| json!({ "payload": n }))).await;
    assert_eq!(ids.len(), 1_000);
    let mut handed = Vec::new();
    for _ in 0..10 {
        handed.extend(w.reserve_all(json!({ "limit": 100 })).await.into_iter().map(|held| held.id));
    }
    assert_eq!(handed, ids);
    let too_many: Vec<_> = (0..1_001).map(|n| json!({ "payload": n + 2_000 })).collect();
    w.post("/jobs", Value::Array(too_many)).await.refused("too-many-items");
    w.post("/jobs", json!([])).await.invalid_at(&[""]);
    assert_eq!(w.queue().await["totals"]["enqueued"], 1_000);
    w.check().await;
}

#[tokio::test]
async fn full_queue_refuses_jobs_until_there_is_room() {
    let w = World::start().await;
    w.update_settings(json!({ "max_jobs": 3, "max_attempts": 1 })).await;
    let dead = w.enqueue("dies").await;
    w.fail(&w.reserve().await).await.is(200);
    assert_eq!(w.state(&dead).await, "dead");
    w.enqueue_with(json!({ "payload": "delayed", "delay_ms": 1_000 })).await;
    let answer = w.post("/jobs", json!([{ "payload": 1 }, { "payload": 2 }, { "payload": 1 }])).await.is(200);
    assert_eq!(answer["jobs"][0]["state"], "waiting");
    assert_contains(&answer["jobs"][1], json!({ "error": { "type": "/problems/queue-full", "status": 429 } }));
    assert_eq!(answer["jobs"][2]["duplicate"], true, "a twin takes no room");

    let full = w.send_enqueue(json!({ "payload": 3 })).await;
    assert_eq!(full.status, 429);
    let wait = number(&full.refused("queue-full"), "retry_after_ms");
    let header: u64 = full.header("retry-after").expect("a header").parse().expect("seconds");
    assert_eq!(header, wait.div_ceil(1_000));

    w.complete(&w.reserve().await).await.is(200);
    w.enqueue(3).await;
    w.send_enqueue(json!({ "payload": 4 })).await.refused("queue-full");
    w.update_settings(json!({ "max_jobs": null })).await;
    w.enqueue(4).await;
    w.check().await;
}
