//! The limit of reservations for each worker, their resume after a reload, and callers that disconnect.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt, net::TcpStream, task::JoinSet, time::sleep};

use crate::world::{Client, Fault, World, assert_contains, assert_events, eventually, pending_reserve::PendingReserve};

#[tokio::test]
async fn reserve_returns_all_job_fields() {
    let w = World::start().await;
    let id = w.enqueue(json!({ "photo": 1 })).await;
    let answer = w.send_reserve(json!({ "worker": "ann" })).await.is(200);
    let job = &answer["jobs"][0];
    assert_contains(
        job,
        json!({
            "id": id, "queue": "default", "payload": { "photo": 1 }, "attempt": 1, "expires_in_ms": 300_000,
            "warn_in_ms": 240_000, "priority": 50, "client": null, "worker": "ann", "resumed": false, "resumes": 0,
            "traceparent": null,
        }),
    );
    assert_eq!(job["reserved_at"], answer["server_time"]);
    let shown = w.get(&format!("/jobs/{id}")).await;
    assert!(!shown.text().contains(job["reservation"].as_str().expect("text").rsplit('.').next().expect("a secret")));
    assert_contains(
        &shown.json(),
        json!({ "state": "reserved", "reserved": { "worker": "ann", "resumes": 0 }, "counts": { "handed_out": 1 } }),
    );
    assert_events(&w.events_of(&id).await, &["enqueued", "reserved"]);
    w.check().await;
}

#[tokio::test]
async fn worker_at_its_limit_resumes_the_same_reservation() {
    let w = World::start().await;
    let (first, second) = (w.enqueue(1).await, w.enqueue(2).await);
    let held = w.reserve_as("ann").await;
    w.advance_clock(100_000);
    for resumes in 1..=3 {
        let again = w.reserve_with(json!({ "worker": "ann", "limit": 5 })).await;
        assert_eq!((&again.id, &again.reservation), (&first, &held.reservation), "the same reservation");
        assert_contains(
            &again.body,
            json!({ "resumed": true, "resumes": resumes, "attempt": 1, "expires_in_ms": 300_000 }),
        );
        assert_eq!(again.body["reserved_at"], held.body["reserved_at"]);
    }
    assert_contains(&w.job(&first).await, json!({ "counts": { "handed_out": 1 }, "reserved": { "resumes": 3 } }));
    assert_events(&w.events_of(&first).await, &["enqueued", "reserved", "resumed", "resumed", "resumed"]);
    assert_eq!(w.reserve_as("bob").await.id, second);
    w.complete(&held).await.is(200);
    assert_eq!(w.empty_reason(json!({ "worker": "ann" })).await, "reserved");
    w.check().await;
}

#[tokio::test]
async fn worker_limit_resumes_the_oldest_jobs() {
    let w = World::start().await;
    w.update_settings(json!({ "worker_limit": 3 })).await;
    w.enqueue_many((0..10).map(|n| json!({ "payload": n }))).await;
    let mut held = w.reserve_all(json!({ "worker": "ann", "limit": 2 })).await;
    w.advance_clock(1_000);
    held.extend(w.reserve_all(json!({ "worker": "ann", "limit": 2 })).await);
    assert_eq!(held.len(), 3, "up to the limit, no further");
    let again = w.reserve_all(json!({ "worker": "ann", "limit": 100 })).await;
    let ids = |jobs: &[crate::world::ReservedJob]| {
        let mut ids: Vec<_> = jobs.iter().map(|held| held.id.clone()).collect();
        ids.sort();
        ids
    };
    assert_eq!(ids(&again), ids(&held));
    assert_eq!(again[2].id, held[2].id, "oldest first");
    let one = w.reserve_as("ann").await;
    assert!(one.id == held[0].id || one.id == held[1].id, "one of the oldest");
    assert_eq!(w.reserve_all(json!({ "limit": 100 })).await.len(), 7, "reserves without a worker have no limit");
    w.update_settings(json!({ "worker_limit": 0 })).await;
    for held in &held {
        w.abandon(held).await.is(200);
    }
    assert_eq!(w.reserve_all(json!({ "worker": "bob", "limit": 2 })).await.len(), 2);
    let more = w.reserve_as("bob").await;
    assert_eq!(more.body["resumed"], false, "without a limit nothing is resumed");
    w.check().await;
}

#[tokio::test]
async fn overdue_job_does_not_count_for_the_worker_limit() {
    let w = World::start().await;
    let id = w.enqueue(1).await;
    let held = w.reserve_as("ann").await;
    w.advance_clock(300_000);
    let again = w.reserve_as("ann").await;
    assert_eq!(again.id, id);
    assert_ne!(again.reservation, held.reservation);
    assert_contains(&again.body, json!({ "resumed": false, "attempt": 2 }));
    assert_events(&w.events_of(&id).await, &["enqueued", "reserved", "expired", "reserved"]);
    w.check().await;
}

