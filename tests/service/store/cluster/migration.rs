//! Data of an older version or an older design on a cluster.

use serde_json::json;

use crate::world::{ChildProcess, World, assert_contains, cluster::LONG_NODE_TIMEOUT_MS, eventually, program, run};

#[tokio::test]
async fn first_layout_is_migrated_on_every_node() {
    let w = World::plan().with_first_layout().with_cluster(LONG_NODE_TIMEOUT_MS).start().await;
    let counts =
        json!({ "waiting": 18, "blocked": 7, "delayed": 2, "reserved": 3, "completed": 8, "dead": 3, "cancelled": 4 });
    assert_contains(&w.get("/queues/old").await.is(200)["counts"], counts);
    assert_contains(&w.get("/queues/empty").await.is(200)["settings"], json!({ "paused": true }));
    w.check().await;
}

#[tokio::test]
async fn killed_adoption_between_nodes_can_be_repeated() {
    let w = World::start_cluster().await;
    let queues = w.queue_of_each_node().await;
    let now = w.engine.now().await / 1_000;
    let old = &queues[0];
    let mut add = redis::cmd("ZADD");
    add.arg(old);
    (0..3_000).for_each(|n| _ = add.arg(now - 5_000 + n).arg(format!("{{\"n\":{n}}}")));
    let _: u64 = w.engine.query(&add).await;
    let _: u64 = w.engine.run(&format!("ZADD {old}:reserved {now} held")).await;
    let adopt = || program(["migrate", "--redis-url", &w.engine.url(), "--adopt", &format!("{old}={}", queues[1])]);

    let mut killed = ChildProcess::spawn(adopt());
    let waiting = async || w.engine.run::<u64>(&format!("ZCARD intray:{{{}}}:2:inbound", queues[1])).await;
    eventually("the adoption has begun", async || (waiting().await > 200).then_some(())).await;
    killed.kill();
    assert!(waiting().await < 3_000, "killed before its end");

    let done = run(adopt()).await;
    assert!(done.status.success(), "{done:?}");
    let info = w.get(&format!("/queues/{}", queues[1])).await.is(200);
    assert_contains(&info["counts"], json!({ "waiting": 3_000, "reserved": 1 }));
    let first = w.reserve_with(json!({ "queues": [queues[1]] })).await;
    assert_eq!(first.body["payload"], json!({ "n": 0 }), "in order");
    for key in [old.clone(), format!("{old}:reserved")] {
        assert_eq!(w.engine.run::<u64>(&format!("EXISTS {key}")).await, 0);
        assert_eq!(w.engine.run::<u64>(&format!("DEL {{{key}}}:adopted")).await, 1);
    }
    w.check().await;
}
