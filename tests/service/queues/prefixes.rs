//! Two prefixes in one Redis do not see each other.

use serde_json::json;

use crate::world::{Client, Service, World, program};

#[tokio::test]
async fn prefixes_in_one_redis_are_isolated() {
    let w = World::start().await;
    let redis = format!("unix://{}", w.engine.socket().display());
    let args = ["serve", "--listen", "127.0.0.1:0", "--sweep-interval-ms", "3600000", "--redis-url", &redis];
    let service = Service::start(program(args.into_iter().chain(["--prefix", "their:own"]))).await;
    let theirs = Client::new(service.url());
    let (our, their) = (w.enqueue_locked(1, &["site"]).await, theirs.enqueue_locked(1, &["site"]).await);
    assert_ne!(our, their, "payloads are not deduplicated across prefixes");
    assert_eq!((w.reserve().await.id, theirs.reserve().await.id), (our.clone(), their));
    theirs.get(&format!("/jobs/{our}")).await.refused("unknown-job");
    w.advance_clock(300_000);
    assert_eq!(w.sweep().await["expired"], 1);
    assert_eq!(theirs.queue().await["reservations"]["overdue"], 1, "a sweep of one prefix does not touch the other");
    theirs.delete("/queues/default?state=all&force=true").await.is(200);
    assert_eq!(w.reserve_with(json!({})).await.id, our);
    let keys: Vec<String> = w.engine.run("KEYS their:own:*").await;
    assert!(!keys.is_empty());
    let _: u64 = w.engine.query(redis::cmd("DEL").arg(keys)).await;
    w.check().await;
}
