//! Slots that move under load: nothing is lost or done twice, and every answer is a documented one.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};

use crate::world::{
    Client, World,
    cluster::{LONG_NODE_TIMEOUT_MS, SlotMove},
    eventually, latest_server_program,
};

/// The number of moves, unless INTRAY_SLOT_MOVES is set.
const MOVES: usize = 3;

/// What a worker did until it was stopped.
#[derive(Default)]
struct Done {
    /// Acknowledged.
    enqueued: Vec<String>,
    completed: Vec<String>,
    refused: usize,
}

/// Enqueues, reserves and completes; every answer is a success or a documented refusal.
async fn work(client: Client, queue: String, name: usize, stop: Arc<AtomicBool>) -> Done {
    let mut done = Done::default();
    let mut n = 0;
    while !stop.load(Ordering::Relaxed) {
        n += 1;
        let answer =
            client.send_enqueue(json!({ "queue": queue, "payload": [name, n], "client": name.to_string() })).await;
        match answer.status {
            200 | 201 => done.enqueued.push(answer.json()["id"].as_str().expect("an id").to_owned()),
            503 => done.refused += 1,
            odd => panic!("{odd}: {}", answer.text()),
        }
        let answer = client.send_reserve(json!({ "queues": [queue], "limit": 2 })).await;
        if answer.status == 503 {
            done.refused += 1;
            continue;
        }
        for job in answer.is(200)["jobs"].as_array().expect("jobs") {
            done.complete(&client, job).await;
        }
    }
    done
}

