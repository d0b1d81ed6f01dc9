//! What an instance tells the registry, and what it no longer does.

use std::time::Duration;

use super::*;

const DAY_MS: u64 = 86_400_000;

#[tokio::test]
async fn an_idle_instance_does_not_bring_back_a_queue_that_another_has_retired() {
    let redis = Redis::start().await;
    let (idle, other, queue) = (&redis.queues, redis.another(), queue());
    idle.parts.registry.register(&queue).await.expect("told");
    // Neither has used it for two days; nothing else happens at the idle one meanwhile.
    idle.parts.registry.grow_old(Duration::from_millis(2 * DAY_MS));
    let registry = idle.parts.runner.keys.registry();
    let command = redis::cmd("ZINCRBY").arg(registry).arg(-(2.0 * DAY_MS as f64)).arg(queue.as_str()).to_owned();
    idle.parts.runner.link.plain(&command).await.expect("aged");
    other.retire_unseen().await.expect("a round");
    assert_eq!(other.names().await.expect("names"), []);
    assert_eq!(idle.names_and_ours().await.expect("names"), [], "it is gone for whoever asks");
    assert_eq!(other.names().await.expect("names"), [], "and stays gone");
}
