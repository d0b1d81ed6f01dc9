//! Changes that wait until replicas or the disk have them: each waits at the node of its queue, and for no other.

use serde_json::json;

use crate::world::{World, assert_contains, cluster::LONG_NODE_TIMEOUT_MS, eventually, latest_server_program};

/// A change to each of the queues; only those of this node are not known to be kept.
async fn only_its_own_are_in_doubt(w: &World, queues: &[String], lost: usize, why: &str) {
    for (nth, queue) in queues.iter().enumerate() {
        let answer = w.send_enqueue(json!({ "queue": queue, "payload": ["doubted", lost] })).await;
        if nth == lost {
            assert_contains(&answer.refused("unavailable"), json!({ "status": 503, "applied": "unknown" }));
            assert!(answer.text().contains(why), "{}", answer.text());
        } else {
            assert_eq!(answer.status, 201, "{queue} of node {nth}, while {lost} is in doubt: {}", answer.text());
        }
    }
}

/// What was in doubt was done, and is kept as soon as it can be.
async fn all_is_kept(w: &World, queues: &[String], lost: usize) {
    eventually("it is kept", async || {
        let answer = w.send_enqueue(json!({ "queue": queues[lost], "payload": ["doubted", lost] })).await;
        (answer.status == 200).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_change_waits_for_the_replica_of_its_own_node() {
    let mut w = World::plan().with_cluster(LONG_NODE_TIMEOUT_MS).flag("--durability", "replicated:1").start().await;
    let queues = w.queue_of_each_node().await;
    for node in 0..3 {
        w.engine.add_replica_of(node).await;
    }
    for queue in &queues {
        eventually("its replica counts", async || {
            (w.send_enqueue(json!({ "queue": queue, "payload": "first" })).await.status < 300).then_some(())
        })
        .await;
        let held = w.reserve_with(json!({ "queues": [queue] })).await;
        w.complete(&held).await.is(200);
    }
    for lost in 0..3 {
        w.engine.freeze_node(3 + lost);
        only_its_own_are_in_doubt(&w, &queues, lost, "too few replicas").await;
        w.engine.thaw_node(3 + lost);
        all_is_kept(&w, &queues, lost).await;
    }
    for queue in &queues {
        assert_eq!(w.get(&format!("/queues/{queue}")).await.is(200)["counts"]["waiting"], 3, "each once");
    }
}

#[tokio::test]
async fn a_change_waits_for_the_disk_of_its_own_node() {
    let Some(program) = latest_server_program() else {
        println!("left out: scripts/engine.sh latest brings a server that knows WAITAOF");
        return;
    };
    let plan =
        World::plan().with_server(program).with_cluster(LONG_NODE_TIMEOUT_MS).durable().flag("--durability", "synced");
    let w = plan.start().await;
    let queues = w.queue_of_each_node().await;
    let _: String = w.engine.run("CONFIG SET appendfsync always").await;
    for lost in 0..3 {
        let _: String = w.engine.run_on(lost, "CONFIG SET appendfsync no").await;
        only_its_own_are_in_doubt(&w, &queues, lost, "on disk").await;
        let _: String = w.engine.run_on(lost, "CONFIG SET appendfsync always").await;
        all_is_kept(&w, &queues, lost).await;
    }
    w.check().await;
}
