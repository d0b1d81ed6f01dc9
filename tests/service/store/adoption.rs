//! Keys of the older design that cannot be adopted.

use serde_json::json;

use crate::world::{World, assert_contains, program, run};

#[tokio::test]
async fn adoption_into_a_paused_queue_is_refused() {
    let w = World::start().await;
    let now = w.engine.now().await / 1_000;
    let _: u64 = w.engine.run(&format!("ZADD MyQueue {now} 1")).await;
    let _: u64 = w.engine.run(&format!("ZADD MyQueue:reserved {now} 2")).await;
    let url = format!("unix://{}", w.engine.socket().display());
    let adopt = || run(program(["migrate", "--redis-url", &url, "--adopt", "MyQueue=default"]));

    w.update_settings(json!({ "paused": true })).await;
    let refused = adopt().await;
    assert!(!refused.status.success(), "{refused:?}");
    let error = refused.stderr.trim();
    assert!(error.lines().count() == 1 && error.contains("default") && error.contains("paused"), "{error}");
    assert_contains(
        &w.queue().await,
        json!({ "counts": { "waiting": 0, "reserved": 0 }, "totals": { "enqueued": 0 } }),
    );
    let mut left: Vec<String> = w.engine.run("KEYS MyQueue*").await;
    left.sort();
    assert_eq!(left, ["MyQueue", "MyQueue:reserved"]);

    w.update_settings(json!({ "paused": false })).await;
    let done = adopt().await;
    assert!(done.status.success(), "{done:?}");
    assert_contains(&w.queue().await["counts"], json!({ "waiting": 1, "reserved": 1 }));
    let _: u64 = w.engine.run("DEL MyQueue:adopted MyQueue:reserved:adopted").await;
    w.check().await;
}
