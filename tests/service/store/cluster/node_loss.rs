//! A node that is frozen, killed or replaced: the queues of the others go on, and its own when it is back.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::world::{
    World,
    cluster::{LONG_NODE_TIMEOUT_MS, SHORT_NODE_TIMEOUT_MS},
    eventually,
};

/// What the contract promises, and a little for a machine that is busy with other stories.
const PROMISED: Duration = Duration::from_millis(2_500);

/// Every call to a queue of this node is refused in time, and those to the others are served.
async fn only_its_own_queues_are_away(w: &World, queues: &[String], lost: usize) {
    for (nth, queue) in queues.iter().enumerate() {
        for n in 0..3 {
            let begin = Instant::now();
            let answer = w.send_enqueue(json!({ "queue": queue, "payload": [lost, n], "dedupe": false })).await;
            let took = begin.elapsed();
            assert!(took < PROMISED, "{queue} of node {nth}, while {lost} is away: {took:?}");
            if nth == lost {
                answer.refused("unavailable");
                continue;
            }
            assert_eq!(answer.status, 201, "{queue} of node {nth}, while {lost} is away: {}", answer.text());
            let held = w.reserve_with(json!({ "queues": [queue] })).await;
            w.complete(&held).await.is(200);
        }
        if nth != lost {
            assert_eq!(w.get(&format!("/queues/{queue}")).await.status, 200, "{queue} while {lost} is away");
        }
    }
}

async fn all_are_served(w: &World, queues: &[String]) {
    for queue in queues {
        eventually("it is served again", async || {
            let answer = w.send_enqueue(json!({ "queue": queue, "payload": "again", "dedupe": false })).await;
            (answer.status == 201).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn while_a_node_is_frozen_the_queues_of_the_others_go_on() {
    let w = World::start_cluster().await;
    let queues = w.queue_of_each_node().await;
    all_are_served(&w, &queues).await;
    // One of them has the registry of queues, and the layout.
    for lost in 0..3 {
        w.engine.freeze_node(lost);
        only_its_own_queues_are_away(&w, &queues, lost).await;
        w.engine.thaw_node(lost);
        all_are_served(&w, &queues).await;
    }
    w.check().await;
}

#[tokio::test]
async fn while_a_node_is_gone_the_queues_of_the_others_go_on() {
    let mut w = World::plan().with_cluster(SHORT_NODE_TIMEOUT_MS).durable().start().await;
    let queues = w.queue_of_each_node().await;
    all_are_served(&w, &queues).await;
    for lost in 0..3 {
        w.engine.kill_node(lost);
        only_its_own_queues_are_away(&w, &queues, lost).await;
        let ready = w.get("/readyz?verbose").await;
        assert_eq!(ready.status, 200, "{}", ready.text());
        w.engine.revive_node(lost).await;
        all_are_served(&w, &queues).await;
    }
    w.check().await;
}

#[tokio::test]
async fn a_replica_that_takes_the_place_of_its_primary_is_found_without_a_restart() {
    let mut w = World::plan().with_cluster(SHORT_NODE_TIMEOUT_MS).start().await;
    let queues = w.queue_of_each_node().await;
    let replica = w.engine.add_replica_of(0).await;
    let id = w.enqueue_with(json!({ "queue": queues[0], "payload": 1 })).await;
    let _: u64 = w.engine.run_on(0, "WAIT 1 0").await;
    w.engine.kill_node(0);
    eventually("the replica serves it", async || {
        let answer = w.get(&format!("/jobs/{id}")).await;
        (answer.status == 200).then_some(())
    })
    .await;
    assert_eq!(w.engine.shard_of(&queues[0]).await, replica);
    let held = w.reserve_with(json!({ "queues": [queues[0]] })).await;
    assert_eq!(held.id, id);
    w.complete(&held).await.is(200);
}

#[tokio::test]
async fn the_background_task_goes_on_with_the_queues_of_the_other_nodes() {
    let w = World::plan().with_cluster(LONG_NODE_TIMEOUT_MS).sweep_every(20).start().await;
    let queues = w.queue_of_each_node().await;
    for lost in 0..3 {
        let mut ids = Vec::new();
        for queue in &queues {
            ids.push(w.enqueue_with(json!({ "queue": queue, "payload": lost })).await);
            w.reserve_with(json!({ "queues": [queue] })).await;
        }
        w.engine.freeze_node(lost);
        w.advance_clock(300_000);
        for nth in (0..3).filter(|nth| *nth != lost) {
            eventually("it is back in line", async || (w.state(&ids[nth]).await == "waiting").then_some(())).await;
        }
        w.engine.thaw_node(lost);
        for (id, queue) in ids.iter().zip(&queues) {
            eventually("it is back in line", async || {
                let answer = w.get(&format!("/jobs/{id}")).await;
                (answer.status == 200 && answer.json()["state"] == "waiting").then_some(())
            })
            .await;
            let held = w.reserve_with(json!({ "queues": [queue] })).await;
            w.complete(&held).await.is(200);
        }
    }
    w.check().await;
}

#[tokio::test]
async fn whoever_hears_hints_of_a_node_that_dies_hears_them_of_another() {
    let w = World::start_cluster().await;
    let (_service, other) = w.start_instance().await;
    let queues = w.queue_of_each_node().await;
    all_are_served(&w, &queues).await;
    for queue in &queues {
        while w.send_reserve(json!({ "queues": [queue] })).await.is(200)["jobs"][0].is_object() {}
    }
    for lost in 0..3 {
        let queue = &queues[(lost + 1) % 3];
        let waiter = tokio::spawn({
            let (client, queue) = ((*w).clone(), queue.clone());
            async move { client.send_reserve(json!({ "queues": [queue], "wait_ms": 30_000 })).await.is(200) }
        });
        eventually("it is heard", async || (w.engine.hint_subscribers(queue).await > 0).then_some(())).await;
        w.engine.freeze_node(lost);
        let id = other.enqueue_with(json!({ "queue": queue, "payload": lost })).await;
        let given = waiter.await.expect("it waits");
        assert_eq!(given["jobs"][0]["id"], id, "{given}");
        w.engine.thaw_node(lost);
    }
    w.check().await;
}
