//! Queues, lists and their pages, the feed of results, and the list of workers.

use serde_json::{Value, json};

use crate::world::{World, assert_contains, id_of, number, percent_encode};

#[tokio::test]
async fn queue_shows_counts_ages_and_totals() {
    let w = World::start().await;
    w.enqueue(1).await;
    w.advance_clock(5_000);
    w.enqueue_with(json!({ "payload": 2, "priority": 1 })).await;
    w.enqueue_with(json!({ "payload": 3, "delay_ms": 10_000 })).await;
    w.reserve_as("ann").await;
    w.advance_clock(1_000);
    let queue = w.queue().await;
    assert_contains(&queue, json!({ "name": "default", "counts": { "waiting": 1, "delayed": 1, "reserved": 1 } }));
    let age = number(&queue, "oldest_waiting_ms");
    assert!((6_000..30_000).contains(&age), "{age}");
    let soonest = number(&queue["reservations"], "soonest_expires_in_ms");
    assert!((270_000..=299_000).contains(&soonest), "{soonest}");
    assert_contains(&queue["reservations"], json!({ "live": 1, "overdue": 0 }));
    assert_contains(&queue["totals"], json!({ "enqueued": 3, "handed_out": 1 }));
    w.enqueue_with(json!({ "queue": "another", "payload": 1 })).await;
    let queues = w.get("/queues").await.is(200);
    let names: Vec<_> =
        queues["queues"].as_array().expect("queues").iter().map(|queue| queue["name"].clone()).collect();
    assert_eq!(names, ["another", "default"]);
    w.check().await;
}

#[tokio::test]
async fn job_list_pages_are_complete_and_ordered() {
    let w = World::start().await;
    let ids = w.enqueue_many((0..25).map(|n| json!({ "payload": n, "priority": n % 3 }))).await;
    let mut sorted: Vec<_> = (0..25).collect();
    sorted.sort_by_key(|n| n % 3);
    let expected: Vec<_> = sorted.into_iter().map(|n: usize| ids[n].clone()).collect();
    assert_eq!(pages(&w, "state=waiting&limit=7").await, expected);
    assert_eq!(pages(&w, "limit=1").await, expected, "waiting is what one mostly wants");
    assert_eq!(w.list_ids("waiting").await, expected);
    w.get("/queues/nowhere/jobs").await.refused("unknown-queue");
    for state in ["delayed", "reserved", "completed", "dead", "cancelled", "blocked"] {
        assert_eq!(w.list_ids(state).await, Vec::<String>::new());
    }
    w.check().await;
}

/// All pages of a list, one after the other.
async fn pages(w: &World, query: &str) -> Vec<String> {
    let (mut ids, mut after) = (Vec::new(), String::new());
    loop {
        let page = w.get(&format!("/queues/default/jobs?{query}{after}")).await.is(200);
        ids.extend(page["jobs"].as_array().expect("jobs").iter().map(id_of));
        let Some(next) = page["next"].as_str() else { return ids };
        after = format!("&after={}", percent_encode(next));
    }
}

#[tokio::test]
async fn job_list_filters_by_client_and_worker() {
    let w = World::start().await;
    w.update_settings(json!({ "worker_limit": 0 })).await;
    let ids = w.enqueue_many((0..12).map(|n| json!({ "payload": n, "client": format!("c {}", n % 2) }))).await;
    let even: Vec<_> = ids.iter().step_by(2).cloned().collect();
    assert_eq!(pages(&w, "client=c%200&limit=2").await, even);
    assert_eq!(pages(&w, "client=unknown").await, Vec::<String>::new());
    let ann = w.reserve_all(json!({ "worker": "ann", "limit": 2 })).await;
    w.reserve_all(json!({ "worker": "bob", "limit": 2 })).await;
    w.reserve_all(json!({ "limit": 2 })).await;
    let anns: Vec<_> = ann.iter().map(|held| held.id.clone()).collect();
    let mut listed = pages(&w, "state=reserved&worker=ann").await;
    listed.sort();
    assert_eq!(listed, {
        let mut anns = anns;
        anns.sort();
        anns
    });
    assert_eq!(pages(&w, "state=reserved&limit=1").await.len(), 6);
    w.check().await;
}

#[tokio::test]
async fn completed_feed_continues_after_its_cursor() {
    let w = World::start().await;
    let mut done = Vec::new();
    let mut after = String::new();
    let mut read = Vec::new();
    for round in 0..4 {
        for n in 0..3 {
            w.enqueue(round * 10 + n).await;
            let held = w.reserve().await;
            w.complete_with(&held, n).await.is(200);
            done.push(held.id);
            w.advance_clock(1);
        }
        w.cancel(&w.enqueue(format!("cancelled {round}")).await).await.is(200);
        loop {
            let page = w.get(&format!("/queues/default/jobs?state=completed&limit=2{after}")).await.is(200);
            read.extend(page["jobs"].as_array().expect("jobs").iter().map(id_of));
            assert!(page["jobs"].as_array().expect("jobs").iter().all(|job| !job["result"].is_null()));
            match page["next"].as_str() {
                Some(next) => after = format!("&after={}", percent_encode(next)),
                None => break,
            }
        }
        // Without a next cursor the last one is used again, which repeats some jobs and misses none.
        read.sort();
        read.dedup();
    }
    let mut expected = done.clone();
    expected.sort();
    assert_eq!(read, expected);
    assert_eq!(pages(&w, "state=completed&limit=5").await, done, "in order of completion");
    w.check().await;
}