#[tokio::test]
async fn worker_limit_resumes_jobs_across_several_queues() {
    let w = World::start().await;
    for queue in ["a", "b", "c"] {
        w.enqueue_many((0..3).map(|n| json!({ "queue": queue, "payload": n }))).await;
    }
    let of = |queues: &[&str], limit: u64| json!({ "queues": queues, "worker": "ann", "limit": limit });
    let b = w.reserve_with(of(&["b"], 5)).await;
    w.advance_clock(10);
    let a = w.reserve_with(of(&["a"], 5)).await;
    let again = w.reserve_all(of(&["a", "b", "c"], 5)).await;
    assert_eq!(again.iter().map(|held| &held.id).collect::<Vec<_>>(), [&b.id, &a.id], "oldest first, of both queues");
    assert!(again.iter().all(|held| held.body["resumed"] == true));
    assert_eq!(w.reserve_with(of(&["a", "b", "c"], 1)).await.id, b.id, "at most as many as asked for");
    let c = w.reserve_with(of(&["c"], 5)).await;
    assert_eq!((&c.body["queue"], &c.body["resumed"]), (&json!("c"), &json!(false)));
    w.complete(&b).await.is(200);
    w.complete(&a).await.is(200);
    w.complete(&c).await.is(200);
    let fresh = w.reserve_with(of(&["c", "a"], 5)).await;
    assert_eq!((&fresh.body["queue"], &fresh.body["resumed"]), (&json!("c"), &json!(false)));
    w.check().await;
}

#[tokio::test]
async fn reserve_by_id_returns_only_that_job() {
    let w = World::start().await;
    let ids = w.enqueue_many((0..4).map(|n| json!({ "payload": n }))).await;
    let this = |n: usize, worker: &str| json!({ "id": ids[n], "worker": worker });
    let held = w.reserve_with(this(2, "ann")).await;
    assert_eq!((&held.id, &held.body["resumed"]), (&ids[2], &json!(false)));
    let again = w.reserve_with(this(2, "ann")).await;
    assert_eq!((&again.reservation, &again.body["resumed"]), (&held.reservation, &json!(true)));
    w.send_reserve(this(2, "bob")).await.wrong_state("reserved");
    w.send_reserve(json!({ "id": ids[2] })).await.wrong_state("reserved");
    w.send_reserve(this(3, "ann")).await.refused("worker-limit");
    let unnamed = w.reserve_with(json!({ "id": ids[3], "lease_ms": 5_000 })).await;
    assert_eq!((&unnamed.id, unnamed.number("expires_in_ms")), (&ids[3], 5_000));
    w.abandon_with_delay(&unnamed, 60_000).await.is(200);
    w.send_reserve(this(3, "bob")).await.wrong_state("delayed");
    w.complete(&held).await.is(200);
    w.send_reserve(this(2, "ann")).await.wrong_state("completed");
    w.update_settings(json!({ "paused": true })).await;
    w.send_reserve(this(0, "ann")).await.wrong_state("waiting");
    w.send_reserve(json!({ "id": "default-7ZZZZZZZZZZZZZZZZZZZZZZZZZ" })).await.refused("unknown-job");
    w.send_reserve(json!({ "id": "nowhere-7ZZZZZZZZZZZZZZZZZZZZZZZZZ" })).await.refused("unknown-job");
    w.send_reserve(json!({ "id": ids[0], "queues": ["default"] })).await.refused("invalid-request");
    w.send_reserve(json!({ "id": ids[0], "limit": 2 })).await.refused("invalid-request");
    w.send_reserve(json!({ "id": "x" })).await.invalid_at(&["/id"]);
    w.check().await;
}

/// Sends a reserve on a connection of its own, and does not read the answer.
async fn ask_alone(client: &Client, body: &Value, key: Option<&str>) -> TcpStream {
    let mut socket = TcpStream::connect(client.address()).await.expect("the service listens");
    let body = body.to_string();
    let key = key.map_or(String::new(), |key| format!("idempotency-key: {key}\r\n"));
    let head = format!("POST /jobs/reserve HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n{key}");
    let request = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
    socket.write_all(request.as_bytes()).await.expect("the service reads");
    socket
}

async fn reserve_and_leave(client: &Client, body: &Value, key: Option<&str>, stay: Duration) {
    let call = ask_alone(client, body, key).await;
    if !stay.is_zero() {
        sleep(stay).await;
    }
    drop(call);
}

