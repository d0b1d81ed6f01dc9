//! Transition metrics of all instances add up to the queue's totals.

use std::collections::BTreeMap;

use intray::job::{EventKind, Total};
use serde_json::{Value, json};

use crate::world::{Client, World, batch_verbs::items, id_of};

/// By the labels `queue` and `transition`; "" where a label is missing.
async fn transitions(client: &Client) -> BTreeMap<(String, String), u64> {
    let text = client.get("/metrics").await.text();
    let label = |line: &str, name: &str| {
        let value = line.split_once(&format!("{name}=\"")).map(|(_, rest)| rest.split('"').next().unwrap_or_default());
        value.unwrap_or_default().to_owned()
    };
    let lines = text.lines().filter(|line| line.starts_with("intray_transitions_total"));
    let read = |line: &str| {
        let n = line.rsplit(' ').next().and_then(|n| n.parse().ok()).expect("a number");
        ((label(line, "queue"), label(line, "transition")), n)
    };
    lines.map(read).collect()
}

/// Transitions of `default`, summed over these instances.
async fn summed(clients: &[&Client]) -> BTreeMap<String, u64> {
    let mut sum = BTreeMap::new();
    for client in clients {
        for ((queue, transition), n) in transitions(client).await {
            if queue == "default" {
                *sum.entry(transition).or_default() += n;
            }
        }
    }
    sum
}

async fn batches_come_and_go(w: &World, other: &Client) {
    let open = w.create_batch(json!({ "sealed": false, "concurrency": 1, "priority": 1, "jobs": items(0..3) })).await;
    other.append(&open, &items(3..5)).await.is(200);
    w.reserve_all(json!({ "limit": 5 })).await.pop().expect("the only one that may be out");
    let doomed = w.create_batch(json!({ "jobs": items(0..2) })).await;
    other.cancel_batch(&doomed).await.is(200);
    let done = w.create_batch(json!({ "priority": 0, "jobs": items(0..2) })).await;
    for held in other.reserve_all(json!({ "limit": 2 })).await {
        w.complete(&held).await.is(200);
    }
    assert_eq!(w.batch(&done).await["state"], "completed");
}

async fn reservations_end_in_every_way(w: &World, other: &Client) {
    let urgent = |payload: &str, rest: Value| {
        let mut job = json!({ "payload": payload, "priority": 0 });
        job.as_object_mut().expect("an object").extend(rest.as_object().expect("an object").clone());
        job
    };
    w.send_enqueue(urgent("poison", json!({ "max_attempts": 1 }))).await.is(201);
    assert_eq!(other.fail(&w.reserve().await).await.is(200)["state"], "dead");
    w.send_enqueue(urgent("slow poison", json!({ "max_attempts": 1 }))).await.is(201);
    w.reserve().await;
    w.advance_clock(300_000);
    w.sweep().await;
    w.send_enqueue(urgent("twice", json!({}))).await.is(201);
    other.send_enqueue(urgent("twice", json!({}))).await.is(200);
    w.fail(&w.reserve().await).await.is(200);
    w.reserve().await;
    w.advance_clock(300_000);
    w.complete(&other.reserve().await).await.is(200);
    let late = w.reserve_as("ann").await;
    w.advance_clock(300_000);
    other.complete(&late).await.is(200);
    let lost = w.reserve_as("ann").await;
    w.extend(&lost).await.is(200);
    w.reserve_as("ann").await;
    w.advance_clock(300_000);
    w.extend(&lost).await.lost("expired", "waiting");
    let held = w.reserve_as("bob").await;
    w.post("/jobs/abandon", json!({ "reservation": held.reservation, "grace_ms": 1_000 })).await.is(200);
    w.advance_clock(1_000);
    w.sweep().await;
    w.abandon_with_delay(&w.reserve().await, 1_000).await.is(200);
    w.advance_clock(1_000);
    w.sweep().await;
    assert_eq!(other.release(&w.reserve().await.id).await, 1);
    let held = w.reserve_as("ann").await;
    let call = json!({ "reservation": held.reservation, "to": "bob", "fallback_ms": 1_000 });
    other.post("/jobs/hand-over", call).await.is(200);
    w.advance_clock(1_000);
    w.sweep().await;
    w.abandon(&w.reserve_as("bob").await).await.is(200);
    let held = w.reserve_as("ann").await;
    w.close(&held, "no", 60_000).await.is(200);
    other.undo(&held).await.is(200);
    w.abandon(&held).await.is(200);
}

async fn operators_do_all_they_can(w: &World, other: &Client) {
    assert_eq!(w.requeue(&w.list_ids("dead").await[0]).await, 1);
    let delayed =
        id_of(&w.send_enqueue(json!({ "payload": "later", "delay_ms": 60_000, "sla_ms": 1_000 })).await.is(201));
    w.advance_clock(1_000);
    w.sweep().await;
    assert_eq!(w.requeue(&delayed).await, 1);
    other.set_priority(&delayed, 9).await.is(200);
    w.cancel(&delayed).await.is(200);
    w.force_cancel(&w.reserve().await.id).await.is(200);
    w.update_settings(json!({ "paused": true })).await;
    w.update_settings(json!({ "paused": null })).await;
    w.delete("/queues/default?state=dead").await.is(200);
    other.delete("/queues/default?state=all&force=true").await.is(200);
}

#[tokio::test]
async fn transitions_of_all_instances_add_up_to_the_totals() {
    let w = World::start_process().await;
    let (_second, other) = w.start_instance().await;
    w.update_settings(json!({ "worker_limit": 1 })).await;
    w.enqueue_many((0..9).map(|n| json!({ "payload": n, "locks": if n < 4 { json!(["l"]) } else { json!([]) } })))
        .await;
    w.send_reserve(json!({ "limit": 3 })).await.is(200);
    batches_come_and_go(&w, &other).await;
    reservations_end_in_every_way(&w, &other).await;
    operators_do_all_they_can(&w, &other).await;

    let counted = summed(&[&w, &other]).await;
    for (total, n) in w.queue().await["totals"].as_object().expect("totals") {
        assert_ne!(n, 0, "{total} never happened in this test");
        let transition = match total.as_str() {
            "handed_out" => "reserved",
            "breached" => "sla-breached",
            "handed_over" => "handed-over",
            total => total,
        };
        assert_eq!(&json!(counted.get(transition)), n, "{total}: {counted:?}");
    }
    let of_no_total = |kind: &&str| *kind != "reserved" && Total::parse(kind).is_none();
    for kind in EventKind::ALL.map(EventKind::word).iter().copied().filter(of_no_total) {
        assert_eq!(counted.get(kind), Some(&(w.event_count(kind).await as u64)), "{kind}: {counted:?}");
    }
    assert_eq!(counted.get("deduplicated"), Some(&1), "{counted:?}");
    assert_eq!(counted.get("lost"), None, "{counted:?}");
    w.check().await;
}

#[tokio::test]
async fn lost_reservations_are_counted_without_a_queue_label() {
    let w = World::start_process().await;
    let code = "7ZZZZZZZZZZZZZZZZZZZZZZZZZ";
    for n in 0..20 {
        let item = json!({ "reservation": format!("bogus{n}-{code}.{code}") });
        for call in ["extend", "complete", "abandon", "fail"] {
            w.post(&format!("/jobs/{call}"), item.clone()).await.unknown_reservation();
        }
    }
    let counted = transitions(&w).await;
    assert_eq!(counted, BTreeMap::from([((String::new(), "lost".to_owned()), 80)]));
    w.check().await;
}