impl Done {
    /// Repeats the call until it is confirmed.
    async fn complete(&mut self, client: &Client, job: &Value) {
        loop {
            let answer = client.post("/jobs/complete", json!({ "reservation": job["reservation"] })).await;
            match answer.status {
                200 => return self.completed.push(job["id"].as_str().expect("an id").to_owned()),
                503 => self.refused += 1,
                odd => panic!("{odd}: {}", answer.text()),
            }
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum How {
    KeyByKey,
    AtOnce,
}

/// Moves the slot from node to node under load.
async fn moved_under_load(w: &World, how: How) {
    let moves = std::env::var("INTRAY_SLOT_MOVES").ok().and_then(|n| n.parse().ok()).unwrap_or(MOVES);
    let queue = w.queue_of_each_node().await.swap_remove(0);
    let large = (0..300).map(|n| json!({ "queue": queue, "payload": "x".repeat(200), "dedupe_key": n.to_string() }));
    let mut known: Vec<String> = w.enqueue_many(large).await;
    let stop = Arc::new(AtomicBool::new(false));
    let workers: Vec<_> =
        (0..8).map(|name| tokio::spawn(work((**w).clone(), queue.clone(), name, stop.clone()))).collect();
    for to in (0..moves).map(|nth| (nth + 1) % 3) {
        match how {
            How::KeyByKey => SlotMove::run(&w.engine, &queue, to).await,
            How::AtOnce => SlotMove::run_atomic(&w.engine, &queue, to).await,
        }
        let moved = w.engine.shard_of(&queue).await;
        assert_eq!(moved, to);
        // Work continues at the new node.
        let before = totals(w, &queue).await;
        eventually("work continues", async || (totals(w, &queue).await > before + 20).then_some(())).await;
    }
    stop.store(true, Ordering::Relaxed);
    let (mut completed, mut refused) = (Vec::new(), 0);
    for worker in workers {
        let done = worker.await.expect("no odd answer");
        known.extend(done.enqueued);
        completed.extend(done.completed);
        refused += done.refused;
    }
    let once: BTreeSet<_> = completed.iter().collect();
    let doubled = completed.len() - once.len();
    let mut lost = 0;
    for id in &known {
        let answer = w.get(&format!("/jobs/{id}")).await;
        let is_there = answer.status == 200 && (answer.json()["state"] == "completed") == once.contains(id);
        lost += usize::from(!is_there);
    }
    let (enqueued, completed) = (known.len(), completed.len());
    println!(
        "{moves} moves {how:?}: {enqueued} enqueued, {completed} completed, {lost} lost, {doubled} doubled, {refused} refused by 503"
    );
    assert_eq!((lost, doubled), (0, 0), "of {enqueued} and {completed}");
    w.check().await;
}

#[tokio::test]
async fn slot_moved_by_keys_loses_and_doubles_nothing() {
    moved_under_load(&World::start_cluster_with_default_redis_timeout().await, How::KeyByKey).await;
}

#[tokio::test]
async fn slot_moved_at_once_loses_and_doubles_nothing() {
    let plan = latest_server_program().map_or_else(World::plan, |program| World::plan().with_server(program));
    let w = plan.with_cluster(LONG_NODE_TIMEOUT_MS).with_default_redis_timeout().start().await;
    if !w.engine.supports_atomic_moves().await {
        return println!("skipped: scripts/engine.sh latest installs a server with atomic slot moves");
    }
    moved_under_load(&w, How::AtOnce).await;
}

async fn totals(w: &World, queue: &str) -> u64 {
    let answer = w.get(&format!("/queues/{queue}")).await;
    if answer.status == 200 { answer.json()["totals"]["completed"].as_u64().expect("a number") } else { 0 }
}

#[tokio::test]
async fn half_moved_slot_returns_503_and_applies_nothing() {
    let w = World::start_cluster_with_default_redis_timeout().await;
    let queues = w.queue_of_each_node().await;
    let id = w.enqueue_with(json!({ "queue": queues[0], "payload": 1 })).await;
    let it = SlotMove::start(&w.engine, &queues[0], 1).await;
    // All keys of a script must be on one node, and some do not exist yet.
    assert!(it.move_keys(1).await);
    let refused = w.send_enqueue(json!({ "queue": queues[0], "payload": 2 })).await.refused("unavailable");
    assert_eq!(refused["applied"], false, "{refused}");
    w.enqueue_with(json!({ "queue": queues[1], "payload": 1 })).await;
    while it.move_keys(5).await {}
    it.finish().await;
    assert_eq!(w.state(&id).await, "waiting");
    w.enqueue_with(json!({ "queue": queues[0], "payload": 2 })).await;
    w.check().await;
}

#[tokio::test]
async fn call_at_the_end_of_a_move_succeeds_within_its_timeout() {
    let w = World::start_cluster_with_default_redis_timeout().await;
    let queue = w.queue_of_each_node().await.swap_remove(0);
    w.enqueue_with(json!({ "queue": queue, "payload": 1 })).await;
    let it = SlotMove::start(&w.engine, &queue, 1).await;
    assert!(it.move_keys(1).await);
    let waits = tokio::spawn({
        let (client, queue) = ((*w).clone(), queue.clone());
        async move { client.send_enqueue(json!({ "queue": queue, "payload": 2 })).await }
    });
    tokio::time::sleep(Duration::from_millis(100)).await;
    while it.move_keys(50).await {}
    it.finish().await;
    assert_eq!(waits.await.expect("an answer").status, 201);
    w.check().await;
}

#[tokio::test]
async fn redirect_loop_ends_with_the_timeout() {
    let w = World::start_cluster_with_default_redis_timeout().await;
    let queues = w.queue_of_each_node().await;
    w.enqueue_with(json!({ "queue": queues[0], "payload": 1 })).await;
    let (slot, here, there) = (w.engine.slot_of(&queues[0]).await, w.engine.id_of(0).await, w.engine.id_of(1).await);
    let _: u64 = w.engine.run(&format!("UNLINK intray:{{{}}}:2:jobs", queues[0])).await;
    w.engine.delete_slot_keys(0, slot).await;
    let _: String = w.engine.run_on(0, &format!("CLUSTER SETSLOT {slot} NODE {there}")).await;
    let _: String = w.engine.run_on(1, &format!("CLUSTER SETSLOT {slot} NODE {here}")).await;
    let refused = w.send_enqueue(json!({ "queue": queues[0], "payload": 2 })).await.refused("unavailable");
    assert_eq!(refused["applied"], false, "{refused}");
    w.enqueue_with(json!({ "queue": queues[2], "payload": 1 })).await;
    let _: String = w.engine.run_on(1, &format!("CLUSTER SETSLOT {slot} NODE {there}")).await;
    eventually("the queue is served at its new node", async || {
        let answer = w.send_enqueue(json!({ "queue": queues[0], "payload": 3 })).await;
        (answer.status == 201).then_some(())
    })
    .await;
    w.check().await;
}
