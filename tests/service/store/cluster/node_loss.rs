//! A frozen, killed or replaced node: queues on other nodes keep working, and its own recover.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::world::{
    Took, World,
    cluster::{LONG_NODE_TIMEOUT_MS, SHORT_NODE_TIMEOUT_MS},
    eventually,
};

/// The bound of the contract, plus a margin for a machine that runs other tests.
const ANSWER_BOUND: Duration = Duration::from_millis(2_500);

/// Calls to queues of this node are refused in time, and calls to others are served.
async fn assert_only_this_node_unavailable(w: &World, queues: &[String], lost: usize) {
    for (nth, queue) in queues.iter().enumerate() {
        for n in 0..3 {
            let begin = Instant::now();
            let answer = w.send_enqueue(json!({ "queue": queue, "payload": [lost, n], "dedupe": false })).await;
            let what = format_args!("{queue} of node {nth}, while {lost} is down");
            Took::since(begin).assert_within(ANSWER_BOUND, what);
            if nth == lost {
                answer.refused("unavailable");
                continue;
            }
            assert_eq!(answer.status, 201, "{queue} of node {nth}, while {lost} is down: {}", answer.text());
            let held = w.reserve_with(json!({ "queues": [queue] })).await;
            w.complete(&held).await.is(200);
        }
        if nth != lost {
            assert_eq!(w.get(&format!("/queues/{queue}")).await.status, 200, "{queue} while {lost} is down");
        }
    }
}

async fn all_are_served(w: &World, queues: &[String]) {
    for queue in queues {
        eventually("the queue is served again", async || {
            let answer = w.send_enqueue(json!({ "queue": queue, "payload": "again", "dedupe": false })).await;
            (answer.status == 201).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn frozen_node_does_not_affect_queues_of_other_nodes() {
    let w = World::start_cluster_with_default_redis_timeout().await;
    let queues = w.queue_of_each_node().await;
    all_are_served(&w, &queues).await;
    // One of the nodes has the registry and the layout.
    for lost in 0..3 {
        w.engine.freeze_node(lost);
        assert_only_this_node_unavailable(&w, &queues, lost).await;
        w.engine.thaw_node(lost);
        all_are_served(&w, &queues).await;
    }
    w.check().await;
}

#[tokio::test]
async fn killed_node_does_not_affect_queues_of_other_nodes() {
    let mut w = World::plan().with_cluster(SHORT_NODE_TIMEOUT_MS).with_default_redis_timeout().durable().start().await;
    let queues = w.queue_of_each_node().await;
    all_are_served(&w, &queues).await;
    for lost in 0..3 {
        w.engine.kill_node(lost);
        assert_only_this_node_unavailable(&w, &queues, lost).await;
        let ready = w.get("/readyz?verbose").await;
        assert_eq!(ready.status, 200, "{}", ready.text());
        w.engine.revive_node(lost).await;
        all_are_served(&w, &queues).await;
    }
    w.check().await;
}

#[tokio::test]
async fn promoted_replica_is_found_without_a_restart() {
    let mut w = World::plan().with_cluster(SHORT_NODE_TIMEOUT_MS).with_default_redis_timeout().start().await;
    let queues = w.queue_of_each_node().await;
    let replica = w.engine.add_replica_of(0).await;
    let id = w.enqueue_with(json!({ "queue": queues[0], "payload": 1 })).await;
    let _: u64 = w.engine.run_on(0, "WAIT 1 0").await;
    w.engine.kill_node(0);
    eventually("the replica serves its queues", async || {
        let answer = w.get(&format!("/jobs/{id}")).await;
        (answer.status == 200).then_some(())
    })
    .await;
    // The service can hear of it before the node that is asked here.
    let is_known = async || (w.engine.shard_of(&queues[0]).await == replica).then_some(());
    eventually("the other nodes know", is_known).await;
    let held = w.reserve_with(json!({ "queues": [queues[0]] })).await;
    assert_eq!(held.id, id);
    w.complete(&held).await.is(200);
}

#[tokio::test]
async fn sweeper_continues_with_queues_of_other_nodes() {
    let w = World::plan().with_cluster(LONG_NODE_TIMEOUT_MS).with_default_redis_timeout().sweep_every(20).start().await;
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
            eventually("the job is waiting again", async || (w.state(&ids[nth]).await == "waiting").then_some(()))
                .await;
        }
        w.engine.thaw_node(lost);
        for (id, queue) in ids.iter().zip(&queues) {
            eventually("the job is waiting again", async || {
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
async fn subscription_moves_when_its_node_dies() {
    let w = World::start_cluster_with_default_redis_timeout().await;
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
        eventually("the subscription is open", async || (w.engine.hint_subscribers(queue).await > 0).then_some(()))
            .await;
        w.engine.freeze_node(lost);
        let id = other.enqueue_with(json!({ "queue": queue, "payload": lost })).await;
        let given = waiter.await.expect("it waits");
        assert_eq!(given["jobs"][0]["id"], id, "{given}");
        w.engine.thaw_node(lost);
    }
    w.check().await;
}
