//! What works on one server works on a cluster, on any node.

use std::collections::BTreeSet;

use serde_json::json;

use crate::{
    webhooks::line,
    world::{World, assert_contains, cluster::LONG_NODE_TIMEOUT_MS, eventually, id_of, receiver::Receiver},
};

#[tokio::test]
async fn job_completes_its_life_cycle_on_any_node() {
    let w = World::start_cluster().await;
    for queue in w.queue_of_each_node().await {
        let id = w.enqueue_with(json!({ "queue": queue, "payload": { "of": queue } })).await;
        let twin = w.send_enqueue(json!({ "queue": queue, "payload": { "of": queue } })).await.is(200);
        assert_contains(&twin, json!({ "id": id, "duplicate": true }));
        let held = w.reserve_with(json!({ "queues": [queue], "worker": "ann" })).await;
        assert_eq!(held.id, id);
        w.extend(&held).await.is(200);
        w.advance_clock(300_000);
        let again = w.reserve_with(json!({ "queues": [queue], "worker": "bob" })).await;
        assert_eq!(again.id, id);
        w.complete(&held).await.lost("expired", "reserved");
        w.complete(&again).await.is(200);
        assert_contains(&w.job(&id).await, json!({ "state": "completed", "completed": { "worker": "bob" } }));
    }
    w.check().await;
}

#[tokio::test]
async fn webhook_gets_the_events_of_queues_on_all_nodes() {
    let receiver = Receiver::start().await;
    let lines = [line("shop", &receiver, "*", "completed")];
    let w = World::plan().with_cluster(LONG_NODE_TIMEOUT_MS).with_webhooks(lines).start().await;
    let mut ids = BTreeSet::new();
    for queue in w.queue_of_each_node().await {
        ids.insert(w.enqueue_with(json!({ "queue": queue, "payload": 1 })).await);
        w.complete(&w.reserve_with(json!({ "queues": [queue] })).await).await.is(200);
    }
    let posted = receiver.wait_for(3).await;
    assert_eq!(posted.iter().map(|posted| posted.job().to_owned()).collect::<BTreeSet<_>>(), ids);
    let waits = async || w.get("/webhooks").await.is(200)["webhooks"][0]["waiting"] == 0;
    eventually("all are taken", async || waits().await.then_some(())).await;
    w.check().await;
}

#[tokio::test]
async fn lists_and_metrics_show_the_queues_of_all_nodes() {
    let w = World::plan().with_cluster(LONG_NODE_TIMEOUT_MS).own_process().start().await;
    let queues = w.queue_of_each_node().await;
    let jobs = queues.iter().map(|queue| json!({ "queue": queue, "payload": queue }));
    assert_eq!(w.enqueue_many(jobs).await.len(), 3);
    let all = w.get("/queues").await.is(200);
    let named: BTreeSet<_> = all["queues"].as_array().expect("a list").iter().map(|q| q["name"].to_string()).collect();
    assert_eq!(named, queues.iter().map(|queue| json!(queue).to_string()).collect());
    let metrics = w.get("/metrics").await.text();
    for queue in &queues {
        assert!(metrics.contains(&format!("intray_jobs{{queue=\"{queue}\",state=\"waiting\"}} 1")), "{metrics}");
    }
    let held = w.reserve_all(json!({ "queues": queues, "limit": 3 })).await;
    assert_eq!(held.len(), 1, "from the first queue with a job");
    let of_ann = w.reserve_with(json!({ "queues": queues, "worker": "ann" })).await;
    let resumed = w.reserve_with(json!({ "queues": queues, "worker": "ann" })).await;
    assert_eq!((&resumed.id, &resumed.body["resumed"]), (&of_ann.id, &json!(true)));
    let query = queues.iter().map(|queue| format!("queue={queue}")).collect::<Vec<_>>().join("&");
    let listed = w.get(&format!("/workers/ann/reservations?{query}")).await.is(200);
    assert_contains(&listed["reservations"][0], json!({ "id": of_ann.id }));
    w.check().await;
}

#[tokio::test]
async fn waiter_gets_a_job_from_any_node_at_any_instance() {
    let w = World::start_cluster().await;
    let (_service, other) = w.start_instance().await;
    let queues = w.queue_of_each_node().await;
    for queue in &queues {
        // Shorter than the safety tick.
        let waiter = tokio::spawn({
            let (client, queue) = ((*w).clone(), queue.clone());
            async move { client.send_reserve(json!({ "queues": [queue], "wait_ms": 4_000 })).await.is(200) }
        });
        eventually("the subscription is open", async || (w.engine.hint_subscribers(queue).await > 0).then_some(()))
            .await;
        let id = other.enqueue_with(json!({ "queue": queue, "payload": "news" })).await;
        let given = waiter.await.expect("it waits");
        assert_eq!(given["jobs"][0]["id"], id, "{given}");
    }
    w.check().await;
}

#[tokio::test]
async fn node_without_the_library_is_given_it_again() {
    let w = World::start_cluster().await;
    let queues = w.queue_of_each_node().await;
    for (nth, queue) in queues.iter().enumerate() {
        w.enqueue_with(json!({ "queue": queue, "payload": 1 })).await;
        let _: String = w.engine.run_on(nth, "FUNCTION FLUSH").await;
        let _: String = w.engine.run_on(nth, "SCRIPT FLUSH").await;
        w.enqueue_with(json!({ "queue": queue, "payload": 2 })).await;
        let held = w.reserve_with(json!({ "queues": [queue] })).await;
        w.complete(&held).await.is(200);
    }
    w.check().await;
}

#[tokio::test]
async fn sweeper_expires_leases_on_any_node() {
    let w = World::plan().with_cluster(LONG_NODE_TIMEOUT_MS).sweep_every(20).start().await;
    let queues = w.queue_of_each_node().await;
    let mut ids = Vec::new();
    for queue in &queues {
        ids.push(id_of(&w.send_enqueue(json!({ "queue": queue, "payload": 1 })).await.is(201)));
        w.reserve_with(json!({ "queues": [queue] })).await;
    }
    w.advance_clock(300_000);
    for id in &ids {
        eventually("the job is waiting again", async || (w.state(id).await == "waiting").then_some(())).await;
    }
    w.check().await;
}

#[tokio::test]
async fn one_stream_carries_events_of_several_nodes() {
    let w = World::start_cluster().await;
    let queues = w.queue_of_each_node().await;
    let query = queues.iter().map(|queue| format!("queue={queue}")).collect::<Vec<_>>().join("&");
    let mut listener = w.listen(&format!("?{query}")).await;
    for queue in &queues {
        let id = w.enqueue_with(json!({ "queue": queue, "payload": 1 })).await;
        assert_contains(&listener.read_events(1).await[0], json!({ "type": "enqueued", "queue": queue, "job": id }));
    }
    w.check().await;
}