#[tokio::test]
async fn worker_list_shows_reserved_jobs_without_secrets() {
    let w = World::start().await;
    w.update_settings(json!({ "worker_limit": 2 })).await;
    w.enqueue_many((0..6).map(|n| json!({ "payload": n }))).await;
    w.enqueue_with(json!({ "queue": "other", "payload": 1 })).await;
    let bob = w.reserve_as("bob").await;
    w.advance_clock(10_000);
    let ann = w.reserve_all(json!({ "worker": "ann", "limit": 2 })).await;
    w.reserve_with(json!({ "queues": ["other"], "worker": "ann" })).await;
    let unnamed = w.reserve().await;
    let answer = w.get("/queues/default/workers").await;
    assert!(!answer.text().contains(&ann[0].reservation), "never the reservation");
    let workers = answer.is(200)["workers"].clone();
    let seen: Vec<(Value, usize)> = workers
        .as_array()
        .expect("workers")
        .iter()
        .map(|worker| (worker["worker"].clone(), worker["jobs"].as_array().expect("jobs").len()))
        .collect();
    assert_eq!(seen.len(), 3);
    for expected in [(json!("ann"), 2), (json!("bob"), 1), (Value::Null, 1)] {
        assert!(seen.contains(&expected), "{seen:?}");
    }
    let of = |name: Value| {
        workers.as_array().expect("workers").iter().find(|worker| worker["worker"] == name).expect("there")["jobs"]
            .clone()
    };
    assert_eq!(of(json!("bob"))[0]["id"], bob.id);
    assert_eq!(of(Value::Null)[0]["id"], unnamed.id);
    let left = number(&of(json!("bob"))[0], "expires_in_ms");
    assert!((260_000..=290_000).contains(&left), "{left}");

    let (mut held, mut after) = (Vec::new(), String::new());
    loop {
        let page = w.get(&format!("/queues/default/workers?limit=1{after}")).await.is(200);
        held.extend(
            page["workers"]
                .as_array()
                .expect("workers")
                .iter()
                .flat_map(|worker| worker["jobs"].as_array().expect("jobs").iter().map(id_of)),
        );
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={}", percent_encode(next));
    }
    held.sort();
    held.dedup();
    assert_eq!(held.len(), 4);
    w.get("/queues/nowhere/workers").await.refused("unknown-queue");

    let mine = async |query: &str| w.get(&format!("/workers/ann/reservations{query}")).await;
    let reservations = mine("").await.is(200)["reservations"].clone();
    assert_eq!(reservations.as_array().expect("a list").len(), 2);
    assert_eq!(mine("?queue=other").await.is(200)["reservations"].as_array().expect("a list").len(), 1);
    for both in ["?queue=default,other", "?queue=default&queue=other", "?queue=default&queue=other&queue=nowhere"] {
        let reservations = mine(both).await;
        assert!(!reservations.text().contains(&ann[0].reservation));
        assert_eq!(reservations.is(200)["reservations"].as_array().expect("a list").len(), 3);
    }
    assert_eq!(w.get("/workers/a%20stranger/reservations").await.is(200)["reservations"], json!([]));
    w.check().await;
}

#[tokio::test]
async fn worker_filter_implies_the_reserved_state() {
    let w = World::start().await;
    w.enqueue_many((0..3).map(|n| json!({ "payload": n }))).await;
    let held = w.reserve_as("ann").await;
    let listed = async |query: &str| {
        let page = w.get(&format!("/queues/default/jobs?{query}")).await.is(200);
        page["jobs"].as_array().expect("jobs").iter().map(id_of).collect::<Vec<_>>()
    };
    assert_eq!(listed("worker=ann").await, std::slice::from_ref(&held.id));
    assert_eq!(listed("worker=ann&state=reserved").await, [held.id]);
    assert_eq!(listed("worker=bob").await, [""; 0]);
    assert_eq!(listed("worker=ann&state=waiting").await, [""; 0], "a waiting job has no worker");
    assert_eq!(listed("").await.len(), 2, "what waits");
    w.check().await;
}

#[tokio::test]
async fn unknown_state_is_refused_with_the_valid_states() {
    let w = World::start().await;
    w.enqueue(1).await;
    for (method, path) in [("GET", "/queues/default/jobs?state=done"), ("DELETE", "/queues/default?state=done")] {
        let answer = w.request(method, path).send().await;
        answer.invalid_by("parameter", &["state"]);
        for state in ["waiting", "blocked", "delayed", "reserved", "completed", "dead", "cancelled"] {
            assert!(answer.text().contains(state), "{state}: {}", answer.text());
        }
    }
    w.check().await;
}
