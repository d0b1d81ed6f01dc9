//! The stream of events: every transition once, in order, at every instance.

use std::{collections::BTreeSet, time::Duration};

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::world::{
    Took, World, assert_contains,
    batch_verbs::{items, member_id},
    contract::CONTRACT,
    hurried_wait, keyspace,
    waiters::PROMPT_LIMIT,
};

/// Converts an event of a stream to the form read from Redis, without its time and batch.
pub fn to_stored(received: &Value) -> keyspace::Event {
    let text = |key: &str| received[key].as_str().unwrap_or_default().to_owned();
    let queue = format!("{}-{}", text("queue"), "0".repeat(26));
    let job = [text("job"), text("batch"), queue].into_iter().find(|id| !id.is_empty()).expect("one of them");
    let kind = text("type");
    let note = match (received["access"]["kind"].as_str(), text("reason")) {
        (Some(open), _) => open.to_owned(),
        // It is stored without a word.
        (None, reason) if kind == "cancelled" && reason == "withdrawn" => String::new(),
        (None, reason) => reason,
    };
    keyspace::Event { kind, job, worker: text("worker"), client: text("client"), note }
}

/// Asserts that the received events are those stored in Redis.
pub async fn assert_all_received(w: &World, queue: &str, received: &[Value]) {
    let received: Vec<_> = received.iter().filter(|event| event["queue"] == queue).map(to_stored).collect();
    let happened = keyspace::events(&w.engine, queue).await;
    let differs = received.iter().zip(&happened).position(|(received, happened)| received != happened);
    if let Some(at) = differs {
        panic!(
            "{queue}: the {at}th of {} was received as\n{:?}\nand stored as\n{:?}",
            happened.len(),
            received[at],
            happened[at]
        );
    }
    assert_eq!(received.len(), happened.len(), "{queue}: received and stored events");
}

/// Makes events of every type in the queue `default`.
async fn make_every_event(w: &World) {
    let put = |n: u64| json!({ "payload": ["day", n], "client": "acme", "max_attempts": 2 });
    let first = w.enqueue_with(put(1)).await;
    let held = w.reserve_as("ann").await;
    w.reserve_as("ann").await;
    w.extend(&held).await.is(200);
    let words = json!({ "reservation": held.reservation, "reason": "lunch: \"12:00\"\nback at 1 \u{2028}" });
    w.post("/jobs/abandon", words).await.is(200);
    w.set_priority(&first, 3).await.is(200);
    w.fail_with(&w.reserve_as("bob").await, "no\r\n\r\nevent: fake").await.is(200);
    w.fail(&w.reserve_as("bob").await).await.is(200);
    assert_eq!(w.requeue(&first).await, 1);
    w.reserve_as("ann").await;
    w.release(&first).await;
    w.reserve_as("ann").await;
    w.advance_clock(300_000);
    w.sweep().await;
    w.complete(&w.reserve_as("ann").await).await.is(200);
    for n in [2, 3] {
        w.enqueue_with(json!({ "payload": ["day", n], "locks": ["l"], "priority": n })).await;
    }
    let second = w.reserve().await;
    assert_eq!(w.empty_reason(json!({})).await, "blocked");
    w.advance_clock(300_000);
    w.complete(&second).await.is(200);
    let passed_on = w.enqueue_with(json!({ "payload": ["day", 5], "priority": 0 })).await;
    let held = w.reserve_with(json!({ "worker": "ann", "id": passed_on })).await;
    let call = json!({ "reservation": held.reservation, "to": "bob", "fallback_ms": 1_000 });
    w.post("/jobs/hand-over", call).await.is(200);
    let late = w.enqueue_with(json!({ "payload": ["day", 4], "delay_ms": 1_000, "sla_ms": 1_000 })).await;
    w.advance_clock(1_000);
    w.sweep().await;
    w.cancel(&late).await.is(200);
    w.cancel(&passed_on).await.is(200);
    w.update_settings(json!({ "paused": true })).await;
    w.update_settings(json!({ "paused": false })).await;
    let held = w.reserve().await;
    w.close(&held, "no", 60_000).await.is(200);
    w.undo(&held).await.is(200);
    w.complete(&held).await.is(200);
    let batch = w.create_batch(json!({ "client": "b\u{fc}ro", "concurrency": 1, "jobs": items(0..2) })).await;
    // Row 6: a job that comes to the head of the line at a full gate is blocked there.
    w.post(
        "/jobs",
        json!([{ "payload": 9, "locks": ["m"], "priority": 1 }, { "payload": 8, "locks": ["m"], "priority": 1 }]),
    )
    .await
    .is(200);
    assert_eq!(w.reserve_all(json!({ "limit": 3 })).await.len(), 2);
    w.force_cancel(&member_id(&batch, 0)).await.is(200);
    w.force_cancel(&member_id(&batch, 1)).await.is(200);
    w.delete("/queues/default?state=all&force=true").await.is(200);
}

