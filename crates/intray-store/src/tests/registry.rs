//! When an instance registers queues and libraries.

use std::time::Duration;

use super::*;

const DAY_MS: u64 = 86_400_000;

#[tokio::test]
async fn idle_instance_does_not_recreate_a_retired_queue() {
    let redis = Redis::start().await;
    let (idle, other, queue) = (&redis.queues, redis.another(), queue());
    idle.parts.registry.register(&queue).await.expect("registered");
    // Neither has used it for two days; nothing else happens at the idle one meanwhile.
    idle.parts.registry.grow_old(Duration::from_millis(2 * DAY_MS));
    let registry = idle.parts.runner.keys.registry();
    let command = redis::cmd("ZINCRBY").arg(registry).arg(-(2.0 * DAY_MS as f64)).arg(queue.as_str()).to_owned();
    idle.parts.runner.link.plain(&command).await.expect("aged");
    other.retire_unseen().await.expect("a round");
    assert_eq!(other.names().await.expect("names"), []);
    assert_eq!(idle.names_and_ours().await.expect("names"), [], "the queue is gone");
    assert_eq!(other.names().await.expect("names"), [], "and stays gone");
}

#[tokio::test]
async fn library_unannounced_for_a_day_is_deleted() {
    let redis = Redis::start().await;
    let (link, libraries) = (&redis.queues.parts.runner.link, redis.queues.parts.runner.keys.libraries());
    let now = redis.queues.redis_time().await.expect("a time").0;
    let (old, young, foreign) = ("intray_0123456789abcdef", "intray_fedcba9876543210", "intray_of_another_user");
    for (name, announced) in [(old, now - DAY_MS), (young, now - DAY_MS + 60_000), (foreign, 0)] {
        let text = format!("#!lua name={name}\nredis.register_function('{name}_f', function() end)");
        link.plain(redis::cmd("FUNCTION").arg("LOAD").arg(text)).await.expect("loaded");
        link.plain(redis::cmd("ZADD").arg(&libraries).arg(announced).arg(name)).await.expect("announced");
    }
    link.plain(redis::cmd("ZADD").arg(&libraries).arg(0).arg("intray_0000000000000000")).await.expect("announced");
    redis.queues.tidy_libraries().await.expect("tidied");

    let there = format!("{:?}", link.plain(redis::cmd("FUNCTION").arg("LIST")).await.expect("a list"));
    let ours = redis.queues.parts.runner.scripts.library.name.clone();
    for (name, is_there) in [(old, false), (young, true), (foreign, true), (ours.as_str(), true)] {
        assert_eq!(
            there.contains(&format!("\"{name}\"")) || there.contains(&format!("'{name}'")),
            is_there,
            "{name}: {there}"
        );
    }
    let known = link.plain(redis::cmd("ZRANGE").arg(&libraries).arg(0).arg(-1)).await.expect("names");
    let mut known = Fields::of(&known).expect("a list");
    assert_eq!([known.text().expect("a name"), known.text().expect("a name")], [young.to_owned(), ours]);
    assert!(known.is_done());
}
