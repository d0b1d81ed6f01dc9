//! Clients with one job each, the usual case: they have equal turns, and the first to arrive is served first.

use serde_json::{Value, json};

use crate::world::{Client, ReservedJob, World, id_of};

fn customer(n: usize) -> Value {
    json!({ "payload": n, "client": format!("customer {n}"), "max_attempts": 0 })
}

/// A job of each customer, in turns at two instances, every other one under an Idempotency-Key.
async fn enqueue_by_turns(doors: [&Client; 2], customers: std::ops::Range<usize>, more: Value) -> Vec<String> {
    let mut ids = Vec::new();
    for n in customers {
        let mut job = customer(n);
        job.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        let request = doors[n / 2 % 2].request("POST", "/jobs");
        let request = if n % 2 == 0 { request.header("idempotency-key", &format!("k{n}")) } else { request };
        ids.push(id_of(&request.json(job.to_string()).send().await.is(201)));
    }
    ids
}

async fn all_in_line(client: &Client) -> Vec<ReservedJob> {
    client.reserve_all(json!({ "limit": 100 })).await
}

fn ids_of(held: &[ReservedJob]) -> Vec<String> {
    held.iter().map(|held| held.id.clone()).collect()
}

#[tokio::test]
async fn single_jobs_of_clients_are_served_by_arrival() {
    let w = World::start().await;
    let (_second, other) = w.start_instance().await;
    let ids = enqueue_by_turns([&w, &other], 0..26, json!({})).await;
    assert_eq!(ids_of(&all_in_line(&other).await), ids);
    w.check().await;
}

#[tokio::test]
async fn returned_single_jobs_keep_their_order() {
    let w = World::start().await;
    let ids = enqueue_by_turns([&w, &w], 0..24, json!({})).await;
    let held = all_in_line(&w).await;
    assert_eq!(ids_of(&held), ids);
    for n in [17, 3, 11, 4, 20] {
        w.abandon(&held[n]).await.is(200);
    }
    w.advance_clock(300_000);
    assert_eq!(w.sweep().await["expired"], 19);
    assert_eq!(ids_of(&all_in_line(&w).await), ids);
    w.check().await;
}

#[tokio::test]
async fn lock_serves_single_jobs_of_clients_by_arrival() {
    let w = World::start().await;
    let first = w.enqueue_locked("first", &["desk"]).await;
    let mut held = w.reserve().await;
    assert_eq!(held.id, first);
    let ids = enqueue_by_turns([&w, &w], 0..20, json!({ "locks": ["desk"] })).await;
    assert_eq!(w.list_ids("blocked").await, ids, "they are parked in their order");
    let mut served = Vec::new();
    for _ in &ids {
        w.complete(&held).await.is(200);
        held = w.reserve().await;
        served.push(held.id.clone());
    }
    assert_eq!(served, ids);
    w.check().await;
}

#[tokio::test]
async fn requeued_jobs_queue_in_order_of_death() {
    let w = World::start().await;
    enqueue_by_turns([&w, &w], 0..20, json!({ "max_attempts": 1 })).await;
    let mut died = Vec::new();
    for held in all_in_line(&w).await.iter().rev() {
        w.fail(held).await.is(200);
        died.push(held.id.clone());
    }
    assert_eq!(w.list_ids("dead").await, died);
    let newer = w.enqueue_with(customer(50)).await;
    assert_eq!(w.requeue_all().await, 20);
    assert_eq!(ids_of(&all_in_line(&w).await), [vec![newer], died].concat());
    w.check().await;
}

#[tokio::test]
async fn delayed_jobs_due_together_are_served_by_due_time() {
    let w = World::start().await;
    // Each is due before the one enqueued before it, however long the calls take.
    w.stop_clock();
    let mut ids = Vec::new();
    for n in 0..20 {
        let mut job = customer(n);
        job["delay_ms"] = json!(1_000 + 100 * (20 - n));
        ids.insert(0, w.enqueue_with(job).await);
    }
    w.advance_clock(10_000);
    let newer = w.enqueue_with(customer(60)).await;
    let handed = ids_of(&all_in_line(&w).await);
    let place = |id: &String| handed.iter().position(|known| known == id).expect("handed out");
    assert_eq!(handed.len(), 21);
    assert!(ids.iter().map(place).is_sorted(), "by when they were due: {handed:?}");
    assert!(handed.contains(&newer));
    w.check().await;
}

#[tokio::test]
async fn waiting_list_matches_the_serving_order() {
    let w = World::start().await;
    let ids = enqueue_by_turns([&w, &w], 0..17, json!({})).await;
    let mut listed = Vec::new();
    let mut path = "/queues/default/jobs?state=waiting&limit=3".to_owned();
    loop {
        let page = w.get(&path).await.is(200);
        listed.extend(page["jobs"].as_array().expect("jobs").iter().map(id_of));
        // A cancelled cursor job must not repeat or hide other jobs.
        w.cancel(&listed[listed.len() - 1]).await.is(200);
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/queues/default/jobs?state=waiting&limit=3&after={next}");
    }
    assert_eq!(listed, ids);
    w.check().await;
}