#[tokio::test]
async fn every_event_type_reaches_every_instance_once_in_order() {
    let w = World::start().await;
    let (_second, other) = w.start_instance().await;
    let (mut here, mut there) = (w.listen("").await, other.listen("?queue=default").await);
    let mut gone = other.listen("").await;
    make_every_event(&w).await;
    let n = w.events().await.len();
    let heard = here.read_events(n).await;
    assert_eq!(there.read_events(n).await, heard);
    assert_all_received(&w, "default", &heard).await;
    let types: BTreeSet<_> = heard.iter().map(|event| event["type"].as_str().expect("a type").to_owned()).collect();
    assert_eq!(types, CONTRACT.event_types().into_iter().collect(), "each documented type");
    let times: Vec<_> = heard.iter().map(|event| event["at"].as_str().expect("a time")).collect();
    assert!(times.is_sorted());
    assert_eq!(gone.read_events(1).await, heard[..1]);
    drop(gone);
    w.check().await;
}

#[tokio::test]
async fn event_names_its_job_batch_worker_client_and_reason() {
    let w = World::start().await;
    let mut listener = w.listen("").await;
    let id = w.enqueue_with(json!({ "payload": 1, "client": "acme" })).await;
    let held = w.reserve_as("ann").await;
    let words = json!({ "reservation": held.reservation, "reason": "lunch" });
    w.post("/jobs/abandon", words).await.is(200);
    w.cancel(&id).await.is(200);
    let batch = w.create_batch(json!({ "client": "acme", "jobs": items(0..1) })).await;
    let of_batch = w.reserve_as("bob").await;
    w.fail_with(&of_batch, "torn").await.is(200);
    w.cancel_batch(&batch).await.is(200);
    w.update_settings(json!({ "paused": true })).await;
    let (null, acme) = (json!(null), json!("acme"));
    let event = |kind: &str, job: Value, batch: &Value, worker: &str, client: &Value, reason: &str| {
        let word = |word: &str| if word.is_empty() { json!(null) } else { json!(word) };
        json!({
            "type": kind, "queue": "default", "job": job, "batch": batch, "worker": word(worker), "client": client,
            "reason": word(reason),
        })
    };
    let (job, of, mine) = (json!(id), json!(batch), json!(member_id(&batch, 0)));
    let expected = [
        event("enqueued", job.clone(), &null, "", &acme, ""),
        event("reserved", job.clone(), &null, "ann", &acme, ""),
        event("abandoned", job.clone(), &null, "ann", &acme, "lunch"),
        event("cancelled", job, &null, "", &acme, "withdrawn"),
        event("enqueued", mine.clone(), &of, "", &acme, ""),
        event("reserved", mine.clone(), &of, "bob", &acme, ""),
        event("failed", mine.clone(), &of, "bob", &acme, "torn"),
        event("cancelled", mine, &of, "", &acme, "withdrawn"),
        event("batch-completed", null.clone(), &of, "", &acme, "cancelled"),
        event("paused", null.clone(), &null, "", &null, ""),
    ];
    for (received, expected) in listener.read_events(expected.len()).await.iter().zip(expected) {
        assert_contains(received, expected);
    }
    w.check().await;
}

#[tokio::test]
async fn events_reach_another_instance_at_once() {
    let w = World::start().await;
    let (_second, other) = w.start_instance().await;
    let mut listener = other.listen("?queue=new").await;
    let mut took = Vec::new();
    for n in 0..100 {
        let begin = Instant::now();
        let id = w.enqueue_with(json!({ "queue": "new", "payload": n })).await;
        assert_eq!(listener.read_events(1).await[0]["job"], id.as_str());
        took.push(Took::since(begin).running());
    }
    took.sort();
    eprintln!("from a call to its event at another instance: median {:?}, worst {:?}", took[50], took[99]);
    assert!(took[50] < Duration::from_millis(200) && took[99] < Duration::from_secs(2), "{took:?}");
    w.check().await;
}

#[tokio::test]
async fn heartbeat_comes_every_15_seconds_and_advances_the_id() {
    let (w, usual) = (World::plan().hurried().start().await, hurried_wait(Duration::from_secs(15)));
    let begin = Instant::now();
    let (mut idle, mut filtered) = (w.listen("?queue=nothing").await, w.listen("?type=dead").await);
    assert_eq!(filtered.next().await.expect("a heartbeat").kind, "heartbeat");
    let first = idle.next().await.expect("a heartbeat");
    assert_eq!((first.kind.as_str(), first.data), ("heartbeat", json!({})));
    Took::since(begin).assert_within(PROMPT_LIMIT, "the answer");
    w.enqueue_many((0..5).map(|n| json!({ "payload": n }))).await;
    for _ in 0..2 {
        let begin = Instant::now();
        assert_eq!(idle.next().await.expect("a heartbeat").kind, "heartbeat");
        let pause = Took::since(begin);
        assert!(pause.real() > usual * 2 / 3, "{pause:?}");
        pause.assert_within(usual + Duration::from_secs(5), "the next heartbeat");
    }
    assert_eq!(filtered.next().await.expect("a heartbeat").kind, "heartbeat");
    // The heartbeat's id is past the events that the filter drops.
    let mut again = w.listen_after("", &filtered.last_id).await;
    w.update_settings(json!({ "paused": true })).await;
    assert_eq!(again.read_until("paused").await, [] as [Value; 0]);
    w.check().await;
}