#[tokio::test]
async fn disconnect_during_a_reserve_returns_the_job() {
    let w = World::plan().with_proxy().start().await;
    let id = w.enqueue(1).await;
    let place = w.score_of(&id).await;
    w.reserve().await;
    w.advance_clock(300_000);
    w.sweep().await;
    w.proxy().set_fault(Fault::Freeze);
    let call = PendingReserve::send(&w, &json!({})).await;
    eventually("the call is on its way", async || w.proxy().is_withholding().then_some(())).await;
    assert_eq!(call.hang_up().await, None);
    w.proxy().set_fault(Fault::None);
    eventually("the job is given back", async || {
        w.events_of(&id).await.ends_with(&["reserved".into(), "abandoned undelivered".into()]).then_some(())
    })
    .await;
    let job = w.job(&id).await;
    assert_contains(&job, json!({ "state": "waiting", "counts": { "handed_out": 1, "abandoned": 0, "expired": 1 } }));
    assert_eq!(w.score_of(&id).await, place);
    assert!(w.has_dedupe_key(&id).await);
    w.check().await;
}

#[tokio::test]
async fn disconnects_do_not_affect_grouped_reserves() {
    let w = World::plan().with_proxy().start().await;
    w.enqueue_many((0..20).map(|n| json!({ "payload": n }))).await;
    w.abandon(&w.reserve().await).await.is(200);
    w.proxy().set_fault(Fault::Freeze);
    let (mut staying, mut leaving) = (JoinSet::new(), JoinSet::new());
    for _ in 0..5 {
        let client = (*w).clone();
        let call = PendingReserve::send(&w, &json!({ "limit": 2 })).await;
        leaving.spawn(async move {
            sleep(Duration::from_millis(100)).await;
            call.hang_up().await
        });
        staying.spawn(async move { client.reserve_all(json!({ "limit": 2 })).await });
    }
    assert_eq!(leaving.join_all().await, [const { None }; 5]);
    w.proxy().set_fault(Fault::None);
    let held: Vec<_> = staying.join_all().await.into_iter().flatten().collect();
    let mut ids: Vec<_> = held.iter().map(|held| held.id.clone()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!((held.len(), ids.len()), (10, 10), "five who stayed, two jobs each");
    eventually("the rest is given back", async || (w.queue().await["counts"]["waiting"] == 10).then_some(())).await;
    for held in &held {
        w.extend(held).await.is(200);
    }
    w.check().await;
}

#[tokio::test]
async fn undelivered_undo_spares_a_resumed_reservation() {
    let w = World::plan().with_proxy().start().await;
    let id = w.enqueue(1).await;
    w.proxy().set_fault(Fault::Freeze);
    let call = ask_alone(&w, &json!({ "worker": "ann" }), None).await;
    eventually("the call is on its way", async || w.proxy().is_withholding().then_some(())).await;
    drop(call);
    let retry = tokio::spawn({
        let client = (*w).clone();
        async move { client.reserve_as("ann").await }
    });
    sleep(Duration::from_millis(50)).await;
    w.proxy().set_fault(Fault::None);
    let held = retry.await.expect("the retry has a job");
    assert_eq!(held.id, id);
    for _ in 0..20 {
        w.extend(&held).await.is(200);
        sleep(Duration::from_millis(5)).await;
    }
    w.complete(&held).await.is(200);
    w.check().await;
}

#[tokio::test]
async fn aborted_reserve_never_undoes_its_retry() {
    let w = World::start().await;
    w.enqueue_many((0..3).map(|n| json!({ "payload": n }))).await;
    for n in 0..1_000_u64 {
        let key = format!("call-{n}");
        let key = (n % 2 == 0).then_some(key.as_str());
        let body = json!({ "worker": "ann" });
        reserve_and_leave(&w, &body, key, Duration::from_micros(n % 5 * 300)).await;
        let mut retry = w.request("POST", "/jobs/reserve").json(body.to_string());
        if let Some(key) = key {
            retry = retry.header("idempotency-key", key);
        }
        let answer = retry.send().await.is(200);
        let held = crate::world::ReservedJob::new(&answer["jobs"][0]);
        sleep(Duration::from_micros(n % 7 * 300)).await;
        let extended = w.extend(&held).await;
        assert_eq!(
            extended.status,
            200,
            "try {n}, key {key:?}: {}; {:?}",
            extended.text(),
            w.events_of(&held.id).await.iter().rev().take(8).collect::<Vec<_>>()
        );
        w.abandon(&held).await.is(200);
        // Waits until the aborted call has ended and no job is reserved.
        eventually("no job is reserved", async || (w.queue().await["counts"]["reserved"] == 0).then_some(())).await;
    }
    w.check().await;
}
