//! Changes that wait for replicas or the disk wait at the node of their queue, and for no other node.

use serde_json::json;

use crate::world::{World, assert_contains, cluster::LONG_NODE_TIMEOUT_MS, eventually, latest_server_program};

/// Changes every queue; only those of this node are not confirmed.
async fn assert_only_this_node_unconfirmed(w: &World, queues: &[String], lost: usize, why: &str) {
    for (nth, queue) in queues.iter().enumerate() {
        let enqueue = async || w.send_enqueue(json!({ "queue": queue, "payload": ["doubted", lost] })).await;
        if nth == lost {
            // On a busy machine the time of the whole call may be over before the node has answered why.
            eventually(why, async || {
                let answer = enqueue().await;
                assert_contains(&answer.refused("unavailable"), json!({ "status": 503, "applied": "unknown" }));
                answer.text().contains(why).then_some(())
            })
            .await;
        } else {
            let answer = enqueue().await;
            assert_eq!(answer.status, 201, "{queue} of node {nth}, while {lost} is unconfirmed: {}", answer.text());
        }
    }
}

/// Unconfirmed changes were applied, and are confirmed as soon as possible.
async fn all_confirmed(w: &World, queues: &[String], lost: usize) {
    eventually("the change is confirmed", async || {
        let answer = w.send_enqueue(json!({ "queue": queues[lost], "payload": ["doubted", lost] })).await;
        (answer.status == 200).then_some(())
    })
    .await;
}

#[tokio::test]
async fn change_waits_for_the_replica_of_its_own_node() {
    let mut w = World::plan()
        .with_cluster(LONG_NODE_TIMEOUT_MS)
        .with_default_redis_timeout()
        .flag("--durability", "replicated:1")
        .start()
        .await;
    let queues = w.queue_of_each_node().await;
    for node in 0..3 {
        w.engine.add_replica_of(node).await;
    }
    for queue in &queues {
        eventually("the replica is connected", async || {
            (w.send_enqueue(json!({ "queue": queue, "payload": "first" })).await.status < 300).then_some(())
        })
        .await;
        let held = w.reserve_with(json!({ "queues": [queue] })).await;
        w.complete(&held).await.is(200);
    }
    for lost in 0..3 {
        w.engine.freeze_node(3 + lost);
        assert_only_this_node_unconfirmed(&w, &queues, lost, "too few replicas").await;
        w.engine.thaw_node(3 + lost);
        all_confirmed(&w, &queues, lost).await;
    }
    for queue in &queues {
        assert_eq!(w.get(&format!("/queues/{queue}")).await.is(200)["counts"]["waiting"], 3, "each job once");
    }
}

#[tokio::test]
async fn change_waits_for_the_disk_of_its_own_node() {
    let Some(program) = latest_server_program() else {
        println!("skipped: scripts/engine.sh latest installs a server with WAITAOF");
        return;
    };
    let plan = World::plan()
        .with_server(program)
        .with_cluster(LONG_NODE_TIMEOUT_MS)
        .with_default_redis_timeout()
        .durable()
        .flag("--durability", "synced");
    let w = plan.start().await;
    let queues = w.queue_of_each_node().await;
    let _: String = w.engine.run("CONFIG SET appendfsync always").await;
    for lost in 0..3 {
        let _: String = w.engine.run_on(lost, "CONFIG SET appendfsync no").await;
        assert_only_this_node_unconfirmed(&w, &queues, lost, "on disk").await;
        let _: String = w.engine.run_on(lost, "CONFIG SET appendfsync always").await;
        all_confirmed(&w, &queues, lost).await;
    }
    w.check().await;
}
