//! The order of a queue: priority, kept places, and turns of clients.

use serde_json::json;

use crate::world::{ReservedJob, World};

#[tokio::test]
async fn jobs_are_served_by_priority_then_arrival() {
    let w = World::start().await;
    let jobs = [50, 10, 50, 99, 10, 0].map(|priority| json!({ "payload": {}, "priority": priority, "dedupe": false }));
    let ids = w.enqueue_many(jobs).await;
    let handed: Vec<_> = w.reserve_all(json!({ "limit": 6 })).await.into_iter().map(|held| held.id).collect();
    assert_eq!(handed, [5, 1, 4, 0, 2, 3].map(|n: usize| ids[n].clone()));
    w.check().await;
}

#[tokio::test]
async fn returned_jobs_keep_their_place() {
    let w = World::start().await;
    w.update_settings(json!({ "worker_limit": 0 })).await;
    let ids = w.enqueue_many((0..6).map(|n| json!({ "payload": n }))).await;
    let held = w.reserve_all(json!({ "limit": 5, "worker": "ann" })).await;
    let mut places = Vec::new();
    for id in &ids {
        places.push(w.score_of(id).await);
    }
    w.abandon(&held[3]).await.is(200);
    w.fail(&held[1]).await.is(200);
    w.release(&ids[0]).await;
    w.abandon_with_delay(&held[4], 1_000).await.is(200);
    w.advance_clock(300_000);
    assert_eq!(w.sweep().await, json!({ "expired": 1, "due": 1, "dead": 0, "forgotten": 0 }));
    for (id, place) in ids.iter().zip(places) {
        assert_eq!(w.score_of(id).await, place);
    }
    let handed: Vec<_> = w.reserve_all(json!({ "limit": 10 })).await.into_iter().map(|held| held.id).collect();
    assert_eq!(handed, ids);
    w.check().await;
}

#[tokio::test]
async fn expired_jobs_return_in_order_before_newer_jobs() {
    let w = World::start().await;
    let old = w.enqueue_many((0..500).map(|n| json!({ "payload": n }))).await;
    for _ in 0..5 {
        assert_eq!(w.reserve_all(json!({ "limit": 100 })).await.len(), 100);
    }
    let new = w.enqueue_many((500..510).map(|n| json!({ "payload": n }))).await;
    w.advance_clock(300_000);
    assert_eq!(w.sweep().await["expired"], 500);
    let mut handed = Vec::new();
    for _ in 0..6 {
        handed.extend(w.reserve_all(json!({ "limit": 100 })).await.into_iter().map(|held| held.id));
    }
    assert_eq!(handed, [old, new].concat());
    w.check().await;
}

#[tokio::test]
async fn new_client_is_served_before_a_large_backlog() {
    let w = World::start().await;
    for batch in 0..10 {
        w.enqueue_many((0..1_000).map(|n| json!({ "payload": batch * 1_000 + n, "client": "big", "dedupe": false })))
            .await;
    }
    for n in 0..5 {
        let client = w.reserve().await.body["client"].clone();
        assert_eq!(client, "big", "{n}");
    }
    w.enqueue_with(json!({ "payload": 1, "client": "small" })).await;
    let next_two = w.reserve_all(json!({ "limit": 2 })).await;
    assert!(next_two.iter().any(|held| held.body["client"] == "small"), "next or second");
    w.check().await;
}

#[tokio::test]
async fn new_clients_do_not_starve_an_older_client() {
    let w = World::start().await;
    w.enqueue_many((0..40).map(|n| json!({ "payload": n, "client": "first" }))).await;
    let mut firsts = 0;
    for n in 0..30 {
        w.enqueue_with(json!({ "payload": n, "client": format!("new {n}") })).await;
        firsts += usize::from(w.reserve().await.body["client"] == "first");
    }
    // The share of the first client shrinks with each new client, but stays above zero.
    assert!(firsts >= 4, "{firsts} of 30");
    w.check().await;
}

#[tokio::test]
async fn single_jobs_of_many_clients_pass_a_greedy_client() {
    let w = World::start().await;
    w.enqueue_many((0..500).map(|n| json!({ "payload": n, "client": "greedy" }))).await;
    w.enqueue_many((0..50).map(|n| json!({ "payload": n, "client": format!("c{n}") }))).await;
    let mut served: Vec<_> = Vec::new();
    for held in w.reserve_all(json!({ "limit": 51 })).await {
        served.push(held.body["client"].as_str().expect("a client").to_owned());
    }
    served.sort();
    served.dedup();
    assert_eq!(served.len(), 51);
    w.check().await;
}

