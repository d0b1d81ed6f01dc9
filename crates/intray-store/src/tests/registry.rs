//! When an instance registers queues and libraries.

use std::time::Duration;

use super::*;
use crate::{Actor, EventLimit, Position, QueueRemoval, Queues, SettingsPatch, layout::settings::Changed};

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

/// A round of the sweeper, as every instance has them, also where it has just used the queue.
async fn round(queues: &Queues) {
    queues.names_and_ours().await.expect("names");
    for all in [false, true] {
        queues.sweep_a_turn(&queue(), all).await.expect("a sweep");
    }
    queues.record(&queue()).await.expect("a minute");
    queues.events_after(&queue(), Position::default(), EventLimit::LARGE).await.expect("events");
}

#[tokio::test]
async fn no_instance_brings_a_forgotten_queue_back() {
    let redis = Redis::start().await;
    let (first, other, queue) = (&redis.queues, redis.another(), queue());
    let patch = SettingsPatch { sheets: Some(Some(true)), ..SettingsPatch::default() };
    for queues in [first, &other] {
        queues.change_settings(&queue, &patch, true, &Actor::default()).await.expect("settings");
    }
    assert_eq!(other.forget(&queue).await.expect("an answer"), QueueRemoval::Done);
    for queues in [first, &other] {
        round(queues).await;
        assert_eq!(queues.names().await.expect("names"), []);
    }
    let of_queue = async || {
        let keys = first.parts.runner.link.plain(redis::cmd("KEYS").arg("*{q}*")).await.expect("keys");
        Fields::of(&keys).expect("a list").is_done()
    };
    assert!(of_queue().await);
    assert_eq!(other.forget(&queue).await.expect("an answer"), QueueRemoval::Unknown);
    assert_eq!(first.forget(&queue).await.expect("an answer"), QueueRemoval::Unknown);
    let unknown = first.change_settings(&queue, &patch, false, &Actor::default()).await.expect("an answer");
    assert_eq!((unknown, of_queue().await, first.in_use()), (Changed::Unknown, true, vec![]));
}

#[tokio::test]
async fn queue_used_while_it_is_forgotten_stays_registered() {
    let redis = Redis::start().await;
    let (first, other, queue) = (&redis.queues, redis.another(), queue());
    let seen = async || first.parts.registry.last_seen(&queue).await.expect("a score");
    let patch = SettingsPatch { paused: Some(Some(true)), ..SettingsPatch::default() };
    first.change_settings(&queue, &patch, true, &Actor::default()).await.expect("settings");
    let before = seen().await.expect("it is registered");
    // Another call has registered it since.
    other.parts.registry.remove(&queue, Some(before - 1)).await.expect("an answer");
    assert_eq!(seen().await, Some(before));
    // The first instance writes to it after it was forgotten, and the one that has made it forgotten finds that.
    assert_eq!(other.forget(&queue).await.expect("an answer"), QueueRemoval::Done);
    redis.enqueue("1").await;
    assert_eq!(seen().await, None);
    assert_eq!(other.names_and_ours().await.expect("names"), std::slice::from_ref(&queue));
    assert!(seen().await.is_some());
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