#[tokio::test]
async fn jobs_without_clients_are_first_in_first_out() {
    let w = World::start().await;
    let mut ids = Vec::new();
    for n in 0..40 {
        ids.push(w.enqueue(n).await);
        if n % 3 == 2 {
            let held = w.reserve().await;
            assert_eq!(held.id, ids.remove(0));
            w.complete(&held).await.is(200);
        }
        if n % 5 == 4 {
            let held = w.reserve().await;
            assert_eq!(held.id, ids[0]);
            w.abandon(&held).await.is(200);
        }
    }
    let handed: Vec<_> = w.reserve_all(json!({ "limit": 100 })).await.into_iter().map(|held| held.id).collect();
    assert_eq!(handed, ids);
    w.check().await;
}

#[tokio::test]
async fn listed_queues_are_searched_in_order() {
    let w = World::start().await;
    let urgent = w.enqueue_with(json!({ "queue": "urgent", "payload": 1 })).await;
    let other = w.enqueue_many((0..3).map(|n| json!({ "queue": "other", "payload": n }))).await;
    let both = || json!({ "queues": ["urgent", "other"], "limit": 5 });
    let id = |held: Vec<ReservedJob>| held.into_iter().map(|held| held.id).collect::<Vec<_>>();
    assert_eq!(id(w.reserve_all(both()).await), [urgent], "all of an answer come from the first queue that has one");
    let answer = w.send_reserve(both()).await.is(200);
    assert_eq!(answer["remaining"], 0);
    assert_eq!(answer["jobs"].as_array().expect("jobs").len(), other.len());
    let without_jobs = json!({ "queues": ["urgent", "unheard-of"] });
    assert_eq!(w.empty_reason(without_jobs).await, "reserved");
    assert_eq!(w.empty_reason(json!({ "queues": ["unheard-of"] })).await, "empty");
    w.get("/queues/unheard-of").await.refused("unknown-queue");
    w.check().await;
}

#[tokio::test]
async fn empty_reserve_gives_a_reason_and_retry_time() {
    let w = World::start().await;
    w.stop_clock();
    assert_eq!(w.empty_reason(json!({})).await, "empty");
    w.enqueue_many((0..3).map(|n| json!({ "payload": n }))).await;
    let answer = w.send_reserve(json!({})).await.is(200);
    assert_eq!(answer["remaining"], 2);
    w.reserve_all(json!({ "limit": 2 })).await;
    assert_eq!(w.empty_reason(json!({})).await, "reserved");
    w.enqueue_with(json!({ "payload": 9, "delay_ms": 1_000 })).await;
    assert_eq!(w.empty_reason(json!({})).await, "delayed");
    let soon = w.send_reserve(json!({})).await.is(200)["retry_after_ms"].as_u64().expect("ms");
    assert!((800..=1_500).contains(&soon), "what is due in a second is worth asking for in a second: {soon}");
    w.update_settings(json!({ "paused": true })).await;
    assert_eq!(w.empty_reason(json!({})).await, "paused");
    assert_eq!(w.empty_reason(json!({ "queues": ["empty", "default"] })).await, "paused");
    w.check().await;
}

#[tokio::test]
async fn reserve_returns_at_most_a_mebibyte_of_payloads() {
    let w = World::start().await;
    let large = "x".repeat(200 << 10);
    for n in 0..8 {
        w.enqueue(format!("{n}{large}")).await;
    }
    assert_eq!(w.reserve_all(json!({ "limit": 100 })).await.len(), 5, "five of 200 KiB fit");
    assert_eq!(w.reserve_all(json!({ "limit": 100 })).await.len(), 3);
    w.check().await;
}

#[tokio::test]
async fn clients_share_a_queue_equally() {
    let w = World::start().await;
    for (client, jobs) in [("a", 1_000), ("b", 1_000), ("c", 10)] {
        w.enqueue_many((0..jobs).map(|n| json!({ "payload": n, "client": client }))).await;
    }
    let mut served = std::collections::BTreeMap::<String, i64>::new();
    for _ in 0..3 {
        for job in w.send_reserve(json!({ "limit": 100 })).await.is(200)["jobs"].as_array().expect("jobs") {
            *served.entry(job["client"].as_str().expect("a client").to_owned()).or_default() += 1;
        }
    }
    for (client, share) in [("a", 145), ("b", 145), ("c", 10)] {
        assert!((served[client] - share).abs() <= 2, "{client} has {} of {share}: {served:?}", served[client]);
    }
    w.check().await;
}

#[tokio::test]
async fn every_priority_is_served_in_order() {
    let w = World::start().await;
    let ids = w.enqueue_many((0..100).rev().map(|priority| json!({ "payload": priority, "priority": priority }))).await;
    let handed: Vec<_> = w.reserve_all(json!({ "limit": 100 })).await.into_iter().map(|held| held.id).collect();
    assert_eq!(handed, ids.into_iter().rev().collect::<Vec<_>>());
    for wrong in [json!(100), json!(-1), json!(1.5), json!("high")] {
        w.send_enqueue(json!({ "payload": 1, "priority": wrong })).await.refused("invalid-request");
    }
    assert_eq!(w.queue().await["totals"]["enqueued"], 100);
    w.check().await;
}
